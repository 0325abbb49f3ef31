/** Webhooks as a channel sends them: once, twice, together, and to an application in trouble. */
import { back, call, Flow, FlowEngine, finish, LogicStep, reply, type Turn } from 'turnkeeper'
import { choices } from 'turnkeeper/parts'
import { FakeSessionStore } from 'turnkeeper/testing'
import { expect, test } from 'vitest'
import { createWebhook } from './whatsapp.js'

class ChooseDay extends LogicStep {
  static override readonly id = 'ChooseDay'
  override run({ choice }: Turn) {
    if (choice !== undefined) return finish(`Booked for ${choice.value}.`)
    const options = [
      { value: '2026-12-01', label: 'Tuesday' },
      { value: '2026-12-04', label: 'Friday' },
    ]
    return reply('Which day?').withParts([choices('day', options)])
  }
}

class Hours extends LogicStep {
  static override readonly id = 'Hours'
  override run() {
    return back().withLead('From 9 to 5.')
  }
}

class Salon extends Flow {
  static override readonly id = 'Salon'
  override onMessage({ message }: Turn) {
    return /open/.test(message) ? call(Hours) : undefined
  }
  override steps() {
    return [ChooseDay, Hours]
  }
}

const question = 'Which day?\n1. Tuesday\n2. Friday'
const [ada, bo] = ['4915550100', '4915550101']

/** A message as the channel posts it. */
function messageOf(from: string, text: string, id: string) {
  return { id: `wamid.${id.padEnd(16, '=')}`, from, type: 'text', text: { body: text } }
}

function channel() {
  const store = new FakeSessionStore()
  const sent: string[] = []
  let isDown = false
  const table = new Map<string, string>()
  const engine = new FlowEngine({ flows: [Salon], sessionStore: store, errorText: 'flow' })
  const send = async (to: string, text: string): Promise<void> => {
    if (isDown) throw new Error('The channel is down.')
    sent.push(`${to}: ${text}`)
  }
  const webhook = createWebhook({
    ...{ engine, flowName: 'Salon', send },
    read: async (key) => table.get(key),
    write: async (key, value) => void table.set(key, value),
  })
  const post = async (body: unknown): Promise<number> => {
    const request = new Request('https://shop.example/whatsapp', { method: 'POST', body: JSON.stringify(body) })
    return (await webhook(request)).status
  }
  return {
    post,
    deliver: (...messages: readonly object[]) =>
      post({ object: 'whatsapp_business_account', entry: [{ changes: [{ value: { messages } }] }] }),
    engine,
    sent,
    store,
    table,
    down: (value: boolean) => {
      isDown = value
    },
  }
}

test('a conversation by number and by label, with a question in between, and a new one after its end', async () => {
  const { deliver, sent } = channel()
  for (const [index, text] of ['Hello', 'When are you open?', '2', 'Hello again', 'tuesday'].entries()) {
    expect(await deliver(messageOf(ada, text, `m${index}`))).toBe(200)
  }
  expect(sent).toEqual(
    [question, `From 9 to 5.\n\n${question}`, 'Booked for 2026-12-04.', question, 'Booked for 2026-12-01.'].map(
      (text) => `${ada}: ${text}`,
    ),
  )
})

test('the same webhook again answers once, also at the same moment, and after later ones', async () => {
  const { deliver, sent } = channel()
  const first = messageOf(ada, 'Hello', 'first')
  expect(await Promise.all([deliver(first), deliver(first)])).toEqual([200, 200])
  await deliver(messageOf(ada, '1', 'second'))
  expect(await deliver(first)).toBe(200)
  expect(sent).toEqual([`${ada}: ${question}`, `${ada}: Booked for 2026-12-01.`])
})

test('messages that arrive together are one conversation for each sender', async () => {
  const { deliver, engine, sent, table } = channel()
  await Promise.all([
    deliver(messageOf(ada, 'Hello', 'a1'), messageOf(bo, 'Hello', 'b1'), messageOf(ada, 'open?', 'a2')),
    deliver(messageOf(ada, 'Friday', 'a3')),
  ])
  const ofAda = sent.filter((line) => line.startsWith(ada))
  expect(ofAda).toEqual(
    [question, `From 9 to 5.\n\n${question}`, 'Booked for 2026-12-04.'].map((text) => `${ada}: ${text}`),
  )
  expect(sent).toContain(`${bo}: ${question}`)
  const { sessions } = await engine.listSessions({ owner: ada })
  expect(sessions.map((session) => session.id)).toEqual([table.get(ada)])
})

test('a webhook that could not be answered is asked for again, and no turn runs twice', async () => {
  const { deliver, down, sent, store } = channel()
  await deliver(messageOf(ada, 'Hello', 'm1'))
  down(true)
  expect(await deliver(messageOf(ada, 'Friday', 'm2'))).toBe(503)
  down(false)
  expect(await deliver(messageOf(ada, 'Friday', 'm2'))).toBe(200)
  store.failNext('load')
  expect(await deliver(messageOf(ada, 'Hello', 'm3'))).toBe(503)
  expect(await deliver(messageOf(ada, 'Hello', 'm3'))).toBe(200)
  expect(sent).toEqual([question, 'Booked for 2026-12-04.', question].map((text) => `${ada}: ${text}`))
})

test('what is no message gets no answer', async () => {
  const { deliver, post, sent } = channel()
  expect(await post({ entry: [{ changes: [{ value: { statuses: [{ status: 'read' }] } }] }] })).toBe(200)
  for (const body of [undefined, [], { entry: [{ changes: [{}] }] }]) expect(await post(body)).toBe(400)
  expect(await deliver({ ...messageOf(ada, 'Hello', 'm1'), id: 'short' })).toBe(400)
  expect(sent).toEqual([])
})

test('a message without a text, such as a photo, is an empty one', async () => {
  const { deliver, sent } = channel()
  const { text: _text, ...photo } = messageOf(ada, '', 'm1')
  expect(await deliver({ ...photo, type: 'image' })).toBe(200)
  expect(sent).toEqual([`${ada}: ${question}`])
})
