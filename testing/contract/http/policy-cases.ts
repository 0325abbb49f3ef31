// Who may call and what a failure's status says: CORS, authorization, statuses, and a client that goes away.
import { expect } from 'vitest'
import type { ServedEngine } from '../../../adapters/fetch/index.js'
import type { FlowServices } from '../../../src/index.js'
import { FakeSessionStore } from '../../index.js'
import type { WaitingServices } from './flows.js'
import { createEngine, failure, runRequest, runTurn, type Serve, type TestFunction } from './serve.js'

const page = 'https://shop.example'
const exposed =
  'CHAT_SESSION_ID, Chat-Session-Id, Chat-Reply, Chat-Completed, Chat-Encoding, Chat-Session-State, Chat-Session-Restarted, Chat-Replayed, Chat-Error, Chat-Request-Id'
const corsNames = [
  'Access-Control-Allow-Origin',
  'Access-Control-Allow-Credentials',
  'Access-Control-Expose-Headers',
  'Vary',
]
const corsOf = ({ headers }: Response): (string | null)[] => corsNames.map((name) => headers.get(name))

/** The header X-User names the user; without it the caller has no name. */
function byUser(request: Request): { principal?: string } {
  const user = request.headers.get('x-user')
  return user === null ? {} : { principal: user }
}

