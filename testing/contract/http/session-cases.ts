// GET /session: off by default, the turns of the caller's own session, and nothing of another's.
import { expect } from 'vitest'
import { MemorySessionStore } from '../../../src/index.js'
import { createEngine, failure, runTurn, type Send, type Serve, type TestFunction } from './serve.js'

async function read(send: Send, session: string, headers: Record<string, string> = {}): Promise<readonly unknown[]> {
  const reply = await send('/session', {
    headers: { ...(session === '' ? {} : { CHAT_SESSION_ID: session }), ...headers },
  })
  expect(reply.headers.get('Cache-Control')).toBe('no-store')
  return [reply.status, reply.headers.get('Chat-Session-State'), await reply.json()]
}

const none = (session: string) => [200, 'none', { success: true, session, sessionState: 'none', turns: [] }]
const byUser = (request: Request) => {
  const principal = request.headers.get('Authorization')
  return principal === null ? {} : { principal }
}

export function sessionCases(test: TestFunction, serve: Serve): void {
  test('without the option session there is no such route', async () => {
    const send = await serve(createEngine())
    const reply = await send('/session')
    const routes = 'Not found. The routes are POST run, GET flows, POST end and POST cancel, below the base path.'
    expect([reply.status, await reply.json()]).toEqual([
      404,
      { ...failure(routes), message: expect.stringContaining(routes) },
    ])
  })

  test('a page that is loaded again gets the turns of its session, with their content types', async () => {
    const send = await serve(createEngine(), { session: true })
    const first = await runTurn(send, { flowName: 'Greeting', message: 'Ada' })
    const { session } = first.envelope
    const [status, state, body] = await read(send, session)
    expect([status, state]).toEqual([200, 'running'])
    const turn = { turn: 1, message: 'Ada', reply: first.envelope.message, contentType: 'text/plain' }
    expect(body).toEqual({
      success: true,
      session,
      sessionState: 'running',
      turns: [{ ...turn, at: expect.any(String) }],
    })
  })

  test('a page that is loaded again gets the files of its user, with the bytes that are kept', async () => {
    const engine = createEngine({ limits: { attachmentTurns: 1 } })
    const send = await serve(engine, { session: true })
    const photo = { type: 'image', mediaType: 'image/png', data: 'iVBORw0KGgo=' }
    const manual = { type: 'file', mediaType: 'application/pdf', data: 'QQ==', name: 'a.pdf' }
    const say = (attachments: readonly object[], headers = {}) =>
      runTurn(send, { flowName: 'Greeting', message: 'Ada', attachments }, headers)
    const { session } = (await say([photo])).envelope
    await say([manual], { CHAT_SESSION_ID: session })
    const [, , body] = await read(send, session)
    expect((body as { turns: { attachments: unknown }[] }).turns.map(({ attachments }) => attachments)).toEqual([
      [{ type: 'image', mediaType: 'image/png', size: 8 }],
      [{ ...manual, size: 1 }],
    ])
  })

  test('without a session, for an unknown one and for a deleted one there are none', async () => {
    const send = await serve(createEngine(), { session: true })
    expect(await read(send, '')).toEqual(none(''))
    expect(await read(send, 'unknown')).toEqual(none('unknown'))
    const { envelope } = await runTurn(send, { flowName: 'Greeting' })
    await send('/end', { method: 'POST', headers: { CHAT_SESSION_ID: envelope.session } })
    expect(await read(send, envelope.session)).toEqual(none(envelope.session))
  })

  test("another owner's session is the same as an unknown one, and so is one of a flow that the caller may not run", async () => {
    const send = await serve(createEngine(), {
      session: true,
      authorize: byUser,
      authorizeFlow: (principal, flowName) => flowName === 'Greeting' && principal !== 'barred',
    })
    const { envelope } = await runTurn(send, { flowName: 'Greeting' }, { Authorization: 'ada' })
    const { session } = envelope
    expect((await read(send, session, { Authorization: 'ada' }))[1]).toBe('running')
    expect(await read(send, session, { Authorization: 'bob' })).toEqual(none(session))
    expect(await read(send, session)).toEqual(none(session))
    const engine = createEngine()
    const both = await serve(engine, { session: true, authorize: byUser })
    const barred = (await runTurn(both, { flowName: 'Greeting' }, { Authorization: 'barred' })).envelope.session
    const strict = await serve(engine, { session: true, authorize: byUser, authorizeFlow: () => false })
    expect(await read(strict, barred, { Authorization: 'barred' })).toEqual(none(barred))
  })

  test('a caller who is refused reads nothing', async () => {
    const send = await serve(createEngine(), { session: true, authorize: () => new Response(null, { status: 401 }) })
    expect((await send('/session')).status).toBe(401)
  })

  test('a failing store is a failure with its code, and reveals nothing else', async () => {
    const sessionStore = new MemorySessionStore()
    sessionStore.load = async () => {
      throw new Error('connect ECONNREFUSED 10.0.0.7')
    }
    const send = await serve(createEngine({ sessionStore }), { session: true, statuses: 'precise' })
    const reply = await send('/session', { headers: { CHAT_SESSION_ID: 's1' } })
    const message = 'The session could not be read.'
    expect([reply.status, await reply.json()]).toEqual([500, { success: false, session: 's1', message }])
    expect([reply.headers.get('Chat-Error'), reply.headers.get('Chat-Session-State')]).toEqual([
      'SESSION_STORE_ERROR',
      'unknown',
    ])
  })

  test('HEAD has no body, and another method is refused', async () => {
    const send = await serve(createEngine(), { session: true })
    const head = await send('/session', { method: 'HEAD' })
    expect([head.status, head.headers.get('Chat-Session-State'), await head.text()]).toEqual([200, 'none', ''])
    const wrong = await send('/session', { method: 'POST' })
    expect([wrong.status, wrong.headers.get('Allow')]).toEqual([405, 'GET, HEAD'])
  })
}
