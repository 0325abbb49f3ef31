/**
 * Runs docs/testing-coverage-and-simulation.md: its programs, its configuration of vitest, and
 * everything that they print.
 */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import {
  Flow,
  type FlowConstructor,
  FlowEngine,
  finish,
  go,
  LogicStep,
  reply,
  type StepConstructor,
  type Turn,
} from 'turnkeeper'
import { Conversation, coverageOf, type FlowCoverage, simulate } from 'turnkeeper/testing'
import { beforeAll, expect, test, vi } from 'vitest'
import { writeSourcePackage } from '../source-package.js'
import { compiled, failureOf, Page, runIn } from './page.js'

const page = new Page('testing-coverage-and-simulation')
/** A project with the package, for what runs in a process of its own. */
const app = join(page.folder, 'app')
const program = page.block("coverage.expectFull({ except: ['Confirm -> AskName'] })")

/** The flow that stands for the reader's own: half of it is reached by the tests. */
const orderFlow = `import { End, finish, Flow, go, LogicStep, reply, Step, tool } from 'turnkeeper'
class AskSize extends LogicStep {
  static id = 'AskSize'
  static get next() { return [Confirm] }
  run(turn) { return turn.entered ? reply('Which size?') : go(Confirm) }
}
class Confirm extends LogicStep {
  static id = 'Confirm'
  static get next() { return [AskSize, Help, End] }
  run(turn) {
    if (turn.entered) return reply('Shall I order it?')
    return turn.message === 'yes' ? finish('Ordered.') : go(AskSize)
  }
}
class Help extends Step {
  static id = 'Help'
  static get next() { return [Cancelled, Complaint] }
  tools() { return [tool({ name: 'call_human', description: 'Calls somebody.', execute: () => 'Somebody comes.' })] }
}
class Cancelled extends LogicStep {
  static id = 'Cancelled'
  run() { return finish('Cancelled.') }
}
class Complaint extends LogicStep {
  static id = 'Complaint'
  run() { return reply('What is wrong?') }
}
export class Order extends Flow {
  static id = 'Order'
  model() { return { provider: 'any', name: 'any' } }
  steps() { return [AskSize, Confirm, Help, Cancelled, Complaint] }
}
`
/** The code of a block that declares what the reader has. */
const withOrder = (text: string): string =>
  text.replace('declare const Order: FlowConstructor', "import { Order } from './order.js'")
const loadOrder = (): Promise<{ Order: FlowConstructor }> => page.load('order.mjs', orderFlow)

beforeAll(() => writeSourcePackage(app))

test('the program on coverage finds everything reached but what it excepts', async () => {
  await page.load('coverage.ts', program.text)
})

test('vitest prints the coverage of all test files, writes it, and fails below a threshold', () => {
  page.write('app/order.js', orderFlow)
  page.write('app/package.json', '{ "type": "module" }')
  const asks = withOrder(page.text("conversation.expectReply('Which size?')"))
  page.write('app/order.test.ts', asks)
  // The other tests of the suite whose coverage the page shows.
  const talk = (...messages: string[]): string =>
    asks
      .replace(
        "await conversation.say('Hello')",
        messages.map((text) => `await conversation.say('${text}')`).join('\n'),
      )
      .replace("conversation.expectReply('Which size?')", '')
  page.write('app/confirm.test.ts', talk('Hello', 'large'))
  page.write('app/ordered.test.ts', talk('Hello', 'large', 'no', 'small', 'yes'))
  page.write('app/vitest.config.ts', page.text("['turnkeeper/testing/vitest/reporter'"))
  const { code, output } = runIn(app, 'npx', 'vitest', 'run')
  expect(output).toContain('3 passed')
  expect(output).toContain(page.text('| flow  | turns |'))
  expect(output).toContain('- Order: 3 of 6 steps (50 %), and the threshold is 90 %')
  expect(code).toBe(1)
  expect(['flows.md', 'flows.json'].filter((file) => !existsSync(join(app, file)))).toEqual([])
})

test('the tests that are missing are printed', async () => {
  const { Order } = await loadOrder()
  const coverage = coverageOf(Order)
  await using conversation = new Conversation(Order, { coverage })
  await conversation.say('Hello')
  await conversation.say('large')
  const { printMissingTests } = await page.load<{
    printMissingTests: (Order: FlowConstructor, coverage: FlowCoverage) => void
  }>('missing.ts', page.text('printMissingTests'))
  const printed = vi.spyOn(console, 'log').mockImplementation(() => undefined)
  printMissingTests(Order, coverage)
  const lines = printed.mock.calls.flat().map((text) => String(text).trim())
  printed.mockRestore()
  expect(lines).toContain(page.text("test('reaches Cancelled'").trim())
})

