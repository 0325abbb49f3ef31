// Outside events over HTTP: the user's own in POST /run, all of them in GET /session, and what is newer than a page has.
import { expect } from 'vitest'
import type { ServedEngine } from '../../../adapters/fetch/index.js'
import { MemorySessionStore } from '../../../src/index.js'
import { Approval } from './approval.js'
import { createEngine, failure, runTurn, type Send, type Serve, type TestFunction } from './serve.js'

const byUser = (request: Request) => ({ principal: request.headers.get('Authorization') ?? 'ada' })

async function setUp(serve: Serve, sessionStore = new MemorySessionStore()) {
  const engine = createEngine({ flows: [Approval], sessionStore })
  const send = await serve(engine, { session: true, authorize: byUser, statuses: 'precise' })
  const { session } = (await runTurn(send, { flowName: 'Approval', message: 'a refund' })).envelope
  const run = (body: object, headers: Record<string, string> = { CHAT_SESSION_ID: session }) =>
    runTurn(send, { flowName: 'Approval', ...body }, headers)
  const event = (name: string, payload?: string) =>
    engine.sendEvent({ sessionId: session, event: name, by: 'Ada Meier', byId: 'emp-17', ...(payload && { payload }) })
  return { engine, send, session, run, event }
}

async function read(send: Send, session: string, query = '', headers = {}): Promise<readonly [number, unknown]> {
  const reply = await send(`/session${query}`, { headers: { CHAT_SESSION_ID: session, ...headers } })
  return [reply.status, await reply.json()]
}

const unnumbered = { at: expect.any(String), contentType: 'text/plain', message: '' }

export function eventCases(test: TestFunction, serve: Serve): void {
  test("the user's own event is a turn; a message beside it, no session, and other events are refused", async () => {
    const { run } = await setUp(serve)
    const choose = { event: { name: 'choose', payload: { day: 'Tuesday' } } }
    const { reply, envelope } = await run({ ...choose, message: '' })
    expect([reply.status, envelope.message]).toEqual([200, 'Tuesday'])
    const silent = await run({ event: { name: 'seen' } })
    expect([silent.reply.status, silent.envelope]).toMatchObject([
      200,
      { success: true, completed: false, message: '' },
    ])
    const refused = async (body: object, headers?: Record<string, string>) => {
      const { reply, envelope } = await run(body, headers)
      return [reply.status, reply.headers.get('Chat-Error'), envelope.success]
    }
    expect(await refused({ ...choose, message: 'Tuesday' })).toEqual([400, 'INVALID_INPUT', false])
    expect(await refused(choose, {})).toEqual([400, 'INVALID_INPUT', false])
    expect(await refused({ event: { name: 'choose', payload: { day: 1 } } })).toEqual([400, 'INVALID_INPUT', false])
    expect(await refused({ event: { name: 'decision', payload: { approved: true } } })).toEqual([
      ...[409, 'EVENT_NOT_TAKEN', false],
    ])
    expect(await refused(choose, { CHAT_SESSION_ID: 'gone' })).toEqual([409, 'EVENT_NOT_TAKEN', false])
    const odd = await run({ event: 'choose' })
    expect(odd.envelope).toEqual(failure("The field 'event' must be an object."))
  })

  test('the stored turns have their events, without IDs of senders, and silent ones have no reply', async () => {
    const { send, session, run, event } = await setUp(serve)
    await event('note', 'called twice')
    await run({ event: { name: 'choose', payload: { day: 'Tuesday' } } })
    const [, body] = await read(send, session)
    expect((body as { turns: unknown[] }).turns.slice(1)).toEqual([
      { ...unnumbered, turn: 2, reply: '', event: { name: 'note', by: 'Ada Meier', payload: 'called twice' } },
      { ...unnumbered, turn: 3, reply: 'Tuesday', event: { name: 'choose', payload: { day: 'Tuesday' } } },
    ])
    expect(JSON.stringify(body)).not.toContain('emp-17')
  })

  test('a page gets what is newer than its last turn, and nothing newer is found without the conversation', async () => {
    const store = new MemorySessionStore()
    const { send, session, event } = await setUp(serve, store)
    const known = { success: true, session, sessionState: 'running' }
    const load = store.load.bind(store)
    store.load = async () => {
      throw new Error('The conversation was read.')
    }
    expect(await read(send, session, '?after=1')).toEqual([200, { ...known, turns: [], complete: true }])
    expect(await read(send, session, '?after=2')).toEqual([200, { ...known, turns: [], complete: false }])
    store.load = load
    await event('note')
    await event('note')
    const [, newer] = await read(send, session, '?after=1')
    expect(newer).toMatchObject({ ...known, turns: [{ turn: 2 }, { turn: 3 }], complete: true })
    expect((await read(send, session, '?after=2'))[1]).toMatchObject({ turns: [{ turn: 3 }], complete: true })
    expect((await read(send, session, '?after=0'))[1]).toMatchObject({ turns: [{}, {}, {}], complete: true })
    expect((await read(send, session))[1]).not.toHaveProperty('complete')
  })

  test('a page learns that turns between are missing, of a store without summaries, too', async () => {
    const engine = createEngine({ flows: [Approval], limits: { maxHistoryTurns: 1 } })
    const narrow: ServedEngine = {
      execute: (input) => engine.execute(input),
      executeDelete: (sessionId, options) => engine.executeDelete(sessionId, options),
      getFlowNames: () => engine.getFlowNames(),
      getSession: (sessionId, options) => engine.getSession(sessionId, options),
      limits: engine.limits,
    }
    for (const served of [engine, narrow]) {
      const send = await serve(served, { session: true })
      const { session } = (await runTurn(send, { flowName: 'Approval' })).envelope
      for (const event of ['note', 'note']) await engine.sendEvent({ sessionId: session, event })
      const completeAfter = async (turn: number) =>
        ((await read(send, session, `?after=${turn}`))[1] as { complete: boolean }).complete
      expect(await Promise.all([0, 1, 2, 3, 4].map(completeAfter))).toEqual([false, false, true, true, false])
    }
  })

  test('an unknown session, and that of another owner, look the same whatever a page has', async () => {
    const { send, session } = await setUp(serve)
    const none = (id: string) => [200, { success: true, session: id, sessionState: 'none', turns: [] }]
    for (const query of ['', '?after=0', '?after=1', '?after=7']) {
      expect(await read(send, session, query, { Authorization: 'bob' })).toEqual(none(session))
      expect(await read(send, 'gone', query)).toEqual(none('gone'))
    }
    const strict = await serve(createEngine({ flows: [Approval] }), { session: true, authorizeFlow: () => false })
    expect(await read(strict, 'gone', '?after=1')).toEqual(none('gone'))
  })

  test('a flow that the caller may not run hides its news', async () => {
    const engine = createEngine({ flows: [Approval] })
    const open = await serve(engine, { session: true })
    const { session } = (await runTurn(open, { flowName: 'Approval' })).envelope
    const strict = await serve(engine, { session: true, authorizeFlow: () => false })
    expect((await read(strict, session, '?after=1'))[1]).toMatchObject({ sessionState: 'none' })
  })

  test('a number of a turn that is none is refused', async () => {
    const { send, session } = await setUp(serve)
    for (const query of ['?after=', '?after=-1', '?after=1.5', '?after=x', '?after=1&after=2', '?after=1e3']) {
      const [status, body] = await read(send, session, query)
      expect([query, status, body]).toEqual([
        query,
        400,
        failure('The parameter after must be the number of a turn, sent once.'),
      ])
    }
  })
}
