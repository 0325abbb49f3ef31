/**
 * Checks that a conversation is tested the same in every runner: one file, copied next to a package made from the sources,
 * and run by each runner as an outside user would. Bun, Deno and Jest are large, so they are not installed with the rest
 * but by `node testing/contract/runners/install.mjs`. Without them their tests are skipped, except if
 * CI is set.
 */
import { execFileSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'

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

let folder = ''

beforeAll(async () => {
  if (process.env.CI !== undefined && !existsSync(installed)) {
    execFileSync(process.execPath, [join(here, 'install.mjs')], { stdio: 'inherit' })
  }
  folder = mkdtempSync(join(tmpdir(), 'runners-'))
  const packageFolder = join(folder, 'node_modules', 'turnkeeper')
  await build({
    absWorkingDir: root,
    entryPoints: { index: 'src/index.ts', testing: 'testing/index.ts' },
    outdir: packageFolder,
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'neutral',
    // Loaded late, where `simulate` is used. The packages that the root needs go into the files, as in the real package.
    external: ['fast-check'],
    logLevel: 'silent',
  })
  const manifest = { name: 'turnkeeper', type: 'module', exports: { '.': './index.js', './testing': './testing.js' } }
  writeFileSync(join(packageFolder, 'package.json'), JSON.stringify(manifest))
  const jestConfig = {
    testEnvironment: 'node',
    transform: {},
    testMatch: ['**/*.test.mjs'],
    moduleFileExtensions: ['mjs', 'js'],
  }
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ type: 'module', private: true, jest: jestConfig }))
  for (const file of ['runner.mjs', 'conversation.test.mjs', 'broken.test.mjs'])
    cpSync(join(here, file), join(folder, file))
  mkdirSync(join(folder, 'home'))
}, 600_000)

afterAll(() => rmSync(folder, { recursive: true, force: true }))

function run({ command }: Runner, file: string): { readonly failed: boolean; readonly output: string } {
  const [program = '', ...words] = command
  // Another runner must not think that it is part of this one.
  const { VITEST: _vitest, NODE_OPTIONS: _options, NODE_TEST_CONTEXT: _context, ...rest } = process.env
  const env = { ...rest, CI: 'true', NO_COLOR: '1', HOME: join(folder, 'home'), DENO_NO_UPDATE_CHECK: '1' }
  try {
    return {
      failed: false,
      output: execFileSync(program, [...words, `./${file}`], { cwd: folder, env, encoding: 'utf8', stdio: 'pipe' }),
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
