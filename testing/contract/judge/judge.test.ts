// Workers of a test runner are processes: those that record into one file at the same time keep the recordings of all.
import { once } from 'node:events'
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { Judge } from '../../judge/index.js'
import { createProcesses, type WorkerProcesses } from '../worker-processes.js'
import type { JudgeTask } from './worker.js'

let processes: WorkerProcesses
let recordings: string

beforeEach(async () => {
  processes = await createProcesses(new URL('./worker.ts', import.meta.url))
  recordings = join(processes.folder, 'desk.meanings.json')
})

afterEach(() => processes.close())

test('two processes that record into one file at the same time keep the recordings of both', async () => {
  const children = [processes.start(), processes.start()]
  await Promise.all(children.map((child) => once(child, 'message')))
  const meanings = Array.from({ length: 20 }, (_, index) => `It is ${index}.`)
  const tasks = ['First:', 'Second:'].map((by): JudgeTask => {
    return { recordings, meanings: meanings.map((meaning) => `${by} ${meaning}`), copies: 2 }
  })
  const outcomes = await Promise.all(
    children.map(async (child, index) => {
      const outcome = once(child, 'message')
      child.send(tasks[index] as JudgeTask)
      const [problems] = await outcome
      return problems
    }),
  )
  expect(outcomes).toEqual([[], []])
  const recorded = JSON.parse(await readFile(recordings, 'utf8')) as { readonly meaning: string }[]
  const expected = tasks.flatMap((task) => task.meanings.flatMap((meaning) => [`${meaning} 0`, `${meaning} 1`]))
  expect(recorded.map(({ meaning }) => meaning).sort()).toEqual(expected.sort())
  const left = await readdir(processes.folder)
  expect(left.filter((name) => name.startsWith('desk.meanings'))).toEqual(['desk.meanings.json'])
})

test('a file that a process has locked and died fails the test, with what to do', async () => {
  await writeFile(`${recordings}.lock`, '')
  const generate = async () => ({ parts: [{ type: 'text' as const, text: '{"holds": true}' }] })
  const judge = new Judge({ recordings, record: true, model: () => ({ provider: 'any', name: 'judge-1', generate }) })
  const problem = await judge.problemOf({ meaning: 'It is kind.', message: 'Hi', reply: 'Hello.' })
  expect(problem?.text).toBe(
    `Another process has been writing ${recordings} for 3000 ms. If there is none any more, delete ${recordings}.lock.`,
  )
})
