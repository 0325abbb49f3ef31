/** The support desk: what its tools do, what the model receives, and what the user sees. The model follows a script. */
import { FlowEngine, type ModelRequest, type ModelResponse } from 'turnkeeper'
import { card } from 'turnkeeper/parts'
import { Conversation, coverageOf, type ModelScript, type ScriptedReply } from 'turnkeeper/testing'
import { expect, test } from 'vitest'
import { createCalendar } from '../services/calendar.js'
import { createOrders } from '../services/orders.js'
import { createLocalParcels } from '../services/parcels.js'
import { Reason, TakeReturn } from './returns.js'
import { Desk, SupportDesk } from './support-desk.js'

const coverage = coverageOf(SupportDesk)

function start(script: ModelScript, parcels = createLocalParcels(), orders = createOrders()) {
  return new Conversation(SupportDesk, {
    script,
    onTurnError: 'rollback',
    services: { calendar: createCalendar(Date.now), orders, parcels },
    onEngine: coverage.watch,
  })
}

/** The model calls one tool. */
const call = (name: string, input: Record<string, string> = {}) => ({ toolCalls: [{ name, input }] })

test('looks an order up, and gives its content to the model', async () => {
  await using conversation = start([call('look_up_order', { orderNumber: 'FK-1063' }), 'Your order is being packed.'])
  await conversation.say('What is in FK-1063?')
  conversation
    .expectToolCalls([
      {
        name: 'look_up_order',
        input: { orderNumber: 'FK-1063' },
        output: { items: ['green glaze cup', 'boston fern'], state: 'being packed' },
      },
    ])
    .expectReply('Your order is being packed.')
    .expectStep(Desk)
})

test('an order that was looked up is beside the answer, as a card, and not beside the next one', async () => {
  await using conversation = start([
    call('look_up_order', { orderNumber: 'FK-1063' }),
    'It is being packed.',
    'You are welcome.',
  ])
  await conversation.say('How far is FK-1063?')
  const rows = [
    ['State', 'being packed'],
    ['Item', 'green glaze cup'],
    ['Item', 'boston fern'],
  ] as const
  conversation.expectReply('It is being packed.').expectParts([card({ title: 'Order FK-1063', rows })])
  await conversation.say('Thank you')
  conversation.expectReply('You are welcome.').expectParts([])
})

test('arguments that do not fit go back to the model, not to the user', async () => {
  await using conversation = start([
    call('look_up_order', { orderNumber: '17' }),
    call('look_up_order', { orderNumber: 'FK-9999' }),
    'I cannot find that order.',
  ])
  await conversation.say('What is in order 17?')
  conversation
    .expectToolCalls([
      { name: 'look_up_order', isError: true, output: /^Invalid arguments: orderNumber: An order number looks like/ },
      { name: 'look_up_order', isError: true, output: 'There is no order FK-9999.' },
    ])
    .expectReply('I cannot find that order.')
})

test('takes a return over two steps that share one memory', async () => {
  await using conversation = start({
    Desk: [call('start_return', { orderNumber: 'FK-1042' }), call('end_conversation')],
    TakeReturn: [
      'Which item goes back, and why?',
      call('record_return', { item: 'kettle', reason: 'damaged' }),
      'There is no kettle in that order. The teapot or the fern?',
      call('record_return', { item: 'maidenhair fern', reason: 'wrong item' }),
    ],
  })
  await conversation.say('I want to send something of FK-1042 back')
  conversation
    .expectStep(TakeReturn)
    .expectState(TakeReturn, { orderNumber: 'FK-1042' })
    .expectAsked({ step: TakeReturn, system: /Items: cast iron teapot; maidenhair fern$/, user: /send something/ })
  await conversation.say('The kettle is broken')
  conversation.expectToolCalls([{ name: 'record_return', isError: true, output: /^The order has: cast iron teapot/ }])
  await conversation.restart()
  await conversation.say('The fern was the wrong one')
  conversation
    .expectReply('Return R-1 is open: maidenhair fern, wrong item. The label is in your mail. Anything else?')
    .expectStep(Desk)
  await conversation.say('No, thank you')
  conversation.expectReply('Thank you for writing to Fern & Kettle. Goodbye!').expectStep('End').expectCompleted()
  expect(Object.keys((await conversation.document()).flow.memory)).toEqual(['desk'])
})

