// Chat-Session-State, Chat-Session-Restarted and Chat-Error: whether a client's session goes on, each
// state over the real engine.
import { expect } from 'vitest'
import type { FlowEngineOptions } from '../../../src/index.js'
import { FakeSessionStore } from '../../index.js'
import { streamTurn } from './chatting.js'
import { createEngine, type Envelope, runRequest, type Send, type Serve, type TestFunction } from './serve.js'

const names = ['Chat-Session-State', 'Chat-Error'] as const

/** The state and the code of a reply; the state of a stream is in its last event. */
const outcomeOf = ({ headers }: Response): (string | null)[] => names.map((name) => headers.get(name))

/** The service, a session in it that waits for a name, and how to talk in it. */
async function openSession(serve: Serve, options: FlowEngineOptions = {}) {
  const store = new FakeSessionStore()
  const engine = createEngine({ sessionStore: store, ...options })
  const send = await serve(engine)
  const { session } = await engine.run({ flowName: 'Greeting', userMessage: '' })
  const run = (message: string, flowName = 'Greeting'): Promise<Response> =>
    send('/run', runRequest({ flowName, message }, { CHAT_SESSION_ID: session }))
  return { store, engine, send, session, run }
}

const typed = (send: Send, message: string, headers: Record<string, string> = {}): Promise<Response> =>
  send('/run', runRequest({ flowName: 'Typed', message }, headers))

/** The session of a reply that is an envelope. */
const sessionOf = async (reply: Response): Promise<string> => ((await reply.json()) as Envelope).session