export function policyCases(test: TestFunction, serve: Serve): void {
  test('CORS is off unless asked for', async () => {
    const send = await serve(createEngine())
    const reply = await send('/run', runRequest({ flowName: 'Greeting' }, { Origin: page }))
    expect(corsOf(reply)).toEqual([null, null, null, null])
    expect((await send('/run', { method: 'OPTIONS', headers: { Origin: page } })).status).toBe(405)
  })

  test('with CORS a preflight passes and every reply is readable, failures and raw ones included', async () => {
    const send = await serve(createEngine(), { cors: { origin: [page], credentials: true } })
    const preflight = await send('/run', {
      method: 'OPTIONS',
      headers: {
        Origin: page,
        'Access-Control-Request-Method': 'POST',
        'Access-Control-Request-Headers': 'chat_session_id,content-type',
      },
    })
    expect([preflight.status, preflight.headers.get('Access-Control-Allow-Methods')]).toEqual([204, 'POST'])
    expect(preflight.headers.get('Access-Control-Allow-Headers')).toBe(
      'Content-Type, Authorization, CHAT_SESSION_ID, Chat-Session-Id, Idempotency-Key, Last-Event-ID, Chat-Request-Id',
    )
    expect(corsOf(preflight)).toEqual([page, 'true', null, 'Origin'])
    const replies = [
      await send('/run', runRequest({ flowName: 'Greeting' }, { Origin: page })),
      await send('/run', runRequest({ flowName: 'Typed', message: 'text/html <p>' }, { Origin: page })),
      await send('/run', runRequest({ flowName: 'Nothing' }, { Origin: page })),
      await send('/run', runRequest('{', { Origin: page })),
      await send('/flows', { headers: { Origin: page } }),
      await send('/end', { method: 'POST', headers: { Origin: page } }),
      await send('/nothing', { headers: { Origin: page } }),
      await send('/run', { headers: { Origin: page } }),
    ]
    expect(replies.map((reply) => reply.status)).toEqual([200, 200, 400, 400, 200, 200, 404, 405])
    for (const reply of replies) expect(corsOf(reply)).toEqual([page, 'true', exposed, 'Origin'])
    expect(replies.at(-1)?.headers.get('Allow')).toBe('POST, OPTIONS')
  })

  test('another origin gets no CORS header, and an unknown path no preflight', async () => {
    const send = await serve(createEngine(), { cors: { origin: page } })
    for (const reply of [
      await send('/run', runRequest({ flowName: 'Greeting' }, { Origin: 'https://evil.example' })),
      await send('/run', runRequest({ flowName: 'Greeting' })),
      await send('/run', { method: 'OPTIONS', headers: { Origin: 'https://evil.example' } }),
    ]) {
      expect(corsOf(reply)).toEqual([null, null, null, 'Origin'])
    }
    expect((await send('/nothing', { method: 'OPTIONS', headers: { Origin: page } })).status).toBe(404)
  })

  test("[5-2] a session ID is not a credential: with authorize, a session is its owner's alone", async () => {
    const engine = createEngine()
    const send = await serve(engine, { authorize: byUser })
    const as = (user: string | undefined, session = ''): Record<string, string> => ({
      ...(user === undefined ? {} : { 'X-User': user }),
      CHAT_SESSION_ID: session,
    })
    const { envelope } = await runTurn(send, { flowName: 'Greeting' }, as('ada'))
    const id = envelope.session
    for (const user of ['bob', undefined]) {
      const other = await runTurn(send, { flowName: 'Greeting', message: 'x' }, as(user, id))
      expect(other.envelope).toMatchObject({ success: true, message: 'What is your name?' })
      expect(other.envelope.session).not.toBe(id)
      const end = await send('/end', { method: 'POST', headers: as(user, id) })
      expect([end.status, await end.json()]).toEqual([200, { success: true, session: id }])
    }
    expect(await engine.getSession(id)).toBeDefined()
    const owned = await runTurn(send, { flowName: 'Greeting', message: 'Ada' }, as('ada', id))
    expect(owned.envelope).toMatchObject({ message: 'Where do you live?', session: id })
    await send('/end', { method: 'POST', headers: as('ada', id) })
    expect(await engine.getSession(id)).toBeUndefined()
  })

  test('an authorize that forgets the principal lets no caller in: bob cannot read the conversation of alice', async () => {
    const mistakes: ((user: string) => unknown)[] = [
      (user) => ({ sub: user }),
      (user) => ({ user: { id: user } }),
      (user) => ({ iss: 'https://sign-in.example', sub: user, exp: 4_102_444_800 }),
      (user) => ({ userId: user, context: { plan: 'free' } }),
      () => ({ principal: undefined }),
    ]
    for (const answerFor of mistakes) {
      const engine = createEngine()
      const { session } = await engine.run({ flowName: 'Greeting', userMessage: '' })
      await engine.run({ flowName: 'Greeting', userMessage: 'Alice', sessionId: session })
      const before = await engine.getSession(session)
      const reported: unknown[] = []
      const authorize = (request: Request): never => answerFor(request.headers.get('x-user') ?? '') as never
      const send = await serve(engine, { authorize, onError: (error) => reported.push(error) })
      const headers = { 'X-User': 'bob', CHAT_SESSION_ID: session }
      const { reply, envelope } = await runTurn(send, { flowName: 'Greeting', message: 'Rome' }, headers)
      expect([reply.status, envelope]).toEqual([400, failure('The request could not be authorized.')])
      expect((await send('/end', { method: 'POST', headers })).status).toBe(400)
      expect(await engine.getSession(session)).toEqual(before)
      expect(reported).toEqual([expect.any(TypeError), expect.any(TypeError)])
    }
  })

  test('a caller without a name is let in, unless a principal is required', async () => {
    const engine = createEngine()
    for (const authorize of [() => undefined, () => ({ context: { plan: 'free' } })]) {
      const open = await serve(engine, { authorize })
      expect((await runTurn(open, { flowName: 'Greeting' })).reply.status).toBe(200)
      const closed = await serve(engine, { authorize, requirePrincipal: true, onError: () => {} })
      const { reply, envelope } = await runTurn(closed, { flowName: 'Greeting' })
      expect([reply.status, envelope]).toEqual([400, failure('The request could not be authorized.')])
    }
  })

  test('the context of authorize reaches the turn, wins over config and is not stored', async () => {
    const engine = createEngine()
    const send = await serve(engine, { authorize: () => ({ context: { plan: 'pro' } }) })
    const { envelope } = await runTurn(send, { flowName: 'Context', config: { plan: 'free' } })
    expect(JSON.parse(envelope.message)).toEqual({ config: { plan: 'free' }, plan: 'pro' })
    expect((await engine.getSession(envelope.session))?.flow.context).toEqual({ config: { plan: 'free' } })
  })

  test('the Response of authorize is sent and nothing is run, on all three routes', async () => {
    const engine = createEngine()
    let turns = 0
    engine.on('turn:start', () => turns++)
    const send = await serve(engine, {
      authorize: () => new Response('Sign in first.', { status: 401, headers: { 'WWW-Authenticate': 'Bearer' } }),
      cors: { origin: page },
    })
    for (const reply of [
      await send('/run', runRequest({ flowName: 'Greeting' }, { Origin: page })),
      await send('/flows', { headers: { Origin: page } }),
      await send('/end', { method: 'POST', headers: { Origin: page } }),
    ]) {
      expect([reply.status, reply.headers.get('WWW-Authenticate'), await reply.text()]).toEqual([
        401,
        'Bearer',
        'Sign in first.',
      ])
      expect(reply.headers.get('Access-Control-Allow-Origin')).toBe(page)
    }
    expect(turns).toBe(0)
  })

  test('when authorize throws nothing is run, and the client does not learn what it threw', async () => {
    const engine = createEngine()
    let turns = 0
    engine.on('turn:start', () => turns++)
    const reported: unknown[] = []
    const options = {
      authorize: async (): Promise<void> => {
        throw new Error('secret')
      },
      onError: (error: unknown) => reported.push(error),
    }
    const send = await serve(engine, options)
    const { reply, envelope } = await runTurn(send, { flowName: 'Greeting' })
    expect([reply.status, envelope]).toEqual([400, failure('The request could not be authorized.')])
    const precise = await serve(engine, { ...options, statuses: 'precise' })
    expect((await precise('/flows')).status).toBe(500)
    expect([turns, reported]).toEqual([0, [new Error('secret'), new Error('secret')]])
  })

  test('[7.2-1 7.3-4] a conflict is 400 by the contract, and 409 when asked to be precise', async () => {
    const engine = createEngine({ sessionStore: createConflictingStore() })
    for (const [options, status] of [
      [{}, 400],
      [{ statuses: 'precise' }, 409],
    ] as const) {
      const send = await serve(engine, options)
      const first = await runTurn(send, { flowName: 'Greeting' })
      const header = { CHAT_SESSION_ID: first.envelope.session }
      const message = `Session '${first.envelope.session}' was changed or deleted by another request.`
      const { reply, envelope } = await runTurn(send, { flowName: 'Greeting', message: 'Ada' }, header)
      expect([reply.status, envelope]).toEqual([status, failure(message, first.envelope.session)])
    }
  })

  test('precise statuses of refusals and of failures', async () => {
    const engine = createEngine({ unknownSession: 'reject', limits: { maxMessageBytes: 10 } })
    const send = await serve(engine, { statuses: 'precise', maxBodyBytes: 200 })
    const status = async (init: RequestInit, path = '/run'): Promise<number> => (await send(path, init)).status
    expect(await status(runRequest({ flowName: 'Greeting' }))).toBe(200)
    expect(await status(runRequest('{'))).toBe(400)
    expect(await status(runRequest({ flowName: 'Greeting' }, { CHAT_SESSION_ID: 'a b' }))).toBe(400)
    expect(await status(runRequest({ flowName: 'Nothing' }))).toBe(404)
    expect(await status(runRequest({ flowName: 'Greeting' }, { CHAT_SESSION_ID: 'unknown' }))).toBe(404)
    expect(await status(runRequest({ flowName: 'Greeting', message: 'x'.repeat(300) }))).toBe(413)
    expect(await status(runRequest({ flowName: 'Greeting' }, { Origin: page, 'Content-Type': 'text/plain' }))).toBe(415)
    expect(await status(runRequest({ flowName: 'Greeting', message: 'x'.repeat(11) }))).toBe(422)
    expect(await status(runRequest({ flowName: 'Typed', message: 'fail' }))).toBe(500)
    expect(await status({ method: 'POST' }, '/nothing')).toBe(404)
    expect(await status({ method: 'GET' })).toBe(405)
    await engine.close()
    expect(await status(runRequest({ flowName: 'Greeting' }))).toBe(503)
    expect(await status({ method: 'POST', headers: { CHAT_SESSION_ID: 'x' } }, '/end')).toBe(503)
  })

  test('a full queue is 400 by the contract, and 429 when asked to be precise', async () => {
    const waiting: AbortSignal[] = []
    const services: WaitingServices = { onWaiting: (signal) => waiting.push(signal) }
    const engine = createEngine({ services: services as FlowServices, limits: { maxQueuedTurnsPerSession: 1 } })
    const send = await serve(engine, { statuses: 'precise' })
    const lock = gate()
    const { session } = await engine.run({ flowName: 'Greeting', userMessage: '' })
    const holding = engine.getFlowSession().withSessionLock(session, () => lock.opened)
    const queued = engine.run({ flowName: 'Greeting', userMessage: 'Ada', sessionId: session })
    const { reply, envelope } = await runTurn(
      send,
      { flowName: 'Greeting', message: 'Bob' },
      { CHAT_SESSION_ID: session },
    )
    expect([reply.status, envelope.message]).toEqual([429, expect.stringContaining('maxQueuedTurnsPerSession')])
    expect([reply.headers.get('Chat-Session-State'), reply.headers.get('Chat-Error')]).toEqual([
      'running',
      'LIMIT_EXCEEDED',
    ])
    lock.open()
    await holding
    expect((await queued).message).toBe('Where do you live?')
  })

  test('a client that goes away cancels its turn, and the session stays as it was', async () => {
    const started = gate<AbortSignal>()
    const services: WaitingServices = { onWaiting: (signal) => started.open(signal) }
    const engine = createEngine({ services: services as FlowServices })
    const cancelled = new Promise<string>((resolve) => engine.on('turn:error', ({ code }) => resolve(code)))
    const send = await serve(engine)
    const client = new AbortController()
    const reply = send('/run', { ...runRequest({ flowName: 'Waiting' }), signal: client.signal }).catch(() => undefined)
    const signal = await started.opened
    client.abort()
    expect(await cancelled).toBe('TURN_ABORTED')
    expect(signal.aborted).toBe(true)
    await reply
  })

  test('an engine wrapper can combine the signal of a request with another one', async () => {
    const started = gate<AbortSignal>()
    const services: WaitingServices = { onWaiting: (signal) => started.open(signal) }
    const engine = createEngine({ services: services as FlowServices })
    const cancelled = new Promise<string>((resolve) => engine.on('turn:error', ({ code }) => resolve(code)))
    const combining: ServedEngine = {
      limits: engine.limits,
      getFlowNames: () => engine.getFlowNames(),
      executeDelete: (id, options) => engine.executeDelete(id, options),
      execute({ signal, ...input }) {
        const signals = [new AbortController().signal, ...(signal === undefined ? [] : [signal])]
        return engine.execute({ ...input, signal: AbortSignal.any(signals) })
      },
    }
    const send = await serve(combining)
    const client = new AbortController()
    const reply = send('/run', { ...runRequest({ flowName: 'Waiting' }), signal: client.signal }).catch(() => undefined)
    const signal = await started.opened
    client.abort()
    expect(await cancelled).toBe('TURN_ABORTED')
    expect(signal.aborted).toBe(true)
    await reply
  })
}

/** A promise, and the function that resolves it. */
function gate<Value = void>(): { readonly opened: Promise<Value>; readonly open: (value: Value) => void } {
  let open: (value: Value) => void = () => {}
  const opened = new Promise<Value>((resolve) => {
    open = resolve
  })
  return { opened, open }
}

/** A store in which another writer always wins the race for an existing session. */
function createConflictingStore(): FakeSessionStore {
  const store = new FakeSessionStore()
  store.rivalWrites({ times: Number.POSITIVE_INFINITY })
  return store
}
