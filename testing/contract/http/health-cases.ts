// GET /health: off by default, live and ready, and nothing else in the reply.
import { expect } from 'vitest'
import { MemorySessionStore } from '../../../src/index.js'
import { createEngine, failure, runTurn, type Send, type Serve, type TestFunction } from './serve.js'

const livePath = '/health?check=live'

async function probe(send: Send, path = '/health'): Promise<readonly [number, unknown]> {
  const reply = await send(path)
  expect([reply.headers.get('content-type'), reply.headers.get('Cache-Control')]).toEqual([
    'application/json',
    'no-store',
  ])
  expect(reply.headers.get('Retry-After')).toBe(reply.status === 503 ? '1' : null)
  return [reply.status, await reply.json()]
}

export function healthCases(test: TestFunction, serve: Serve): void {
  test('without the option health there is no such route', async () => {
    for (const options of [{}, { health: false }]) {
      const send = await serve(createEngine(), options)
      for (const path of ['/health', livePath]) {
        const reply = await send(path)
        const message = 'Not found. The routes are POST run, GET flows, POST end and POST cancel, below the base path.'
        expect([reply.status, await reply.json()]).toMatchObject([404, { message: expect.stringContaining(message) }])
      }
    }
  })

  test('with health an engine is live and ready, and a 404 names the route', async () => {
    const send = await serve(createEngine(), { health: true })
    expect(await probe(send)).toEqual([200, { live: true, ready: true }])
    expect(await probe(send, '/health?check=ready')).toEqual([200, { live: true, ready: true }])
    expect(await probe(send, livePath)).toEqual([200, { live: true }])
    const unknown = await send('/healthz')
    const message =
      'Not found. The routes are POST run, GET flows, POST end, POST cancel and GET health, below the base path.'
    expect([unknown.status, await unknown.json()]).toMatchObject([404, { message: expect.stringContaining(message) }])
  })

  test('while the store fails it is live and not ready, and does not reveal the failure', async () => {
    const sessionStore = new MemorySessionStore()
    sessionStore.load = async () => {
      throw new Error('connect ECONNREFUSED 10.0.0.7')
    }
    const send = await serve(createEngine({ sessionStore }), { health: true })
    expect(await probe(send)).toEqual([503, { live: true, ready: false }])
    expect(await probe(send, livePath)).toEqual([200, { live: true }])
  })

  test('once the engine closes it is live and not ready, while a turn under way is answered', async () => {
    const engine = createEngine()
    const send = await serve(engine, { health: true })
    expect((await probe(send))[0]).toBe(200)
    const { envelope } = await runTurn(send, { flowName: 'Greeting' })
    let finish = (): void => undefined
    let hasBegun = (): void => undefined
    const begun = new Promise<void>((resolve) => {
      hasBegun = resolve
    })
    const work = engine.getFlowSession().withSessionLock(envelope.session, () => {
      hasBegun()
      return new Promise<void>((resolve) => {
        finish = resolve
      })
    })
    await begun
    const closing = engine.close()
    expect(await probe(send)).toEqual([503, { live: true, ready: false }])
    expect(await probe(send, livePath)).toEqual([200, { live: true }])
    finish()
    await Promise.all([work, closing])
    expect(await probe(send)).toEqual([503, { live: true, ready: false }])
  })

  test('a probe is not authorized', async () => {
    let asked = 0
    const authorize = (): Response => {
      asked += 1
      return new Response(null, { status: 401 })
    }
    const send = await serve(createEngine(), { health: true, authorize })
    expect(await probe(send)).toEqual([200, { live: true, ready: true }])
    expect(asked).toBe(0)
    expect((await send('/flows')).status).toBe(401)
  })

  test('a misspelt check is refused, and so is another method', async () => {
    const send = await serve(createEngine(), { health: true, statuses: 'precise' })
    for (const query of [
      'check=liveness',
      'check=',
      'check=live&check=ready',
      'chek=live',
      'Check=live',
      'live',
      'check=live&t=1',
    ]) {
      const reply = await send(`/health?${query}`)
      const message = "The only parameter is check, once: 'live' or 'ready'."
      expect([query, reply.status, await reply.json()]).toEqual([query, 400, failure(message)])
    }
    const wrong = await send('/health', { method: 'POST' })
    expect([wrong.status, wrong.headers.get('Allow')]).toEqual([405, 'GET, HEAD'])
  })

  test('HEAD has the status and the headers of GET, and no body', async () => {
    const engine = createEngine()
    const send = await serve(engine, { health: true })
    const head = async (): Promise<unknown> => {
      const reply = await send('/health', { method: 'HEAD' })
      return [reply.status, reply.headers.get('content-type'), await reply.text()]
    }
    expect(await head()).toEqual([200, 'application/json', ''])
    await engine.close()
    expect(await head()).toEqual([503, 'application/json', ''])
  })
}