/** A flow of four turns, which asks for the colour in these words. */
function onboarding(question: string): FlowConstructor {
  class AskName extends LogicStep {
    static override readonly id = 'AskName'
    override run(turn: Turn) {
      if (turn.entered) return reply('What is your name?')
      return turn.message.includes(' ') ? go(AskColour) : reply('Your whole name, please.')
    }
  }
  class AskColour extends LogicStep {
    static override readonly id = 'AskColour'
    override run(turn: Turn) {
      return turn.entered ? reply(question) : finish('Welcome.')
    }
  }
  return class Onboarding extends Flow {
    static override readonly id = 'Onboarding'
    override steps(): readonly StepConstructor[] {
      return [AskName, AskColour]
    }
  }
}

test('a stored session goes as recorded, or the first turn that differs is shown', async () => {
  const { stillGoesThatWay } = await page.load<{
    stillGoesThatWay: (engine: FlowEngine, sessionId: string, flow: FlowConstructor) => Promise<void>
  }>('still.ts', page.text('stillGoesThatWay'))
  const engines: FlowEngine[] = []
  const flow = onboarding('Your colour?')
  await using conversation = new Conversation(flow, { onEngine: (engine) => engines.push(engine) })
  for (const text of ['Hello', 'Ada', 'Ada Lovelace', 'Green']) await conversation.say(text)
  const engine = engines[0] ?? new FlowEngine()
  await stillGoesThatWay(engine, conversation.sessionId, flow)
  const changed = onboarding('Your colour? (Say it in one word.)')
  const failure = await failureOf(() => stillGoesThatWay(engine, conversation.sessionId, changed))
  expect(failure.trim()).toBe(page.text("Session 'session-1' of flow 'Onboarding'").trim())
})

test('a folder of sessions is replayed', async () => {
  const { Order } = await loadOrder()
  for (const messages of [
    ['Hello', 'large', 'yes'],
    ['Hello', 'small', 'no', 'large', 'yes'],
  ]) {
    await using conversation = new Conversation(Order)
    for (const text of messages) await conversation.say(text)
    page.write(`app/test/sessions/${messages.length}.json`, JSON.stringify(await conversation.document()))
  }
  const replays = withOrder(page.text("replayAll('test/sessions'")).replace(
    'declare function createServices(at: number): FlowServices',
    'const createServices = (at: number): FlowServices => ({ startedAt: at })',
  )
  page.write('app/order.js', orderFlow)
  page.write('app/replays.js', compiled(replays))
  expect(runIn(app, process.execPath, 'replays.js')).toEqual({
    code: 0,
    output: '2 sessions with 8 turns went as recorded.\n',
  })
})

test('random users complete the flow of the page, and no name is blank', async () => {
  const [flow = ''] = program.text.split('const coverage =')
  const { Onboarding } = await page.load<{ Onboarding: FlowConstructor }>('flow.ts', `${flow}export { Onboarding }\n`)
  const simulation = await page.load<{ test: (flow: FlowConstructor) => Promise<void> }>(
    'simulation.ts',
    page.text('export async function test(Onboarding'),
  )
  await simulation.test(Onboarding)
})

/** A flow that takes the spaces off a name, and forgets that nothing may be left. */
class AskName extends LogicStep<{ name?: string }> {
  static override readonly id = 'AskName'
  override run(turn: Turn) {
    if (turn.entered) return reply('What is your name?')
    this.state.name = turn.message.trim()
    return reply(`Hello, ${this.state.name}.`)
  }
}
class Onboarding extends Flow {
  static override readonly id = 'Onboarding'
  override steps() {
    return [AskName]
  }
}

test('a conversation that violates an invariant is shortened, and printed as a test', async () => {
  const failure = await failureOf(() =>
    simulate(Onboarding, {
      actors: [({ pick }) => pick(['Ada', '  ', 'yes'])],
      invariants: { 'a name is never blank': ({ flow }) => flow.steps.AskName?.state.name !== '' },
    }),
  )
  // How often is a matter of fast-check.
  const withoutCount = (text: string): string => text.replace(/shortened \d+ times/, 'shortened').trim()
  const shown = page.text("A conversation with flow 'Onboarding' breaks a promise")
  expect(withoutCount(failure)).toBe(withoutCount(shown))
})

page.testThatAllAreUsed()
