/** The end of conversations in vitest: those that a test did not close are closed, and checked, after it. */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { writeSourcePackage } from '../source-package.js'

const vitest = dirname(createRequire(import.meta.url).resolve('vitest/package.json'))

const tests = `
import { beforeAll, expect, test } from 'vitest'
import { Flow, LogicStep, reply } from 'turnkeeper'
import { Conversation } from 'turnkeeper/testing'
import 'turnkeeper/testing/vitest'
class Only extends LogicStep {
  static id = 'Only'
  run() { return reply('Hello.') }
}
class Plain extends Flow {
  static id = 'Plain'
  steps() { return [Only] }
}
const wrong = () => new Conversation(Plain, { script: ['Never said.'] })
let shared
beforeAll(() => { shared = wrong() })
test('leaves something', async () => { await wrong().say('Hi') })
test('leaves nothing', async () => { await new Conversation(Plain).say('Hi') })
test('closes it', async () => {
  const conversation = wrong()
  await conversation.say('Hi')
  await expect(conversation.close()).rejects.toThrow('not used up')
})
test('fails otherwise', async () => {
  const conversation = wrong()
  await conversation.say('Hi')
  conversation.expectReply('Bye.')
})
test.concurrent('runs beside another', async () => { await wrong().say('Hi') })
test('goes on with one of all tests', async () => { await shared.say('Hi') })
`

test('a conversation that a test leaves open is closed after it, and fails it for what it did not use', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'close-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  await writeSourcePackage(folder)
  symlinkSync(vitest, join(folder, 'node_modules', 'vitest'))
  writeFileSync(join(folder, 'open.test.mjs'), tests)
  const command = [join(vitest, 'vitest.mjs'), 'run', '--root', folder, '--reporter=json']
  const { stdout } = spawnSync(process.execPath, command, { cwd: folder, encoding: 'utf8' })
  const [file] = (JSON.parse(stdout) as { testResults: { assertionResults: Result[] }[] }).testResults
  const failures = file?.assertionResults.map(({ title, failureMessages }) => [
    title,
    failureMessages.map((text) => text.split('\n')[0]),
  ])
  expect(Object.fromEntries(failures ?? [])).toEqual({
    'leaves something': ['ExpectationError: The script of the model was not used up: 1 reply of 1 left'],
    'leaves nothing': [],
    'closes it': [],
    'fails otherwise': ['ExpectationError: Expected the reply "Bye."'],
    'runs beside another': [],
    'goes on with one of all tests': [],
  })
})

interface Result {
  readonly title: string
  readonly failureMessages: readonly string[]
}
