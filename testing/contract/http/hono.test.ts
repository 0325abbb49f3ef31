// The HTTP cases over the Hono app, in process, mounted at three places.
import { Hono } from 'hono'
import { describe, expect, test } from 'vitest'
import { flowRoutes } from '../../../adapters/hono/index.js'
import { httpCases } from './cases.js'
import { createEngine } from './serve.js'

describe.each(['/ai', '/', '/v1/chat'])('the Hono app mounted at %s', (mountedAt) => {
  httpCases(test, (engine, options) => {
    const app = new Hono().route(mountedAt, flowRoutes(engine, options))
    const prefix = mountedAt === '/' ? '' : mountedAt
    return async (path, init) => app.fetch(new Request(`http://chat.example${prefix}${path}`, init))
  })
})

test('[1-11] the routes stand below whatever base address the application gives them', async () => {
  const app = new Hono().route('/tenants/:tenant/ai', flowRoutes(createEngine()))
  const reply = await app.request('https://chat.example:8443/tenants/acme/ai/flows')
  expect([reply.status, await reply.json()]).toEqual([200, ['Greeting', 'Typed', 'Bytes', 'Context', 'Waiting']])
})
