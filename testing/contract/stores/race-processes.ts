/** Runs race-worker.ts in separate processes, all started at the same moment. They end by themselves. */
import type { ChildProcess } from 'node:child_process'
import { createProcesses } from '../worker-processes.js'
import type { RaceOrder } from './race-worker.js'

/** What one process reports in the end. */
export interface RaceReport {
  readonly pid: number
  readonly conflicts: number
}

/** Races `count` processes; resolves to the report of each. */
export async function raceProcesses(count: number, order: RaceOrder): Promise<readonly RaceReport[]> {
  const processes = await createProcesses(new URL('race-worker.ts', import.meta.url))
  try {
    const children = Array.from({ length: count }, () => processes.start())
    await Promise.all(children.map((child) => ask(child, order)))
    return await Promise.all(
      children.map(async (child) => ({
        pid: child.pid as number,
        conflicts: (await ask(child, 'begin')).conflicts ?? 0,
      })),
    )
  } finally {
    await processes.close()
  }
}

interface Answer {
  readonly conflicts?: number
  readonly error?: string
}

async function ask(child: ChildProcess, question: RaceOrder | 'begin'): Promise<Answer> {
  const answered = new Promise<Answer>((resolve, reject) => {
    child.once('message', resolve)
    child.once('exit', (code) => reject(new Error(`A racing process ended with code ${code}.`)))
  })
  child.send(question)
  const answer = await answered
  if (answer.error !== undefined) throw new Error(`A racing process failed: ${answer.error}`)
  return answer
}
