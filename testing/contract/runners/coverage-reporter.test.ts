/**
 * The coverage of flows over several workers of vitest: three test files, each in a process of its own, and the
 * reporter of the package, which is made from the sources.
 */
import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { FlowCoverageReport } from '../../index.js'
import { writeSourcePackage } from '../source-package.js'

const vitest = dirname(createRequire(import.meta.url).resolve('vitest/package.json'))

const flow = `
import { finish, Flow, go, LogicStep, reply, End } from 'turnkeeper'
export class Ask extends LogicStep {
  static id = 'Ask'
  static get next() { return [Confirm] }
  run(turn) { return turn.entered ? reply('Which size?') : go(Confirm) }
}
export class Confirm extends LogicStep {
  static id = 'Confirm'
  static get next() { return [Ask, End] }
  run(turn) { return turn.entered ? reply('Sure?') : turn.message === 'yes' ? finish('Done.') : go(Ask) }
}
export class Order extends Flow {
  static id = 'Order'
  steps() { return [Ask, Confirm] }
}
`
const testFile = (messages: readonly string[], inside = (code: string): string => code): string => `
import { test } from 'vitest'
import { Conversation } from 'turnkeeper/testing'
import { coverFlows } from 'turnkeeper/testing/vitest'
import { Order } from './order.mjs'
${inside(`const coverage = coverFlows(Order)
test('a conversation', async () => {
  const conversation = new Conversation(Order, { coverage })
  for (const message of ${JSON.stringify(messages)}) await conversation.say(message)
  await conversation.close()
})`)}
`

const setup = `
import { coverageOf } from 'turnkeeper/testing'
import { Order } from './order.mjs'
const coverage = coverageOf(Order)
export default () => ({ flow: Order, coverage })
`
const coverFlowsImport = "import { coverFlows } from 'turnkeeper/testing/vitest'"
const scenarioFile = `Setup: ./order.setup.mjs

## Somebody changes the size

- User: Hello
- User: large
- User: no
- Step: Ask

## Somebody only looks

- User: Hello
- Bot: Which size?
`

let folder = ''

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'coverage-'))
  await writeSourcePackage(folder)
  symlinkSync(vitest, join(folder, 'node_modules', 'vitest'))
  writeFileSync(join(folder, 'order.mjs'), flow)
  writeFileSync(join(folder, 'asks.test.mjs'), testFile(['Hello', 'large', 'no']))
  writeFileSync(join(folder, 'ends.test.mjs'), testFile(['Hello', 'large', 'yes']))
  // In a suite, the coverage goes with the suite's file as well.
  const inSuite = (code: string): string => `import { describe } from 'vitest'\ndescribe('a suite', () => {${code}})`
  writeFileSync(join(folder, 'suite.test.mjs'), testFile(['Hello'], inSuite))
  writeFileSync(join(folder, 'order.setup.mjs'), setup)
  writeFileSync(join(folder, 'order.scenario.md'), scenarioFile)
  mkdirSync(join(folder, 'empty'))
  writeFileSync(join(folder, 'empty', 'none.test.mjs'), "import { test } from 'vitest'\ntest('nothing', () => {})\n")
})

afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** Runs vitest with the reporter. Default: each file in a process of its own. */
function run(
  files: readonly string[],
  options: object,
  pool = "pool: 'forks'",
  { CI, words = [] }: { readonly CI?: string; readonly words?: readonly string[] } = {},
): { readonly status: number | null; readonly output: string } {
  const config = `import { scenarios } from 'turnkeeper/testing/vitest/plugin'
export default { plugins: [scenarios()], test: { include: ['**/*.test.mjs', '**/*.scenario.md'], ${pool}, reporters: ['default', ['turnkeeper/testing/vitest/reporter', ${JSON.stringify(options)}]] } }`
  writeFileSync(join(folder, 'vitest.config.mjs'), config)
  const command = [join(vitest, 'vitest.mjs'), 'run', '--root', folder, ...files, ...words]
  const { TEST_REPORT: _report, CI: _ci, ...env } = process.env
  const { status, stdout, stderr } = spawnSync(process.execPath, command, {
    cwd: folder,
    encoding: 'utf8',
    env: { ...env, NO_COLOR: '1', ...(CI === undefined ? {} : { CI }) },
  })
  return { status, output: `${stdout}${stderr}` }
}

const all = ['asks.test.mjs', 'ends.test.mjs', 'suite.test.mjs']

