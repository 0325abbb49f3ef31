// A handler without `authorize` admits everyone: in production the engine warns, unless `authorize: 'none'` says so.
import { afterEach, expect, test } from 'vitest'
import { createFakeEngine } from '../../testing/contract/http/fake-engine.js'
import { flowRoutes } from '../hono/index.js'
import { createFetchHandler } from './index.js'

const callers: string[] = []
const engine = { ...createFakeEngine(), warnOpenHandler: (caller: string) => void callers.push(caller) }

afterEach(() => {
  callers.length = 0
})

test('the engine learns of each handler without authorize', () => {
  createFetchHandler(engine)
  flowRoutes(engine, { health: true })
  expect(callers).toEqual(['createFetchHandler', 'flowRoutes'])
})

test("a handler with authorize, or with 'none', is not reported", async () => {
  createFetchHandler(engine, { authorize: () => ({ principal: 'ada' }) })
  const handler = createFetchHandler(engine, { authorize: 'none' })
  expect(callers).toEqual([])
  const body = '{"flowName":"Booking"}'
  const reply = await handler(new Request('http://chat.example/ai/run', { method: 'POST', body }))
  expect(reply.status).toBe(200)
  expect(engine.inputs.at(-1)).not.toHaveProperty('owner')
})
