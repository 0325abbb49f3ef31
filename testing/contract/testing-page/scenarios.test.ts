/** Runs docs/scenarios.md: its file and set-up in vitest, from the command line and in `node:test`, and a failure. */
import { join } from 'node:path'
import { readScenarios, type ScenarioSetup } from 'turnkeeper/testing/scenarios'
import { beforeAll, expect, test } from 'vitest'
import { writeSourcePackage } from '../source-package.js'
import { compiled, failureOf, Page, runIn } from './page.js'

const page = new Page('scenarios')
/** A project with the package, for what runs in a process of its own. */
const app = join(page.folder, 'app')
const scenarios = page.text('# Booking a table')
const setup = page.text('class AskDay')
const titles = ['A guest books a table for Friday', 'A guest is offered another day']

beforeAll(async () => {
  await writeSourcePackage(app)
  page.write('app/package.json', '{ "type": "module" }')
  page.write('app/test/booking.scenario.md', scenarios)
  page.write('app/test/booking.setup.ts', setup)
})

test('vitest runs the scenarios of the page', () => {
  page.write('app/vitest.config.ts', page.text("from 'turnkeeper/testing/vitest/plugin'"))
  const { code, output } = runIn(app, 'npx', 'vitest', 'run', '--reporter', 'verbose')
  for (const title of titles)
    expect(output).toMatch(new RegExp(`✓ .*booking\\.scenario\\.md > Booking a table > ${title}`))
  expect({ code, output }).toMatchObject({ code: 0, output: expect.stringContaining('2 passed') })
})

test('the commands run them, with the set-up that was compiled', () => {
  page.write('app/test/booking.setup.js', compiled(setup))
  page.write('app/dist/booking.setup.js', compiled(setup))
  const commands = page.text('npx turnkeeper scenarios').trim().split('\n')
  expect(commands.length).toBeGreaterThan(1)
  for (const command of commands) {
    const { code, output } = runIn(app, ...command.split(' '))
    const lines = titles.map((title) => `  ok      ${title}\n`).join('')
    expect({ code, output }).toEqual({ code: 0, output: `test/booking.scenario.md\n${lines}\n2 passed, 0 failed\n` })
  }
})

test('with a coverage in the set-up, the command prints it', () => {
  const covered = page
    .text('coverageOf(booking.flow)')
    .replace('declare const booking: ScenarioSetup', "import booking from './booking.setup.js'")
  page.write('app/dist/booking.setup.js', compiled(setup))
  page.write('app/dist/covered.setup.js', compiled(covered))
  const { code, output } = runIn(app, 'npx', 'turnkeeper', 'scenarios', 'test', '--setup', 'dist/covered.setup.js')
  expect({ code, output }).toMatchObject({
    code: 0,
    output: expect.stringContaining(`\n\n${page.text('Booking, 5 turns')}\n2 passed, 0 failed`),
  })
})

test('node:test runs them', () => {
  const program = page
    .text("from 'node:test'")
    .replace('declare const setup: ScenarioSetup', "import setup from './test/booking.setup.js'")
  page.write('app/booking.test.mjs', compiled(program))
  page.write('app/test/booking.setup.js', compiled(setup))
  const { code, output } = runIn(app, process.execPath, '--test', '--test-reporter', 'tap', 'booking.test.mjs')
  expect({ code, output }).toMatchObject({ code: 0, output: expect.stringContaining('# pass 2') })
})

test('the failure is what a wrong line gives', async () => {
  const { default: loaded } = await page.load<{ default: ScenarioSetup }>('booking.setup.ts', setup)
  const wrong = scenarios.replace('Bot: Good evening!', 'Bot: Good morning!')
  const [scenario] = readScenarios(wrong, 'booking.scenario.md').scenarios
  const failure = await failureOf(() => scenario?.run(loaded))
  expect(failure.trim()).toBe(page.text('booking.scenario.md:11').trim())
})

page.testThatAllAreUsed()