test('what each worker counted is added up, printed and written', () => {
  const thresholds = { steps: 100, transitions: 100 }
  const { status, output } = run(all, { thresholds, mermaid: 'flows.md', json: 'flows.json' })
  expect(output).toContain(
    [
      '| flow  | turns | steps         | tools | transitions   | gaps |',
      '| ----- | ----- | ------------- | ----- | ------------- | ---- |',
      '| Order | 7     | 3 of 3, 100 % | none  | 3 of 3, 100 % | 0    |',
    ].join('\n'),
  )
  expect(status).toBe(0)
  expect(readFileSync(join(folder, 'flows.md'), 'utf8')).toMatch(/^```mermaid\nflowchart LR\n[^`]*```\n$/)
  const { flows }: FlowCoverageReport = JSON.parse(readFileSync(join(folder, 'flows.json'), 'utf8'))
  expect(flows.map(({ flow: name, turns }) => [name, turns])).toEqual([['Order', 7]])
  expect(flows[0]?.steps.map(({ messages }) => messages)).toEqual([
    ['Hello'],
    ['Hello', 'large'],
    ['Hello', 'large', 'yes'],
  ])
})

test('scenarios whose set-up has a coverage count, alone and together with test files', () => {
  const alone = run(['order.scenario.md'], {})
  expect(alone.output).toContain(
    '| Order | 4     | 2 of 3, 66 % | none  | 2 of 3, 66 % | 1    |\n\n- Order: end step End: no conversation ended there\n',
  )
  expect(alone.status).toBe(0)
  const together = run(['order.scenario.md', 'ends.test.mjs'], { thresholds: { steps: 100, transitions: 100 } })
  expect(together.output).toContain('| Order | 7     | 3 of 3, 100 % | none  | 3 of 3, 100 % | 0    |')
  expect(together.status).toBe(0)
})

test('a set-up that uses coverFlows is counted once', () => {
  const covers = setup.replace('coverageOf(Order)', 'coverFlows(Order)').replace(/import .*/, coverFlowsImport)
  writeFileSync(join(folder, 'covers.setup.mjs'), covers)
  writeFileSync(join(folder, 'covers.scenario.md'), scenarioFile.replace('order.setup', 'covers.setup'))
  expect(run(['covers.scenario.md'], {}).output).toContain('| Order | 4     | 2 of 3, 66 %')
})

test('files that share a coverage, because they share their modules, are counted once', () => {
  writeFileSync(join(folder, 'looks.scenario.md'), scenarioFile)
  writeFileSync(join(folder, 'covers-too.scenario.md'), scenarioFile.replace('order.setup', 'covers.setup'))
  const shared = 'isolate: false, maxWorkers: 1'
  // 8 turns of each set-up.
  const files = ['order.scenario.md', 'looks.scenario.md', 'covers.scenario.md', 'covers-too.scenario.md']
  const { output } = run(files, {}, shared)
  expect(output).toContain('4 passed')
  expect(output).toContain('| Order | 16    | 2 of 3, 66 %')
})

test('a run below a threshold fails, although every test passed', () => {
  const { status, output } = run(['ends.test.mjs'], { thresholds: { steps: 100, transitions: 80 } })
  expect(output).toContain('1 passed')
  expect(output).toContain('- Order: 2 of 3 transitions (66 %), and the threshold is 80 %')
  expect(output).toContain('| 1    |\n\n- Order: transition Confirm -> Ask: declared, and never seen\n\n')
  expect(status).toBe(1)
})

test('the folder of a file is made; one that cannot be written fails the run, and the table is printed', () => {
  const thresholds = { steps: 100, transitions: 80 }
  const { status, output } = run(['ends.test.mjs'], { thresholds, mermaid: 'new/folder/flows.md' })
  expect(readFileSync(join(folder, 'new', 'folder', 'flows.md'), 'utf8')).toMatch(/^```mermaid\n/)
  expect(output).toContain('- Order: 2 of 3 transitions (66 %), and the threshold is 80 %')
  expect(status).toBe(1)
  const notWritten = run(['ends.test.mjs'], { mermaid: 'order.mjs/flows.md', json: 'written.json' })
  expect(notWritten.output).toMatch(/The coverage of flows cannot be written to .+flows\.md: E/)
  expect(notWritten.output).toContain('| Order | 3     | 3 of 3, 100 %')
  expect(notWritten.output).not.toContain('Unhandled')
  expect(readFileSync(join(folder, 'written.json'), 'utf8')).toContain('"flow": "Order"')
  expect(notWritten.status).toBe(1)
})