export function stateCases(test: TestFunction, serve: Serve): void {
  test('the state is running after a turn, completed after the last one, raw replies included', async () => {
    const send = await serve(createEngine())
    expect(outcomeOf(await typed(send, 'text/plain a'))).toEqual(['running', null])
    expect(outcomeOf(await typed(send, 'text/csv a,b'))).toEqual(['running', null])
    const last = await typed(send, 'end a,b')
    expect([last.headers.get('Chat-Reply'), ...outcomeOf(last)]).toEqual(['raw', 'completed', null])
  })

  test('the state is aborted after a failure of the flow, and running if the engine rolls back: the ID goes on', async () => {
    const send = await serve(createEngine())
    expect(outcomeOf(await typed(send, 'fail'))).toEqual(['aborted', 'FLOW_ERROR'])
    const kept = await serve(createEngine({ onTurnError: 'rollback' }))
    const failed = await typed(kept, 'fail')
    expect(outcomeOf(failed)).toEqual(['running', 'FLOW_ERROR'])
    const session = await sessionOf(failed)
    const next = await typed(kept, 'text/plain a', { CHAT_SESSION_ID: session })
    expect([await sessionOf(next), ...outcomeOf(next)]).toEqual([session, 'running', null])
  })

  test('a conflict, another flow and a message that is too long leave the state running: the ID goes on', async () => {
    const { store, run, session } = await openSession(serve, { limits: { maxMessageBytes: 20 } })
    store.rivalWrites()
    expect(outcomeOf(await run('Ada'))).toEqual(['running', 'SESSION_CONFLICT'])
    expect(outcomeOf(await run('', 'Context'))).toEqual(['running', 'SESSION_FLOW_MISMATCH'])
    expect(outcomeOf(await run('x'.repeat(21)))).toEqual(['running', 'LIMIT_EXCEEDED'])
    expect(await (await run('Ada')).json()).toMatchObject({ message: 'Where do you live?', session })
  })

  test('a store that is down leaves the state unknown: the ID goes on when the store is back', async () => {
    const { store, run, session } = await openSession(serve)
    store.outage()
    expect(outcomeOf(await run('Ada'))).toEqual(['unknown', 'SESSION_STORE_ERROR'])
    store.heal()
    expect(await (await run('Ada')).json()).toMatchObject({ message: 'Where do you live?', session })
  })

  test('a closed engine leaves the state unknown, and sends none without an ID', async () => {
    const { engine, run, send } = await openSession(serve)
    await engine.close()
    expect(outcomeOf(await run('Ada'))).toEqual(['unknown', 'ENGINE_CLOSED'])
    expect(outcomeOf(await typed(send, 'text/plain a'))).toEqual(['none', 'ENGINE_CLOSED'])
  })

  test('the state is none if nothing is stored: a refused first message, an ID that is gone', async () => {
    const { engine, send, session, run } = await openSession(serve, {
      unknownSession: 'reject',
      limits: { maxMessageBytes: 20 },
    })
    expect(outcomeOf(await typed(send, 'x'.repeat(21)))).toEqual(['none', 'LIMIT_EXCEEDED'])
    await engine.deleteSession(session)
    expect(outcomeOf(await run('Ada'))).toEqual(['none', 'SESSION_NOT_FOUND'])
    expect(outcomeOf(await run('x'.repeat(21)))).toEqual(['none', 'LIMIT_EXCEEDED'])
  })

  test('a new session says why it answers: the named session is unknown, has ended, or belongs to another owner', async () => {
    const send = await serve(createEngine(), {
      authorize: (request) => ({ principal: request.headers.get('x-user') ?? 'ada' }),
    })
    const named = async (session: string, user = 'ada'): Promise<(string | null)[]> => {
      const headers = { CHAT_SESSION_ID: session, 'X-User': user }
      const reply = await typed(send, 'text/plain a', headers)
      const { reply: streamed, events } = await streamTurn(
        send,
        { flowName: 'Typed', message: 'text/plain a' },
        headers,
      )
      await events.until('result')
      return [reply, streamed].map((one) => one.headers.get('Chat-Session-Restarted'))
    }
    expect(await named('')).toEqual([null, null])
    expect(await named('never-made')).toEqual(['unknown', 'unknown'])
    const completed = (await typed(send, 'end a')).headers.get('CHAT_SESSION_ID') ?? ''
    expect(await named(completed)).toEqual(['completed', 'completed'])
    expect(await named(await sessionOf(await typed(send, 'fail')))).toEqual(['aborted', 'aborted'])
    const running = await sessionOf(await typed(send, 'text/plain a'))
    expect(await named(running, 'bob')).toEqual(['unknown', 'unknown'])
    expect(await named(running)).toEqual([null, null])
  })

  test("another owner's session is none, whatever fails", async () => {
    const engine = createEngine({ limits: { maxMessageBytes: 20 } })
    const send = await serve(engine, { authorize: (request) => ({ principal: request.headers.get('x-user') ?? 'x' }) })
    const ada = { 'X-User': 'ada' }
    const header = { CHAT_SESSION_ID: await sessionOf(await typed(send, 'text/plain a', ada)) }
    const long = 'x'.repeat(21)
    expect(outcomeOf(await typed(send, long, { 'X-User': 'bob', ...header }))).toEqual(['none', 'LIMIT_EXCEEDED'])
    expect(outcomeOf(await typed(send, long, { ...ada, ...header }))).toEqual(['running', 'LIMIT_EXCEEDED'])
  })

  test("the adapter's refusals have a code too, and never report that a session has ended", async () => {
    const { send, session } = await openSession(serve)
    const header = { CHAT_SESSION_ID: session }
    expect(outcomeOf(await send('/run', runRequest('{', header)))).toEqual(['unknown', 'INVALID_INPUT'])
    expect(outcomeOf(await send('/run', runRequest('{')))).toEqual(['none', 'INVALID_INPUT'])
    expect(outcomeOf(await typed(send, 'a', { CHAT_SESSION_ID: 'a,b' }))).toEqual(['none', 'INVALID_INPUT'])
    expect(outcomeOf(await send('/run', { headers: header }))).toEqual(['unknown', 'METHOD_NOT_ALLOWED'])
    expect(outcomeOf(await send('/nothing', { headers: header }))).toEqual([null, 'ROUTE_NOT_FOUND'])
  })

  test('a stream has the state and the code in its last event, or in headers if it never began', async () => {
    const { store, session, send, engine } = await openSession(serve, { onTurnError: 'rollback' })
    const header = { CHAT_SESSION_ID: session }
    const failed = await streamTurn(send, { flowName: 'Typed', message: 'fail' })
    expect(outcomeOf(failed.reply)).toEqual([null, null])
    expect(await failed.events.dataOf('error')).toMatchObject({ sessionState: 'running', code: 'FLOW_ERROR' })
    store.rivalWrites()
    const lost = await streamTurn(send, { flowName: 'Greeting', message: 'Ada' }, header)
    expect(await lost.events.dataOf('error')).toMatchObject({
      session,
      sessionState: 'running',
      code: 'SESSION_CONFLICT',
    })
    const next = await streamTurn(send, { flowName: 'Greeting', message: 'Ada' }, header)
    expect(await next.events.dataOf('result')).toMatchObject({ session, sessionState: 'running' })
    await engine.close()
    const closed = await send('/run', runRequest({ flowName: 'Greeting' }, { Accept: 'text/event-stream', ...header }))
    expect(outcomeOf(closed)).toEqual(['unknown', 'ENGINE_CLOSED'])
  })

  test('a failed delete has the code of its failure, a successful one has none', async () => {
    const { store, session, send } = await openSession(serve)
    const end = (): Promise<Response> => send('/end', { method: 'POST', headers: { CHAT_SESSION_ID: session } })
    store.outage()
    expect(outcomeOf(await end())).toEqual([null, 'SESSION_STORE_ERROR'])
    store.heal()
    expect(outcomeOf(await end())).toEqual([null, null])
  })
}
