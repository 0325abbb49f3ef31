/**
 * The cost of a conversation test: `Conversation` of `turnkeeper/testing`, one conversation after the other, in an idle
 * process.
 */
import { event, Flow, finish, go, LogicStep, reply, Step, stay, tool } from 'turnkeeper'
import { Conversation, retryAs } from 'turnkeeper/testing'
import { bench, median } from './harness.mjs'

class Ask extends Step {
  static id = 'Ask'
  prompt() {
    return 'Ask what is wrong; call find_order, then choose.'
  }
  tools() {
    const order = { type: 'object', properties: { order: { type: 'string' } }, required: ['order'] }
    return [
      tool({
        name: 'find_order',
        description: 'Finds an order.',
        inputJsonSchema: order,
        execute: ({ order: found }) => {
          if (!found.startsWith('A-')) return stay('Which order?')
          this.state.order = found
          return { order: found, state: 'lost' }
        },
      }),
      tool({ name: 'choose', description: 'Takes the order.', inputJsonSchema: order, execute: () => go(Confirm) }),
    ]
  }
}

class Confirm extends LogicStep {
  static id = 'Confirm'
  async run(turn) {
    if (turn.entered) return reply('Shall we refund it?')
    if (turn.message === 'no') return go(Ask).withReply('What else?')
    if (turn.message !== 'yes') return reply('Yes or no?')
    return finish(await turn.once('refund', () => 'Refunded.'))
  }
}

class Desk extends Flow {
  static id = 'Desk'
  model() {
    return { provider: 'openai', name: 'gpt-5-mini' }
  }
  steps() {
    return [Ask, Confirm]
  }
}

const call = (name, order) => ({ toolCalls: [{ name, input: { order } }] })

/** Eleven turns with twelve faults, of the model, the store, the network and the process, in two conversations. */
async function supportDesk() {
  await new Conversation(Desk, {
    script: [
      ...[{ failure: 503 }, { failure: 503 }, 'Which order?'],
      ...[call('find_order', 'B'), { failure: 429 }, 'The number begins with A.'],
      ...[{ delayMs: 20_000, ...call('find_order', 'A-1') }, 'It is lost.'],
      ...[{ chunks: ['So', 'rry'], cutAfter: 1 }, 'Sorry.'],
      call('choose', 'A-1'),
    ],
  }).use(async (desk) => {
    const { store } = await desk.open()
    store.failNext('create')
    await desk.say('Hello')
    desk.store.failNext('save', { after: true })
    await desk.say('B')
    desk.store.delayNext('load', 2000)
    await desk.say('A-1')
    await desk.restart()
    await desk.stream('well?').reply()
    desk.store.failNext('save')
    await desk.say('that one')
    desk.expectReply('Shall we refund it?').expectStep(Confirm)
  })
  await Conversation.at(Desk, { step: Confirm, stateOf: [[Ask, { order: 'A-1' }]] }).use(async (desk) => {
    await desk.say('hm', { key: 'hm', fault: retryAs('same-key') })
    desk.store.delayNext('save', 3000)
    await desk.atOnce(['perhaps', { text: 'well', key: 'well' }, { text: 'well', key: 'well' }])
    desk.expectReplies(['Yes or no?', 'Yes or no?', { replayed: true }])
    desk.dieAfterEffect('refund')
    await desk.say('yes', { key: 'yes', fault: retryAs('same-key') })
    desk.expectReply('Refunded.').expectRanOnce('refund').expectCompleted()
  })
}

class Approval extends LogicStep {
  static id = 'Approval'
  events() {
    return [
      event({ name: 'decision', execute: (_, turn) => finish(`${turn.event.by} says yes.`) }),
      event({ name: 'remind', after: 6 * 86_400_000, execute: () => undefined }),
    ]
  }
  run() {
    return reply('I have asked your manager.')
  }
}

class Refund extends Flow {
  static id = 'Refund'
  steps() {
    return [Approval]
  }
}

/** A message, a week with a reminder, and the decision. */
async function approval() {
  await new Conversation(Refund).use(async (conversation) => {
    await conversation.say('100 EUR')
    await conversation.advance(7 * 86_400_000)
    await conversation.sendEvent('decision', undefined, { by: 'Ada' })
    conversation.expectReply('Ada says yes.').expectCompleted()
  })
}

/** The median of 300 approvals. */
async function approvals() {
  const times = []
  for (let round = 0; round < 300; round++) {
    const begun = performance.now()
    await approval()
    times.push(performance.now() - begun)
  }
  return median(times)
}

async function twoRetries(conversation) {
  await conversation.say('Hello')
  conversation.expectReply('Hello.')
}

async function once() {
  const start = performance.now()
  const before = process.cpuUsage()
  await supportDesk()
  const deskCold = performance.now() - start
  const { user, system } = process.cpuUsage(before)
  for (let round = 0; round < 100; round++) await supportDesk()
  const desks = []
  for (let round = 0; round < 300; round++) {
    const begun = performance.now()
    await supportDesk()
    desks.push(performance.now() - begun)
  }
  const retries = []
  for (let round = 0; round < 300; round++) {
    const conversation = new Conversation(Desk, { script: [{ failure: 503 }, { failure: 503 }, 'Hello.'] })
    await conversation.open()
    const begun = performance.now()
    await twoRetries(conversation)
    retries.push(performance.now() - begun)
    await conversation.close()
  }
  const desk = desks.reduce((sum, ms) => sum + ms, 0) / desks.length
  return {
    deskCold,
    coldProcessor: (user + system) / 1000,
    desk,
    perSecond: 1000 / desk,
    retries: median(retries),
    approval: await approvals(),
  }
}

bench({
  url: import.meta.url,
  title: 'Tests of conversations, one after the other',
  runs: 3,
  once,
  rows: [
    {
      label: 'a support desk of eleven turns and twelve faults, the first one',
      figure: 'deskCold',
      unit: 'ms',
      target: 60,
    },
    { label: 'the same, processor time', figure: 'coldProcessor', unit: 'ms', target: 60 },
    { label: 'the same, 300 in sequence, each', figure: 'desk', unit: 'ms', target: 10 },
    { label: 'that many a second', figure: 'perSecond', unit: '' },
    { label: 'a turn with two retries', figure: 'retries', unit: 'ms' },
    { label: 'an approval after a week', figure: 'approval', unit: 'ms', target: 10 },
  ],
})
