/** The alarms, on Cloudflare's own runtime. */
import { FlowEngine } from 'turnkeeper'
import { FakeSessionStore } from 'turnkeeper/testing'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { describeWithMiniflare, type Runtime, startWorkers } from '../../testing/contract/cloudflare/miniflare.js'
import { until } from '../../testing/contract/servers/until.js'
import { pathOf } from '../serverless/processes.ts'
import { wakeObject } from './alarm.ts'
import { reminded } from './reminder.ts'

describeWithMiniflare('alarms of a Durable Object', () => {
  let runtime: Runtime

  beforeAll(async () => {
    const objects = {
      SESSIONS: { className: 'SessionObject', useSQLite: true },
      WAKES: { className: 'WakeObject', useSQLite: true },
    }
    runtime = await startWorkers(
      { one: { durableObjects: objects, bindings: { STORE_TIMEOUT_MS: 500 } } },
      { entryPoints: [pathOf('examples/schedulers/alarm-worker.ts')] },
    )
  })

  afterAll(() => runtime?.dispose())

  test('wake a session, which speaks first', async () => {
    const url = runtime.urls.one as URL
    const begun = await fetch(new URL('/ai/run', url), {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: '{"flowName":"Reminder"}',
    })
    const { session } = (await begun.json()) as { session: string }
    let said: string[] = []
    await until(async () => {
      const response = await fetch(new URL('/ai/session', url), { headers: { CHAT_SESSION_ID: session } })
      const { turns } = (await response.json()) as { turns: { reply: string }[] }
      said = turns.map(({ reply }) => reply)
      return said.length > 1
    })
    expect(said).toEqual(reminded)
  })
})

/** The storage of an object, with what it keeps. */
function storageOf(kept: Map<string, unknown>) {
  return {
    get: async (key: string) => kept.get(key),
    put: async (key: string, value: string) => void kept.set(key, value),
    getAlarm: async () => (kept.get('alarm') as number) ?? null,
    setAlarm: async (time: number) => void kept.set('alarm', time),
    deleteAll: async () => kept.clear(),
  }
}

test('the object keeps the earliest time, comes back after a failure, and is empty in the end', async () => {
  const store = new FakeSessionStore()
  const engine = new FlowEngine({ sessionStore: store, logger: { ...console, error: () => undefined } })
  const kept = new Map<string, unknown>()
  const object = new (wakeObject(() => engine))({ storage: storageOf(kept) }, {})
  for (const time of [3_000, 1_000, 2_000]) {
    const body = JSON.stringify({ sessionId: 'some-session', at: new Date(time).toISOString() })
    await object.fetch(new Request('https://wake/', { method: 'POST', body }))
  }
  expect(kept.get('alarm')).toBe(1_000)
  store.failNext('load')
  await object.alarm()
  expect(kept.get('alarm')).toBeGreaterThan(Date.now())
  // The platform has none while it calls this.
  kept.delete('alarm')
  await object.alarm()
  expect([...kept]).toEqual([])
})