const question = 'Why does the maidenhair fern go back: damaged, wrong item, or changed your mind?'

/** A return whose reason is still open. */
async function upToReason(...later: readonly ScriptedReply[]) {
  const conversation = start([
    call('start_return', { orderNumber: 'FK-1042' }),
    'Which item goes back?',
    call('record_return', { item: 'maidenhair fern' }),
    ...later,
  ])
  for (const message of ['I return something of FK-1042', 'The fern']) await conversation.say(message)
  return conversation.expectReply(question).expectStep(Reason)
}

const opened = 'Return R-1 is open: maidenhair fern, wrong item. The label is in your mail. Anything else?'

test('the reason of a return is a button, also after a restart', async () => {
  await using conversation = await upToReason()
  await conversation.restart()
  await conversation.choose('It is the wrong item')
  conversation.expectReply(opened).expectStep(Desk)
})

test.each(['it is the wrong item', '2', 'wrong item'])('without buttons, %j is the same reason', async (answer) => {
  await using conversation = await upToReason()
  await conversation.say(answer)
  conversation.expectReply(opened).expectStep(Desk)
})

test('a reason in other words goes to the model, which knows what was asked', async () => {
  await using conversation = await upToReason(call('record_return', { item: 'maidenhair fern', reason: 'damaged' }))
  await conversation.say('It has no leaves')
  conversation
    .expectAsked({ step: TakeReturn, user: 'It has no leaves' })
    .expectReply(/^Return R-1 is open: maidenhair fern, damaged\./)
  const { flow } = await conversation.document()
  expect(JSON.stringify(flow.memory.desk)).toContain(question)
})

const hours = 'We are here from Monday to Friday, 9 to 17.'

test('a question in between leaves the return open, and its question is asked again', async () => {
  await using conversation = await upToReason()
  await conversation.say('What are your opening hours?')
  conversation.expectReply(`${hours}\n\n${question}`).expectStep(Reason)
  conversation.expectParts([{ type: 'choices', name: 'reason' }])
  await conversation.choose('It came damaged')
  conversation.expectReply(/^Return R-1 is open: maidenhair fern, damaged\./).expectStep(Desk)
})

test('if a model is asked in between, it gets the answer, and asks its question again', async () => {
  await using conversation = start(['What else can I do?'])
  await conversation.say('When are you open?')
  conversation
    .expectAsked({ step: Desk, user: `Returned from Hours: ${hours}` })
    .expectReply(`${hours}\n\nWhat else can I do?`)
    .expectStep(Desk)
})

test('an order that is not delivered is not taken back', async () => {
  await using conversation = start([call('start_return', { orderNumber: 'FK-1057' }), 'Not yet.'])
  await conversation.say('I return FK-1057')
  conversation
    .expectToolCalls([
      { name: 'start_return', isError: true, output: 'Order FK-1057 is on its way; only delivered ones go back.' },
    ])
    .expectStep(Desk)
})

test('a promise never reaches the user, and the model gets the reason', async () => {
  await using conversation = start(['You will have your money back today.', 'The accounts team decides.'])
  await conversation.say('I want a refund')
  conversation
    .expectAsked({ user: 'Never promise a refund: the accounts team decides.' })
    .expectReply('The accounts team decides.')
  expect(JSON.stringify((await conversation.document()).history)).not.toContain('money back')
})

test('tracks a parcel', async () => {
  await using conversation = start([call('track_parcel', { orderNumber: 'FK-1057' }), 'It comes tomorrow.'])
  await conversation.say('Where is FK-1057?')
  conversation.expectToolCalls([
    { name: 'track_parcel', output: { place: 'in the depot in Harrow Lane, out for delivery tomorrow' } },
  ])
})

test('a carrier that is down fails the turn with its own words, and the conversation goes on', async () => {
  const down = { locate: () => Promise.reject(new Error('The carrier answered with status 503.')) }
  await using conversation = start([call('track_parcel', { orderNumber: 'FK-1057' }), 'What else?'], down)
  await conversation.say('Where is FK-1057?')
  conversation.expectError('TOOL_ERROR', 'The carrier answered with status 503.')
  await conversation.say('Never mind')
  conversation.expectReply('What else?').expectStep(Desk)
})

