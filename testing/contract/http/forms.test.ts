// A page fills in a form over real HTTP: by text and by model, with the same result as in a conversation.
import { afterEach, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { createFetchHandler } from '../../../adapters/fetch/index.js'
import { field } from '../../../src/forms/index.js'
import { type FlowConstructor, FlowEngine, MemorySessionStore, type ReplyPart } from '../../../src/index.js'
import { ScriptedModel } from '../../index.js'
import { complete } from '../forms/model-forms.js'
import { bookings, flowOfForm } from '../forms/test-forms.js'
import { type RunningServer, startServer } from './node-server.js'
import { runRequest } from './serve.js'

const running: RunningServer[] = []

afterEach(async () => {
  for (const server of running.splice(0)) await server.close()
})

interface Answer {
  readonly success: boolean
  readonly completed: boolean
  readonly message: string
  readonly session: string
  readonly parts?: readonly Extract<ReplyPart, { readonly type: 'form' }>[]
}

/** A page of a flow, and its session after the first message. */
async function open(flow: FlowConstructor) {
  const sessionStore = new MemorySessionStore()
  const model = new ScriptedModel(() => 'ok')
  const providers = [{ provider: 'scripted', resolve: () => model }]
  const engine = new FlowEngine({ flows: [flow], sessionStore, providers })
  const server = await startServer(createFetchHandler(engine, { session: true, statuses: 'precise' }))
  running.push(server)
  const address = `http://127.0.0.1:${server.port}/ai`
  let session = ''
  const run = async (body: object): Promise<readonly [number, Answer]> => {
    const headers: Record<string, string> = session === '' ? {} : { CHAT_SESSION_ID: session }
    const response = await fetch(`${address}/run?envelope=1`, runRequest({ flowName: flow.id, ...body }, headers))
    const answer = (await response.json()) as Answer
    session ||= answer.session
    return [response.status, answer]
  }
  await run({ message: 'Hello' })
  return {
    say: (message: string) => run({ message }),
    submit: (name: string, payload: unknown) => run({ event: { name, payload } }),
    document: async () => JSON.stringify(await sessionStore.load(session)),
    state: async () => (await sessionStore.load(session))?.flow.steps.Booking?.state,
    turns: async () => {
      const response = await fetch(`${address}/session`, { headers: { CHAT_SESSION_ID: session } })
      return ((await response.json()) as { turns: unknown[] }).turns
    },
  }
}

describe.each(['Shop', 'ModelShop'] as const)('a form of %s', (name) => {
  test('is sent with mistakes, corrected, reviewed and booked', async () => {
    const { booked, ...made } = bookings()
    const { submit, say, state } = await open(made[name])
    const [status, wrong] = await submit('Booking', { ...complete, day: 'Sunday', name: '', more: 'unknown' })
    expect([status, wrong]).toMatchObject([
      200,
      {
        success: true,
        completed: false,
        message: 'We are closed on Sunday. The name is needed.',
        parts: [
          {
            type: 'form',
            name: 'Booking',
            values: { repair: 'brakes', time: '9:00', phone: '123' },
            errors: { day: 'We are closed on Sunday.', name: 'The name is needed.' },
          },
        ],
      },
    ])
    const [, asked] = await submit('Booking', { day: 'Tuesday', name: 'Ada' })
    expect(asked).toMatchObject({ message: 'brakes on Tuesday at 9:00, for Ada, phone 123. Right?' })
    expect(await state()).toMatchObject({ values: complete, reviewing: true })
    const [, done] = await say('yes')
    expect([done, booked]).toMatchObject([{ completed: true, message: 'Booked, Ada.' }, [complete]])
  })

  test('refuses anything but an object, and an event that is none of the form, and stays untouched', async () => {
    const { submit, document } = await open(bookings()[name])
    const before = await document()
    for (const payload of [undefined, null, 'Tuesday', 7, [complete]]) {
      expect((await submit('Booking', payload))[0]).toBe(400)
    }
    expect((await submit('Form', complete))[0]).toBe(409)
    expect(await document()).toBe(before)
  })
})

test('the turns that a page reads have no secret', async () => {
  const card = field(z.string().regex(/^\d{8}$/, 'Eight digits, please.'), { ask: 'Your card?', secret: true })
  const name = field(z.string(), { ask: 'Your name?' })
  const { submit, say, turns } = await open(flowOfForm({ card, name }))
  await submit('Form', { card: 'canary' })
  await say('47114711')
  const [, { parts }] = await submit('Form', { name: '' })
  expect(parts?.[0]?.values).toEqual({})
  const read = await turns()
  expect(read).toMatchObject([{ message: 'Hello' }, { event: { name: 'Form' } }, { message: '[card]' }, {}])
  expect(JSON.stringify(read)).not.toMatch(/canary|47114711/)
})
