/**
 * Checks that a conversation is tested the same in every runner: one file, copied next to a package made from the
 * sources, and run by each runner as an outside user would. Bun, Deno and Jest are large, so they are not installed
 * with the rest but by `node testing/contract/runners/install.mjs`. Without them their tests are skipped, except if
 * CI is set.
 */
import { execFileSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { writeSourcePackage } from '../source-package.js'
import { Page } from '../testing-page/page.js'

const here = fileURLToPath(new URL('.', import.meta.url))
const root = fileURLToPath(new URL('../../../', import.meta.url))
const installed = join(root, 'node_modules', '.cache', 'turnkeeper-runners', 'node_modules')
const vitest = join(dirname(createRequire(import.meta.url).resolve('vitest/package.json')), 'vitest.mjs')
const platform = `${process.platform}-${process.arch}`

interface Runner {
  readonly name: string
  /** What must be there; absent for what comes with the repository. */
  readonly needs?: string
  readonly command: readonly string[]
}

const bun = join(installed, '@oven', `bun-${platform.replace('arm64', 'aarch64')}`, 'bin', 'bun')
const deno = join(installed, '@deno', process.platform === 'linux' ? `${platform}-glibc` : platform, 'deno')
const jest = join(installed, 'jest', 'bin', 'jest.js')
const runners: readonly Runner[] = [
  { name: 'vitest', command: [process.execPath, vitest, 'run', '--globals', '--root', '.'] },
  { name: 'node:test', command: [process.execPath, '--test'] },
  { name: 'Jest', needs: jest, command: [process.execPath, '--experimental-vm-modules', jest, '--runTestsByPath'] },
  { name: 'Bun', needs: bun, command: [bun, 'test'] },
  {
    name: 'Deno',
    needs: deno,
    command: [deno, 'test', '--no-check', '--allow-read', '--allow-env', '--node-modules-dir=manual'],
  },
]

/** What a user of Jest copies from the page. */
const page = new Page('testing')
const settingsOfJest = [page.text('"testMatch"'), page.text('"extensionsToTreatAsEsm"')]
const transform = page.text("from 'esbuild'")
const typedTest = `
import { Flow, LogicStep, reply, type Turn } from 'turnkeeper'
import { Conversation } from 'turnkeeper/testing'
import { replyTo } from './reply.js'

class Greet extends LogicStep {
  static override readonly id = 'Greet'
  override run(turn: Turn) {
    return reply(replyTo(turn.message))
  }
}
class Greeting extends Flow {
  static override readonly id = 'Greeting'
  override steps() {
    return [Greet]
  }
}

test('greets', async () => {
  await using conversation = new Conversation(Greeting)
  await conversation.say('Ada')
  conversation.expectReply('Good morning, Ada.')
})
`

let folder = ''

beforeAll(async () => {
  if (process.env.CI !== undefined && !existsSync(installed)) {
    execFileSync(process.execPath, [join(here, 'install.mjs')], { stdio: 'inherit' })
  }
  folder = mkdtempSync(join(tmpdir(), 'runners-'))
  await writeSourcePackage(folder)
  writeFileSync(join(folder, 'package.json'), settingsOfJest[0] ?? '')
  for (const file of ['runner.mjs', 'conversation.test.mjs', 'broken.test.mjs'])
    cpSync(join(here, file), join(folder, file))
  mkdirSync(join(folder, 'home'))
}, 600_000)

afterAll(() => rmSync(folder, { recursive: true, force: true }))

function run(
  { command }: Runner,
  file: string,
  cwd: string = folder,
): { readonly failed: boolean; readonly output: string } {
  const [program = '', ...words] = command
  // Another runner must not think that it is part of this one.
  const { VITEST: _vitest, NODE_OPTIONS: _options, NODE_TEST_CONTEXT: _context, ...rest } = process.env
  const env = { ...rest, CI: 'true', NO_COLOR: '1', HOME: join(folder, 'home'), DENO_NO_UPDATE_CHECK: '1' }
  try {
    return {
      failed: false,
      output: execFileSync(program, [...words, `./${file}`], { cwd, env, encoding: 'utf8', stdio: 'pipe' }),
    }
  } catch (error) {
    const { stdout, stderr, message } = error as { stdout?: string; stderr?: string; message: string }
    return { failed: true, output: `${stdout ?? ''}${stderr ?? ''}` || message }
  }
}

describe.each(runners)('$name', (runner) => {
  const missing = runner.needs !== undefined && !existsSync(runner.needs) && process.env.CI === undefined

  test.skipIf(missing)('runs the conversation', () => {
    expect(run(runner, 'conversation.test.mjs')).toMatchObject({ failed: false })
  })

  test.skipIf(missing)('shows the failure of one that goes wrong, with its transcript', () => {
    const { failed, output } = run(runner, 'broken.test.mjs')
    expect(failed).toBe(true)
    expect(output).toContain('Expected the reply "Good morning."')
    expect(output).toContain('but it was "Good evening."')
    expect(output).toContain('User: Hello there')
  })
})

describe('Jest with tests in TypeScript, set up as the page says', () => {
  const missing = !existsSync(jest) && process.env.CI === undefined

  test.skipIf(missing)('runs a conversation', () => {
    const typed = join(folder, 'typed')
    mkdirSync(join(typed, 'node_modules'), { recursive: true })
    for (const name of ['turnkeeper', 'esbuild']) {
      const target = join(name === 'turnkeeper' ? folder : root, 'node_modules', name)
      symlinkSync(target, join(typed, 'node_modules', name), 'dir')
    }
    const reply = 'export const replyTo = (name: string): string => `Good morning, ${name}.`'
    const files = { 'package.json': settingsOfJest[1] ?? '', 'jest-typescript.mjs': transform, 'reply.ts': reply }
    for (const [name, text] of Object.entries({ ...files, 'greeting.test.ts': typedTest })) {
      writeFileSync(join(typed, name), text)
    }
    const runner = { name: 'Jest', command: [process.execPath, '--experimental-vm-modules', jest, '--runTestsByPath'] }
    expect(run(runner, 'greeting.test.ts', typed)).toMatchObject({ failed: false })
  })
})