/** Orders that keep what was opened. */
function watchedOrders() {
  const orders = createOrders()
  const opened: string[] = []
  const openReturn: typeof orders.openReturn = (wanted) => {
    const number = orders.openReturn(wanted)
    opened.push(`${number} ${wanted.item}`)
    return number
  }
  return { orders: { ...orders, openReturn }, opened }
}

/** Four turns, which end in the form of a return, and what the model does then. */
async function inTheForm(orders: ReturnType<typeof createOrders>, ...inForm: readonly ScriptedReply[]) {
  const conversation = start(
    {
      Desk: [
        'Hello.',
        call('look_up_order', { orderNumber: 'FK-1042' }),
        'It is delivered.',
        call('start_return', { orderNumber: 'FK-1042' }),
      ],
      TakeReturn: ['Which item goes back?', 'And why?', ...inForm],
    },
    createLocalParcels(),
    orders,
  )
  for (const message of ['Hello', 'How far is FK-1042?', 'I return it', 'The fern']) await conversation.say(message)
  return conversation.expectStep(TakeReturn)
}

const record = call('record_return', { item: 'maidenhair fern', reason: 'wrong item' })

test('if the model fails in turn 5, the next message goes on at the same step, and one return is opened', async () => {
  const { orders, opened } = watchedOrders()
  await using conversation = await inTheForm(orders, new Error('The model is down.'), record)
  const before = await conversation.document()
  await conversation.say('It was the wrong one')
  conversation.expectError('MODEL_ERROR').expectStep(TakeReturn).expectState(TakeReturn, { orderNumber: 'FK-1042' })
  const { flow, history } = await conversation.document()
  expect({ flow, history }).toEqual({ flow: before.flow, history: before.history })
  await conversation.say('It was the wrong one')
  conversation.expectReply(/^Return R-1 is open: maidenhair fern/).expectStep(Desk)
  expect(opened).toEqual(['R-1 maidenhair fern'])
})

test('if the turn that opened the return cannot be stored, saying it again finds the same return', async () => {
  const { orders, opened } = watchedOrders()
  await using conversation = await inTheForm(orders, record, record)
  conversation.store.failNext('save', { times: 3 })
  await conversation.say('It was the wrong one')
  conversation.expectError('SESSION_STORE_ERROR').expectStep(TakeReturn)
  await conversation.say('It was the wrong one')
  conversation.expectReply(/^Return R-1 is open: maidenhair fern/).expectStep(Desk)
  expect(opened).toEqual(['R-1 maidenhair fern', 'R-1 maidenhair fern'])
})

test('what a customer writes on while the answer is generated is answered after it', async () => {
  const asked: string[] = []
  let begin = (): void => {}
  const begun = new Promise<void>((resolve) => {
    begin = resolve
  })
  let answer = (): void => {}
  const answered = new Promise<void>((resolve) => {
    answer = resolve
  })
  const generate = async ({ messages }: ModelRequest): Promise<ModelResponse> => {
    const [part] = messages.at(-1)?.parts ?? []
    asked.push(part?.type === 'text' ? part.text : '')
    if (asked.length === 2) {
      begin()
      await answered
    }
    return { parts: [{ type: 'text', text: `${asked.length}: It is in the van.` }] }
  }
  const engine = new FlowEngine({
    flows: [SupportDesk],
    providers: [{ provider: 'local', resolve: ({ provider, name }) => ({ provider, name, generate }) }],
    services: { calendar: createCalendar(Date.now), orders: createOrders(), parcels: createLocalParcels() },
    busy: 'reject',
  })
  const flowName = 'SupportDesk'
  const { session: sessionId } = await engine.run({ flowName, userMessage: 'Hello' })
  const first = engine.run({ flowName, sessionId, userMessage: 'Where is my parcel?' })
  await begun
  const second = engine.run({ flowName, sessionId, userMessage: 'FK-1057, I mean.' })
  answer()
  expect([(await first).message, (await second).message]).toEqual(['2: It is in the van.', '3: It is in the van.'])
  expect(asked).toEqual(['Hello', 'Where is my parcel?', 'FK-1057, I mean.'])
  await engine.close()
})

test('the conversations above reach every step and every tool', () => {
  coverage.expectFull()
})
