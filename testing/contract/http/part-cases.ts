// What a reply carries beside its text, and what the user chose of it: over every way of serving.
import { expect } from 'vitest'
import type { FlowEngineOptions } from '../../../src/index.js'
import { streamTurn } from './chatting.js'
import { Ordering, sentBy } from './rich-replies.js'
import { createEngine, failure, runRequest, runTurn, type Serve, type TestFunction } from './serve.js'

const key = { 'Idempotency-Key': 'order-4711-message-1' }

async function setUp(serve: Serve, options: FlowEngineOptions = {}) {
  const engine = createEngine({ flows: [Ordering], ...options })
  const send = await serve(engine, { session: true })
  const run = (body: object, session = '') =>
    runTurn(send, { flowName: 'Ordering', ...body }, session === '' ? {} : { CHAT_SESSION_ID: session })
  const start = async (): Promise<string> => (await run({})).envelope.session
  const read = async (session: string, query = ''): Promise<{ parts?: unknown }[]> => {
    const reply = await send(`/session${query}`, { headers: { CHAT_SESSION_ID: session } })
    return ((await reply.json()) as { turns: { parts?: unknown }[] }).turns
  }
  /** The text of the reply to a button of a turn. */
  const press = async (session: string, message: string, choice: object): Promise<string> =>
    (await run({ message, choice }, session)).envelope.message
  return { send, run, start, read, press }
}

export function partCases(test: TestFunction, serve: Serve): void {
  test('the parts are in the envelope that was asked for, the stream and the session, not in the plain envelope', async () => {
    const { send, run, read } = await setUp(serve)
    const body = { flowName: 'Ordering' }
    const asked = async () =>
      (await send('/run?envelope=1', runRequest(body, key))).json() as Promise<{ session: string }>
    const envelope = await asked()
    const five = { success: true, completed: false, message: 'Which size?', contentType: 'text/plain' }
    expect(envelope).toEqual({ ...five, session: envelope.session, parts: sentBy(1) })
    expect(await asked()).toEqual(envelope)
    const CHAT_SESSION_ID = envelope.session
    const streamed = await streamTurn(send, { ...body, message: 'again' }, { CHAT_SESSION_ID })
    expect(await streamed.events.dataOf('result')).toMatchObject({ message: 'Which size?', parts: sentBy(2) })
    expect((await run({ message: 'again' }, CHAT_SESSION_ID)).envelope).toEqual({ ...five, session: CHAT_SESSION_ID })
    expect((await read(CHAT_SESSION_ID)).map(({ parts }) => parts)).toEqual([sentBy(1), sentBy(2), sentBy(3)])
    expect((await read(CHAT_SESSION_ID, '?after=2')).map(({ parts }) => parts)).toEqual([sentBy(3)])
    const last = await send('/run?envelope=1', runRequest({ ...body, message: '2' }, { CHAT_SESSION_ID }))
    expect(await last.json()).toEqual({ ...five, completed: true, message: 'You get l.', session: CHAT_SESSION_ID })
    expect((await read(CHAT_SESSION_ID)).at(-1)).not.toHaveProperty('parts')
  })

  test('a button of the open list is a choice, one of an older reply is text, another form is refused', async () => {
    const { start, run, press } = await setUp(serve)
    const session = await start()
    const refused = async (choice: unknown) => (await run({ message: 'Large', choice }, session)).envelope
    expect(await refused('l')).toEqual(failure("The field 'choice' must be an object."))
    for (const choice of [{}, { turn: '1', name: 'size', value: 'l' }, { turn: 1, name: 'size', value: 7 }]) {
      expect(await refused(choice)).toMatchObject({
        success: false,
        message: expect.stringContaining('choice must be'),
      })
    }
    expect(await press(session, 'again', { turn: 1, name: 'color', value: 'l' })).toBe('Which size?')
    expect(await press(session, 'Large', { turn: 1, name: 'size', value: 'l' })).toBe('There is no Large.')
    expect(await press(session, 'Big, please', { turn: 3, name: 'size', value: 'l' })).toBe('You get l.')
  })

  test('a client that knows no parts finishes by label, by number and by value', async () => {
    const { start, run } = await setUp(serve)
    for (const message of ['LARGE', ' 2 ', 'l']) {
      const { envelope } = await run({ message }, await start())
      expect([envelope.completed, envelope.message]).toEqual([true, 'You get l.'])
    }
  })

  test('a form sends the event that it names', async () => {
    const { start, run } = await setUp(serve)
    const { envelope } = await run({ event: { name: 'address', payload: { town: 'Kiel' } } }, await start())
    expect(envelope.message).toBe('To Kiel.')
  })

  test('a mask sees the stored parts, and leaves what is sent and what can be chosen', async () => {
    const mask = (text: string): string => text.replace(/Large|4711|Bonn|52/g, '***')
    const { send, read, press } = await setUp(serve, { mask })
    const reply = await send('/run?envelope=1', runRequest({ flowName: 'Ordering' }))
    const { session, parts } = (await reply.json()) as { session: string; parts: unknown }
    expect(parts).toEqual(sentBy(1))
    const stored = JSON.stringify((await read(session))[0]?.parts)
    expect(stored).not.toMatch(/Large|4711|Bonn/)
    expect(stored).toContain('"label":"***"')
    expect(await press(session, 'Large', { turn: 1, name: 'size', value: 'l' })).toBe('You get l.')
  })
}
