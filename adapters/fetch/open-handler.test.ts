// A handler without `authorize` admits everyone: in production the engine warns, unless `authorize: 'none'` says so.
import { afterEach, expect, test } from 'vitest'
import { createFakeEngine } from '../../testing/contract/http/fake-engine.js'
import { flowRoutes } from '../hono/index.js'
import { createFetchHandler } from './index.js'

const warnings: string[] = []
const warnInProduction = (...texts: string[]): void => void warnings.push(...texts)
const engine = { ...createFakeEngine(), warnInProduction }

afterEach(() => {
  warnings.length = 0
})

test('the engine gets the warning of each handler without authorize', () => {
  createFetchHandler(engine)
  flowRoutes(engine, { health: true })
  const open =
    "everyone may call these routes, because there is no authorize. Set authorize, or authorize: 'none' if everyone may."
  const ofMemory =
    'Sessions are in the memory of this process, where a flood of requests evicts them: keep public traffic in Redis, Postgres or the store of your platform.'
  expect(warnings).toEqual([`createFetchHandler: ${open}`, ofMemory, `flowRoutes: ${open}`, ofMemory])
})

test("a handler with authorize, or with 'none', is not reported", async () => {
  createFetchHandler(engine, { authorize: () => ({ principal: 'ada' }) })
  const handler = createFetchHandler(engine, { authorize: 'none' })
  expect(warnings).toEqual([])
  const body = '{"flowName":"Booking"}'
  const reply = await handler(new Request('http://chat.example/ai/run', { method: 'POST', body }))
  expect(reply.status).toBe(200)
  expect(engine.inputs.at(-1)).not.toHaveProperty('owner')
})
