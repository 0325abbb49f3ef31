// GET /flows and POST /end, unknown paths and wrong methods (contract 4.2, 4.3; design 11 and 15).
import { expect } from 'vitest'
import { MemorySessionStore } from '../../../src/index.js'
import { createEngine, type Envelope, failure, runTurn, type Serve, type TestFunction } from './serve.js'

export function endAndFlowsCases(test: TestFunction, serve: Serve): void {
  test('[1-7 4.2-1 4.2-2 4.4-8] the flows are a JSON array of every registered name', async () => {
    const engine = createEngine()
    const send = await serve(engine)
    const reply = await send('/flows')
    expect([reply.status, reply.headers.get('content-type')]).toEqual([200, 'application/json'])
    expect(await reply.json()).toEqual(['Greeting', 'Typed', 'Bytes', 'Context', 'Waiting'])
    expect(engine.getFlowNames()).toEqual(['Greeting', 'Typed', 'Bytes', 'Context', 'Waiting'])
    const none = await serve(createEngine({ flows: [] }))
    expect(await (await none('/flows')).text()).toBe('[]')
  })

  test('HEAD on the flows answers as GET does, without a body', async () => {
    const send = await serve(createEngine())
    const reply = await send('/flows', { method: 'HEAD' })
    expect([reply.status, reply.headers.get('content-type'), await reply.text()]).toEqual([200, 'application/json', ''])
  })

  test('[4.3-1 4.3-2 4.3-3 4.3-4 3-6 3-8] end deletes the session for good', async () => {
    const engine = createEngine()
    const send = await serve(engine)
    const { envelope } = await runTurn(send, { flowName: 'Greeting' })
    const header = { CHAT_SESSION_ID: envelope.session }
    expect(await engine.getSession(envelope.session)).toBeDefined()
    const reply = await send('/end', { method: 'POST', headers: header })
    expect([reply.status, await reply.json()]).toEqual([200, { success: true, session: envelope.session }])
    expect(await engine.getSession(envelope.session)).toBeUndefined()
    const next = await runTurn(send, { flowName: 'Greeting', message: 'Ada' }, header)
    expect(next.envelope.message).toBe('What is your name?')
    expect(next.envelope.session).not.toBe(envelope.session)
  })

  test('[3-7 4.3-6 4.3-7] a missing session, no header and an empty one are successes', async () => {
    const send = await serve(createEngine())
    const end = async (headers: Record<string, string>): Promise<unknown> => {
      const reply = await send('/end', { method: 'POST', headers })
      return [reply.status, await reply.json()]
    }
    expect(await end({ CHAT_SESSION_ID: 'gone' })).toEqual([200, { success: true, session: 'gone' }])
    expect(await end({ 'Chat-Session-Id': 'gone' })).toEqual([200, { success: true, session: 'gone' }])
    expect(await end({})).toEqual([200, { success: true, session: '' }])
    expect(await end({ CHAT_SESSION_ID: '' })).toEqual([200, { success: true, session: '' }])
  })

  test('[4.3-5 7.2-4 7.3-1] a delete that fails is 400 with three fields', async () => {
    const sessionStore = new MemorySessionStore()
    sessionStore.delete = async () => {
      throw new Error('connect ECONNREFUSED 10.0.0.7')
    }
    const send = await serve(createEngine({ sessionStore }))
    const { envelope } = await runTurn(send, { flowName: 'Greeting' })
    const reply = await send('/end', { method: 'POST', headers: { CHAT_SESSION_ID: envelope.session } })
    expect(reply.status).toBe(400)
    const body = (await reply.json()) as Record<string, unknown>
    expect(Object.keys(body).sort()).toEqual(['message', 'session', 'success'])
    expect(body).toMatchObject({ success: false, session: envelope.session })
    expect(String(body.message)).toContain(`Session store failed to delete session '${envelope.session}'.`)
    expect(String(body.message)).not.toContain('10.0.0.7')
  })

  test('end takes an empty body or an empty object, and refuses any other', async () => {
    const send = await serve(createEngine())
    const end = async (body: string, headers: Record<string, string> = {}): Promise<Response> =>
      send('/end', { method: 'POST', headers: { CHAT_SESSION_ID: 'gone', ...headers }, body })
    for (const body of ['', '{}']) expect((await end(body)).status).toBe(200)
    const refused = await end('{"session":"gone"}')
    expect(refused.status).toBe(400)
    expect(await refused.json()).toEqual(
      failure('This route takes no request body. The session ID travels in the CHAT_SESSION_ID header.'),
    )
    expect((await end('x')).status).toBe(400)
    expect((await end('{}', { Origin: 'https://evil.example', 'Content-Type': 'text/plain' })).status).toBe(400)
    expect((await send('/end', { method: 'POST', headers: { Origin: 'https://a.example' } })).status).toBe(200)
  })

  test('end refuses what cannot be a session ID', async () => {
    const send = await serve(createEngine())
    const reply = await send('/end', { method: 'POST', headers: { CHAT_SESSION_ID: 'a,b' } })
    expect([reply.status, reply.headers.get('Chat-Reply')]).toEqual([400, 'envelope'])
    expect(await reply.json()).toEqual(
      failure(
        'The CHAT_SESSION_ID header must be at most 256 visible ASCII characters, without spaces and commas, and be sent once.',
      ),
    )
  })

  test('cancel ends the turn under way, and says whether there was one', async () => {
    const engine = createEngine()
    const send = await serve(engine)
    const cancel = async (headers: Record<string, string>, body?: string): Promise<unknown> => {
      const reply = await send('/cancel', { method: 'POST', headers, ...(body === undefined ? {} : { body }) })
      return [reply.status, reply.headers.get('content-type'), await reply.json()]
    }
    const json = 'application/json'
    expect(await cancel({})).toEqual([200, json, { success: true, session: '', cancelled: false }])
    const nothing = { success: true, session: 'gone', cancelled: false }
    expect(await cancel({ CHAT_SESSION_ID: 'gone' })).toEqual([200, json, nothing])
    expect(await cancel({ 'Chat-Session-Id': 'gone' }, '{}')).toEqual([200, json, nothing])
    expect(await cancel({ CHAT_SESSION_ID: 'a,b' })).toMatchObject([400, json, { success: false, session: '' }])
    const refused = failure('This route takes no request body. The session ID travels in the CHAT_SESSION_ID header.')
    expect(await cancel({ CHAT_SESSION_ID: 'gone' }, '{"session":"gone"}')).toEqual([400, json, refused])
  })

  test('an unknown path is 404 with an envelope', async () => {
    const send = await serve(createEngine())
    for (const path of ['/nothing', '/run/', '/run/x', '/flows/Greeting', '/RUN', '/%72un/x']) {
      const reply = await send(path, { method: 'POST', body: '{"flowName":"Greeting"}' })
      expect([path, reply.status, reply.headers.get('Chat-Reply')]).toEqual([path, 404, 'envelope'])
      const { message, ...envelope } = (await reply.json()) as Envelope
      expect({ message: '', ...envelope }).toEqual(failure(''))
      expect(message).toMatch(
        /^Not found\. The routes are POST run, GET flows, POST end and POST cancel, below the base path\. The path is '/,
      )
      expect(message).toContain(`${path}', and the base path is '/`)
    }
  })

  test('a wrong method is 405 with Allow and an envelope', async () => {
    const send = await serve(createEngine())
    const check = async (path: string, method: string, allow: string, message: string): Promise<void> => {
      const reply = await send(path, { method })
      expect([path, method, reply.status, reply.headers.get('Allow')]).toEqual([path, method, 405, allow])
      expect(await reply.json()).toEqual(failure(message))
    }
    for (const method of ['GET', 'PUT', 'DELETE', 'PATCH', 'OPTIONS']) {
      await check('/run', method, 'POST', 'Method not allowed. Use POST.')
      if (method !== 'GET') await check('/flows', method, 'GET, HEAD', 'Method not allowed. Use GET or HEAD.')
      await check('/end', method, 'POST', 'Method not allowed. Use POST.')
      await check('/cancel', method, 'POST', 'Method not allowed. Use POST.')
    }
    await check('/flows', 'POST', 'GET, HEAD', 'Method not allowed. Use GET or HEAD.')
    const head = await send('/run', { method: 'HEAD' })
    expect([head.status, head.headers.get('Allow')]).toEqual([405, 'POST'])
  })
}
