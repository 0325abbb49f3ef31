// The part that Hono plays: the mount point, and routes of the application beside it. testing/contract/http tests the
// routes themselves.
import { Context, Hono } from 'hono'
import { HonoRequest } from 'hono/request'
import { describe, expect, test, vi } from 'vitest'
import { createFakeEngine } from '../../testing/contract/http/fake-engine.js'
import { flowRoutes } from './index.js'

const statusOf = async (app: Hono, path: string, method = 'GET'): Promise<number> =>
  (await app.request(path, { method })).status

describe('flowRoutes', () => {
  test('works without being mounted', async () => {
    const reply = await flowRoutes(createFakeEngine()).request('/flows')
    await expect(reply.json()).resolves.toEqual(['Booking', 'Support'])
  })

  test('can be mounted below a parameter', async () => {
    const app = new Hono().route('/:tenant/ai', flowRoutes(createFakeEngine()))
    expect([await statusOf(app, '/acme/ai/flows'), await statusOf(app, '/acme/ai/x')]).toEqual([200, 404])
  })

  test('can be mounted twice, each on its own engine', async () => {
    const [first, second] = [createFakeEngine(), createFakeEngine()]
    const app = new Hono().route('/a', flowRoutes(first)).route('/b', flowRoutes(second))
    await app.request('/b/run', { method: 'POST', body: '{"flowName":"A"}' })
    expect([first.inputs.length, second.inputs.length]).toEqual([0, 1])
  })

  test.each([['/'], ['/ai']])(
    "mounted at %s it leaves the application's own routes alone, wherever they are added",
    async (at) => {
      const prefix = at === '/' ? '' : at
      const app = new Hono()
      app.get(`${prefix}/before`, (context) => context.text('mine'))
      app.route(at, flowRoutes(createFakeEngine()))
      app.get(`${prefix}/after`, (context) => context.text('mine'))
      for (const path of ['/before', '/after']) {
        await expect((await app.request(`${prefix}${path}`)).text()).resolves.toBe('mine')
      }
      const unknown = await app.request(`${prefix}/neither`)
      expect(unknown.status).toBe(404)
      await expect(unknown.json()).resolves.toMatchObject({ success: false })
    },
  )

  test("a turn gets the waitUntil of the runtime's context, and none without a context", async () => {
    const engine = createFakeEngine()
    const app = new Hono().route('/ai', flowRoutes(engine))
    const works: unknown[] = []
    const context = {
      waitUntil(this: unknown, work: Promise<unknown>) {
        works.push(this === context, work)
      },
      passThroughOnException: () => undefined,
      props: {},
    }
    const init = { method: 'POST', body: '{"flowName":"A"}' }
    await app.request('/ai/run', init, {}, context)
    await app.request('/ai/run', init)
    const work = Promise.resolve()
    engine.inputs[0]?.waitUntil?.(work)
    expect(works).toEqual([true, work])
    expect(engine.inputs[1]).not.toHaveProperty('waitUntil')
  })

  test.each([[[true, false, true]], [[false, true, false]]])(
    'one app answers requests of a runtime with a context and of a Node server: %j',
    async (order) => {
      const engine = createFakeEngine()
      const app = new Hono().route('/ai', flowRoutes(engine))
      const context = { waitUntil() {}, passThroughOnException() {}, props: {} }
      for (const hasContext of order) {
        const init = { method: 'POST', body: '{"flowName":"A"}' }
        if (hasContext) await app.request('/ai/run', init, {}, context)
        else await app.request('/ai/run', init, { incoming: {}, outgoing: {} })
      }
      expect(engine.inputs.map((input) => 'waitUntil' in input)).toEqual(order)
    },
  )

  test('Hono is not asked for the context of a Node server, because it answers with an error', async () => {
    const asked = vi.spyOn(Context.prototype, 'executionCtx', 'get')
    const app = flowRoutes(createFakeEngine())
    await app.request('/flows', {}, { incoming: {}, outgoing: {} })
    expect(asked).not.toHaveBeenCalled()
    await app.request('/flows')
    expect(asked).toHaveBeenCalledOnce()
  })

  test('leaves other paths to the application', async () => {
    const app = new Hono().route('/ai', flowRoutes(createFakeEngine()))
    app.notFound((context) => context.text('not mine', 404))
    await expect((await app.request('/elsewhere')).text()).resolves.toBe('not mine')
    await expect((await app.request('/aix')).text()).resolves.toBe('not mine')
  })

  test("the application's middleware runs around it and can change its headers", async () => {
    const app = new Hono()
    app.use('*', async (context, next) => {
      await next()
      context.header('X-Served-By', 'test')
    })
    app.route('/ai', flowRoutes(createFakeEngine()))
    const reply = await app.request('/ai/flows')
    expect([reply.headers.get('x-served-by'), await reply.json()]).toEqual(['test', ['Booking', 'Support']])
  })
})

test('a Hono whose requests have no matchedRoutes, as a later version may be, is refused', () => {
  const matchedRoutes = Object.getOwnPropertyDescriptor(HonoRequest.prototype, 'matchedRoutes')
  Reflect.deleteProperty(HonoRequest.prototype, 'matchedRoutes')
  try {
    expect(() => flowRoutes(createFakeEngine())).toThrow(
      'flowRoutes: turnkeeper/hono needs hono 4, from 4.13.19 on: npm install hono@4.',
    )
  } finally {
    Object.defineProperty(HonoRequest.prototype, 'matchedRoutes', matchedRoutes ?? {})
  }
})
