/**
 * Checks what vitest prints for scenario files that fail: the line of the file, with the lines around it. The fixture
 * has a set-up in TypeScript and uses the package that is built.
 */
import { execFileSync } from 'node:child_process'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { beforeAll, describe, expect, test } from 'vitest'

const fixture = fileURLToPath(new URL('fixture', import.meta.url))
const vitest = join(dirname(createRequire(import.meta.url).resolve('vitest/package.json')), 'vitest.mjs')
let output = ''

beforeAll(() => {
  // Another vitest must not think that it is part of this one.
  const { VITEST: _vitest, NODE_OPTIONS: _options, ...rest } = process.env
  const env = { ...rest, CI: 'true', NO_COLOR: '1' }
  try {
    execFileSync(process.execPath, [vitest, 'run', '--maxWorkers', '1'], {
      cwd: fixture,
      env,
      encoding: 'utf8',
      stdio: 'pipe',
    })
  } catch (error) {
    const { stdout, stderr } = error as { stdout: string; stderr: string }
    output = `${stdout}${stderr}`
  }
})

describe('scenario files in vitest', () => {
  test('are run: each scenario is a test', () => {
    expect(output).toMatch(/Tests {2}4 failed \| 1 passed \(5\)/)
    expect(output).toContain('desk.scenario.md > The desk > It says something else')
  })

  test('that fail show their line', () => {
    expect(output).toContain(
      `ExpectationError: desk.scenario.md:13: - Bot: Good evening.
Expected the reply "Good evening."
  but it was "You said Hello."`,
    )
    expect(output).toMatch(
      /❯ scenario desk\.scenario\.md:13:1\n.*\n.*12\| - User: Hello\n.*13\| - Bot: Good evening\.\n/,
    )
  })

  test('that fail in the flow show its line, too', () => {
    expect(output).toMatch(
      /desk\.scenario\.md:17: - User: crash\nThe turn "crash" failed with FLOW_ERROR: no database\n {2}at Ask\.run \(.*desk\.setup\.ts:7:/,
    )
    expect(output).toMatch(/Caused by: Error: no database\n ❯ Ask\.run desk\.setup\.ts:7:/)
  })

  test('that cannot be read show the line', () => {
    expect(output).toContain(
      'unreadable.scenario.md:7: - Usr: Hello\nA line of a scenario begins with one of these words',
    )
    expect(output).toContain('❯ scenario unreadable.scenario.md:7:1')
  })

  test('whose set-up does not exist show its line', () => {
    expect(output).toContain('no-setup.scenario.md:3: Setup: ./none.setup.js\nThe set-up cannot be found: there is no')
    expect(output).toMatch(/there is no [^\n]*\n ❯ scenario no-setup\.scenario\.md:3:1\n.*\n.*\n.*3\| Setup: /)
  })
})
