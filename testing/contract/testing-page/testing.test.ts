/** Runs docs/testing.md: its programs, and what a failure prints. */
import { Flow, type FlowConstructor, finish, go, LogicStep, type SessionStore, Step, tool } from 'turnkeeper'
import { Conversation, type ModelScript } from 'turnkeeper/testing'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { failureOf, Page } from './page.js'

const page = new Page('testing')
const booking = page.block('a table is booked, in ten turns')
const [bookingFlow = '', bookingTest = ''] = booking.text.split('// The test.\n')

page.runTests('booking.test.ts', booking)
page.runTests('desk.test.ts', page.block('a no leads back to the question'))
page.runTests(
  'use.test.js',
  page.block("assert.equal(conversation.reply.message, 'What is your name?')"),
  `import assert from 'node:assert/strict'
import { Flow, Step } from 'turnkeeper'
import { Conversation } from 'turnkeeper/testing'
import { test } from 'vitest'
class Ask extends Step { static id = 'Ask' }
class Onboarding extends Flow {
  static id = 'Onboarding'
  model() { return { provider: 'any', name: 'any' } }
  steps() { return [Ask] }
}
`,
)

test('the first test takes fewer than 60 lines and ten turns', () => {
  expect(bookingTest.trim().split('\n').length).toBeLessThan(60)
  expect(bookingTest.match(/\.say\(/g)).toHaveLength(10)
})

test('a failing expectation shows the transcript', async () => {
  const { Booking } = await page.load<{ Booking: FlowConstructor }>('booking.ts', `${bookingFlow}export { Booking }\n`)
  const conversation = new Conversation(Booking, { script: ['For how many, and when?'] })
  await conversation.say('Hello')
  const failure = await failureOf(() => conversation.expectStep('Confirm'))
  expect(failure.trim()).toBe(page.text('Expected the conversation to be at step').trim())
})

test('a failure in code of the flow names its lines', async () => {
  page.write(
    'flows/orders.ts',
    `const prices = new Map([['A-1', 12]])
export function priceOf(order: string): number {
  const price = prices.get(order)
  if (price === undefined) throw new Error('no such order')
  return price
}
`,
  )
  const { Desk } = await page.load<{ Desk: FlowConstructor }>(
    'flows/desk.ts',
    `import { Flow, LogicStep, reply, type Turn } from 'turnkeeper'
import { priceOf } from './orders.js'
class Ask extends LogicStep {
  static override readonly id = 'Ask'
  override run(turn: Turn) {
    return reply(String(priceOf(turn.message)))
  }
}
export class Desk extends Flow {
  static override readonly id = 'Desk'
  override steps() {
    return [Ask]
  }
}
`,
  )
  const failure = await failureOf(() =>
    new Conversation(Desk).use(async (conversation) => {
      await conversation.say('A-2')
    }),
  )
  // Folders, lines and columns are those of the reader.
  const withoutPlaces = (text: string): string => text.replaceAll(/\/\S+\/([\w.]+\.ts):\d+:\d+/g, '$1').trim()
  const [shown, came] = [page.text('no such order'), failure.replace('testing.test.ts', 'desk.test.ts')].map(
    withoutPlaces,
  )
  expect(came?.split('\n\n')[0]).toBe(shown)
})

class Ask extends Step {
  static override readonly id = 'Ask'
  override tools() {
    return [tool({ name: 'find_order', description: 'Finds.', execute: () => new Promise<string>(() => undefined) })]
  }
}
class Desk extends Flow {
  static override readonly id = 'Desk'
  override model() {
    return { provider: 'any', name: 'any' }
  }
  override steps() {
    return [Ask]
  }
}

test('a turn in which nothing happens says who waits for what', async () => {
  const conversation = new Conversation(Desk, { script: ['Which?', { toolCalls: [{ name: 'find_order' }] }] })
  await conversation.say('Hello')
  const failure = await failureOf(() => conversation.atOnce(['A-1', 'Hello?']))
  expect(failure.split('\n\n')[0]).toBe(page.text('Nothing has happened for 2000 ms').trim())
  await conversation.close().catch(() => undefined)
})

const Wish = z.object({ guests: z.number(), day: z.string() })
class AskWish extends Step {
  static override readonly id = 'AskWish'
  override tools() {
    return [tool({ name: 'find_tables', description: 'Finds.', input: Wish, execute: () => 'Table 4' })]
  }
}
class Thank extends Step {
  static override readonly id = 'Thank'
}
class Wishes extends Flow {
  static override readonly id = 'Wishes'
  override model() {
    return { provider: 'any', name: 'any' }
  }
  override steps() {
    return [AskWish, Thank]
  }
}

test('the script by step is played from its first reply to its last', async () => {
  const { script } = await page.load<{
    script: Record<'AskWish' | 'Thank', ModelScript>
  }>('script.ts', page.text('That was message'))
  await new Conversation(Wishes, { script: script.AskWish }).use(async (conversation) => {
    const replies: string[] = []
    for (const text of ['Hello', 'For two', 'And then?']) replies.push((await conversation.say(text)).message)
    expect(replies).toEqual(['For how many?', 'That took a while.', 'Noted.'])
    await conversation.say('And now?')
    conversation.expectError('MODEL_ERROR')
    await conversation.say('Can you help?')
    conversation.expectError('MODEL_BLOCKED')
  })
  await using thanks = Conversation.at(Wishes, { step: Thank, script: script.Thank })
  await thanks.say('Thanks')
  thanks.expectReply('That was message 1.')
})

class Greet extends LogicStep {
  static override readonly id = 'Greet'
  override run() {
    return go(Leave).withReply('Good morning.')
  }
}
class Leave extends LogicStep {
  static override readonly id = 'Leave'
  override run() {
    return finish('Good bye.')
  }
}
class Greeting extends Flow {
  static override readonly id = 'Greeting'
  override steps() {
    return [Greet, Leave]
  }
}

test('createStore keeps the data over a restart', async () => {
  const { createStore } = await page.load<{
    createStore: () => SessionStore
  }>('store.ts', page.text('export const createStore'))
  await using conversation = new Conversation(Greeting, { createStore })
  await conversation.say('Hello')
  await conversation.restart()
  await conversation.say('Bye')
  conversation.expectReply('Good bye.').expectCompleted()
})

const inRunners = 'testing/contract/runners/runners.test.ts runs it in Jest, which CI installs.'
page.leaveOut('"testMatch": ["**/*.test.mjs"]', inRunners)
page.leaveOut("import { transformSync } from 'esbuild'", inRunners)
page.leaveOut('"extensionsToTreatAsEsm"', inRunners)

page.testThatAllAreUsed()