test('a run that covers no flow says so, meets no threshold, and leaves the files of the last run as they are', () => {
  const written = { mermaid: 'kept.md', json: 'kept.json' }
  for (const name of Object.values(written)) writeFileSync(join(folder, name), 'of the last run')
  const withThresholds = run(['empty/none.test.mjs'], { thresholds: { steps: 0 }, ...written })
  for (const name of Object.values(written)) expect(readFileSync(join(folder, name), 'utf8')).toBe('of the last run')
  expect(withThresholds.output).toContain('No test file covers a flow: call coverFlows')
  expect(withThresholds.status).toBe(1)
  expect(run(['empty/none.test.mjs'], {}).status).toBe(0)
})

test('an option with a wrong name or value is refused before the tests run: its thresholds would hold for nothing', () => {
  const { status, output } = run(all, { threshold: { steps: 100 } })
  expect(output).toContain("FlowCoverageReporter: there is no option 'threshold'.")
  expect(output).toContain("Did you mean 'thresholds'?")
  expect(output).not.toContain('passed')
  expect(status).toBe(1)
  const notAPath = run(all, { mermaid: true })
  expect(notAPath.output).toContain(
    "FlowCoverageReporter: mermaid must be the path of a file, such as 'flows.md'; got true.",
  )
  expect(notAPath.output).not.toContain('passed')
  expect(notAPath.status).toBe(1)
  expect(run(all, { json: '' }).output).toContain('json must be the path of a file, such as \'flows.json\'; got "".')
  const notAnObject = run(all, { thresholds: null })
  expect(notAnObject.output).toContain('The coverage thresholds are null: expected an object')
  expect(notAnObject.status).toBe(1)
})

test('a flow that must be covered, and is not, fails the run', () => {
  const { status, output } = run(['ends.test.mjs'], { flows: ['Order', 'Refund'] })
  expect(output).toContain('- Refund: no test file covers it')
  expect(output).not.toContain('- Order: no test')
  expect(status).toBe(1)
  expect(run(['empty/none.test.mjs'], { flows: ['Order'] }).status).toBe(1)
  expect(run(['ends.test.mjs'], { flows: ['Order'] }).status).toBe(0)
  expect(run(all, { flows: 'Order' }).output).toContain('flows must be a list of the IDs of flows; got "Order".')
})

test('another reporter on the command line is a warning, and fails the run of a CI', () => {
  const words = ['--reporter=dot']
  const problem = 'coverFlows: no reporter of the coverage of flows runs, so no threshold is checked.'
  const thresholds = { steps: 100, transitions: 100 }
  const warned = run(['ends.test.mjs'], { thresholds }, undefined, { words })
  expect([warned.status, warned.output.includes(problem)]).toEqual([0, true])
  const failed = run(['ends.test.mjs'], { thresholds }, undefined, { words, CI: 'true' })
  expect([failed.status, failed.output.includes(problem)]).toEqual([1, true])
  const both = [...words, '--reporter=turnkeeper/testing/vitest/reporter']
  expect(run(['ends.test.mjs'], {}, undefined, { words: both, CI: 'true' }).status).toBe(0)
})

test('coverFlows in a hook fails the first conversation that uses it', () => {
  const inHook = (code: string): string =>
    code.replace(
      'const coverage = coverFlows(Order)',
      'let coverage\nbeforeAll(() => { coverage = coverFlows(Order) })',
    )
  const text = testFile(['Hello'], inHook).replace('import { test }', 'import { beforeAll, test }')
  writeFileSync(join(folder, 'empty', 'hook.test.mjs'), text.replace('./order.mjs', '../order.mjs'))
  const { status, output } = run(['empty/hook.test.mjs'], {})
  expect(output).toContain('coverFlows was called in a hook, such as beforeAll. Call it at the top of the file.')
  expect(status).toBe(1)
})

test('a threshold that is not a percentage is refused before the tests run', () => {
  const { status, output } = run(all, { thresholds: { steps: '90 %' } })
  expect(output).toContain("The coverage threshold of steps is the text '90 %': expected a percentage from 0 to 100.")
  expect(output).not.toContain('passed')
  expect(status).toBe(1)
})
