import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  type DurableObjectNamespaceLike,
  DurableObjectSessionStore,
  type DurableObjectSessionStoreOptions,
} from '../../../adapters/durable-object/index.js'
import { ObjectDriver } from '../../../adapters/durable-object/object-driver.js'
import type { SessionDocument } from '../../../src/index.js'
import { findDifference } from '../../suites/cases/same-json.js'
import { longSession, newSession, nextTurn } from '../../suites/stores/bench/documents.js'
import { sessionStoreSuite } from '../../suites/stores/session-store-suite.js'
import { bigSession } from './big-session.js'
import { askObject, namespaceAt } from './bindings.js'
import { describeWithMiniflare, type Runtime, startWorkers } from './miniflare.js'

describeWithMiniflare('sessions in Durable Objects', () => {
  let runtime: Runtime
  let worker: URL
  let namespace: DurableObjectNamespaceLike

  beforeAll(async () => {
    runtime = await startWorkers({
      one: { durableObjects: { SESSIONS: { className: 'TestObject', useSQLite: true } } },
    })
    worker = runtime.urls.one as URL
    namespace = namespaceAt(worker)
  })

  afterAll(() => runtime?.dispose())

  async function query(name: string, statement: string): Promise<Record<string, unknown>[]> {
    return (await (await askObject(worker, name, '/sql', statement)).json()) as Record<string, unknown>[]
  }

  /** When a session ends, and when its object is woken. */
  async function timesOf(name: string): Promise<Record<string, unknown>> {
    const [times] = await query(name, 'SELECT expires_at, alarm_at FROM entry')
    return times ?? {}
  }

  /** Calls the object's alarm, and returns when the platform calls it next. */
  async function wake(name: string): Promise<unknown> {
    return (await askObject(worker, name, '/wake', '')).json()
  }

  const tables = "SELECT name FROM sqlite_master WHERE name IN ('entry', 'text')"
  const newId = (): string => `id-${crypto.randomUUID()}`

  test('a session of 3 MB in its state and 3 MB in its history is stored in rows of at most 1 MB', async () => {
    const store = new DurableObjectSessionStore({ namespace })
    const first = bigSession()
    await store.create(first)
    const { document, expectedRevision, hint } = nextTurn(first)
    await store.save(document, expectedRevision, hint)
    const reopened = new DurableObjectSessionStore({ namespace })
    expect(findDifference(await reopened.load(first.id), document)).toBeUndefined()
    const longest = 'SELECT max(length(CAST(body AS BLOB))) AS bytes FROM text'
    expect(await query(first.id, longest)).toEqual([{ bytes: 1_000_000 }])
    const next = nextTurn({ ...document, flow: { ...document.flow, context: {} } })
    await store.save(next.document, next.expectedRevision, next.hint)
    expect(findDifference(await reopened.load(first.id), next.document)).toBeUndefined()
  })

  test('a turn of a long conversation costs what one of a short conversation costs', async () => {
    const costs: number[][] = []
    for (const turns of [10, 2_500]) {
      const bytes: number[] = []
      const recorded: DurableObjectNamespaceLike = {
        idFromName: (name) => namespace.idFromName(name),
        get: (id) => ({
          async fetch(url, init) {
            const text = await (await namespace.get(id).fetch(url, init)).text()
            bytes.push(init.body.length + text.length)
            return { status: 200, text: async () => text }
          },
        }),
      }
      const store = new DurableObjectSessionStore({ namespace: recorded })
      const session = longSession(newId(), turns)
      await store.create(session)
      // What the process has read once, it does not read again.
      await store.load(session.id)
      bytes.length = 0
      const { document, expectedRevision, hint } = nextTurn((await store.load(session.id)) ?? session)
      await store.save(document, expectedRevision, hint)
      costs.push(bytes)
    }
    const [short = [], long = []] = costs
    expect(short).toHaveLength(2)
    expect(long).toHaveLength(2)
    for (const [index, bytes] of long.entries()) expect(bytes).toBeLessThan((short[index] ?? 0) + 100)
  })

  test('a session is removed by an alarm when it has expired, with its tables', async () => {
    const store = new DurableObjectSessionStore({ namespace })
    const session = newSession(newId())
    await store.create(session)
    expect(await query(session.id, tables)).toHaveLength(2)
    await new DurableObjectSessionStore({ namespace, ttlMs: 200 }).save(...secondTurn(session))
    // The object itself is not asked by `load`, so that only the alarm removes it.
    while ((await query(session.id, tables)).length > 0);
    expect(await store.load(session.id)).toBeUndefined()
    await expect(store.save(...secondTurn(session))).rejects.toThrow('changed')
    await store.create(session)
    expect(await query(session.id, tables)).toHaveLength(2)
  })

  test('the alarm of a session that was saved since is set again, and removes it at its later end', async () => {
    const session = newSession(newId())
    await new DurableObjectSessionStore({ namespace, ttlMs: 3_600_000 }).create(session)
    const first = await timesOf(session.id)
    expect(first.alarm_at).toBe(first.expires_at)
    await new DurableObjectSessionStore({ namespace, ttlMs: 7_200_000 }).save(...secondTurn(session))
    const saved = await timesOf(session.id)
    expect(saved.alarm_at).toBe(first.alarm_at)
    expect(await wake(session.id)).toBe(saved.expires_at)
    expect((await timesOf(session.id)).alarm_at).toBe(saved.expires_at)
    expect(await new DurableObjectSessionStore({ namespace }).load(session.id)).toMatchObject({ turns: 2 })
    await query(session.id, 'UPDATE entry SET expires_at = 1')
    expect(await wake(session.id)).toBeNull()
    expect(await query(session.id, tables)).toEqual([])
  })

  test('what expired cannot be loaded before its alarm, and keeps nobody from creating it anew', async () => {
    const store = new DurableObjectSessionStore({ namespace, ttlMs: 3_600_000, cacheBytes: 0 })
    const session = longSession(newId(), 3)
    await store.create(session)
    await query(session.id, 'UPDATE entry SET expires_at = 1')
    expect(await store.load(session.id)).toBeUndefined()
    const anew = newSession(session.id)
    await store.create(anew)
    expect(findDifference(await store.load(session.id), anew)).toBeUndefined()
  })

  test('a shorter time to live moves the alarm, and none leaves the session after it', async () => {
    const session = newSession(newId())
    await new DurableObjectSessionStore({ namespace, ttlMs: 7_200_000 }).create(session)
    const before = await timesOf(session.id)
    const next = nextTurn(session)
    await new DurableObjectSessionStore({ namespace, ttlMs: 3_600_000 }).save(next.document, next.expectedRevision)
    const after = await timesOf(session.id)
    expect(after.alarm_at).toBe(after.expires_at)
    expect(Number(after.alarm_at)).toBeLessThan(Number(before.alarm_at) - 3_000_000)
    await new DurableObjectSessionStore({ namespace }).save(...secondTurn(next.document))
    expect(await timesOf(session.id)).toEqual({ expires_at: null, alarm_at: after.alarm_at })
    await wake(session.id)
    expect(await timesOf(session.id)).toEqual({ expires_at: null, alarm_at: null })
  })

  test('a claim that is over is removed by an alarm', async () => {
    const store = new DurableObjectSessionStore({ namespace })
    const key = newId()
    expect(await store.claim(key, 'first', 200)).toBe('first')
    while ((await query(`~claim-${key}`, tables)).length > 0);
    expect(await store.claim(key, 'second', 60_000)).toBe('second')
  })

  test('an ID that nobody has stores nothing, and one that was deleted only a mark, until its alarm', async () => {
    const store = new DurableObjectSessionStore({ namespace })
    const session = newSession(newId())
    expect(await store.load(session.id)).toBeUndefined()
    await expect(store.save(...secondTurn(session))).rejects.toThrow('changed')
    expect(await query(session.id, tables)).toEqual([])
    await store.create(session)
    await store.delete(session.id)
    expect(await query(session.id, 'SELECT * FROM text')).toEqual([])
    const { expires_at: expiresAt, alarm_at: alarmAt } = await timesOf(session.id)
    expect(alarmAt).toBe(expiresAt)
    expect(Math.abs(Number(expiresAt) - Date.now() - 86_400_000)).toBeLessThan(60_000)
    await query(session.id, 'UPDATE entry SET expires_at = 1')
    await wake(session.id)
    expect(await query(session.id, tables)).toEqual([])
  })

  test('what a swap removes or replaces is gone', async () => {
    const driver = new ObjectDriver(namespace)
    const swap = { key: newId(), head: '{}', removed: [], replacesChunks: false, ttlMs: undefined }
    const chunks = [
      ['history#0', '"a"'],
      ['history#1', '"b"'],
    ] as const
    const stored = async (): Promise<string[]> => [...((await driver.readAll(swap.key))?.chunks.keys() ?? [])]
    await driver.swap({ ...swap, expectedRevision: undefined, revision: '1-a', chunks })
    await driver.swap({ ...swap, expectedRevision: '1-a', revision: '2-b', chunks: [], removed: ['history#0'] })
    expect(await stored()).toEqual(['history#1'])
    const all = { replacesChunks: true, chunks: [['history#2', '"c"']] as const }
    await driver.swap({ ...swap, ...all, expectedRevision: '2-b', revision: '3-c' })
    expect(await stored()).toEqual(['history#2'])
  })

  test('a swap while the object is removed comes before or after it, never in between', async () => {
    const id = newId()
    const swap = { operation: 'swap', expectedRevision: '1-a', revision: '2-b', head: '{}', chunks: [], removed: [] }
    const first = { ...swap, expectedRevision: undefined, revision: '1-a', replacesChunks: false }
    const ask = async (path: string, body: object): Promise<unknown> =>
      (await askObject(worker, id, path, JSON.stringify(body))).json()
    expect(await ask('/', first)).toBe('done')
    expect(await ask('/swap-while-removed', swap)).toEqual(['done', 'conflict'])
    expect(await ask('/', first)).toBe('conflict')
    expect(await ask('/', { operation: 'readAll' })).toBe(null)
  })

  test('an object that is aborted between two turns has what it acknowledged', async () => {
    const store = new DurableObjectSessionStore({ namespace, cacheBytes: 0 })
    let last = newSession(newId())
    await store.create(last)
    for (let turn = 0; turn < 3; turn++) {
      expect((await askObject(worker, last.id, '/abort')).status).toBe(500)
      const next = nextTurn((await store.load(last.id)) ?? last)
      await store.save(next.document, next.expectedRevision, next.hint)
      last = next.document
    }
    expect(findDifference(await store.load(last.id), last)).toBeUndefined()
  })

  test('an object that answers with an error rejects', async () => {
    const store = new DurableObjectSessionStore({
      namespace: {
        idFromName: () => ({}),
        get: () => ({ fetch: async () => new Response('overloaded', { status: 503 }) }),
      },
    })
    await expect(store.load('a')).rejects.toThrow("The session's object answered with status 503: overloaded")
  })

  describe('the suite', () => {
    sessionStoreSuite(test, () => new DurableObjectSessionStore({ namespace }), {
      async corrupt(sessionId) {
        await query(sessionId, "UPDATE text SET body = '{\"cut\":' WHERE name = 'head'")
      },
      claims: true,
      absoluteTtl: {
        createStore: (times) => new DurableObjectSessionStore({ namespace, ...times }),
        async expiresAt(sessionId) {
          const [row] = await query(sessionId, 'SELECT expires_at FROM entry')
          return (row?.expires_at as number | null) ?? undefined
        },
      },
      createUnreachable: () => new DurableObjectSessionStore({ namespace: unreachable(namespace) }),
    })
  })
})

test('options that cannot be used are refused', () => {
  const caller = 'DurableObjectSessionStore'
  const make = (options: object) => () => new DurableObjectSessionStore(options as DurableObjectSessionStoreOptions)
  expect(make({})).toThrow(`${caller}: namespace must be the binding of the class SessionObject.`)
  expect(make({ namespace: { get() {} } })).toThrow(`${caller}: namespace must have the method idFromName.`)
  const namespace = { get() {}, idFromName() {} }
  expect(make({ namespace, ttlMs: 0 })).toThrow(`${caller}: ttlMs must be a number above 0`)
  expect(make({ namespace, absoluteTtlMs: -1 })).toThrow(`${caller}: absoluteTtlMs must be a number above 0`)
  expect(make({ namespace, cacheBytes: -1 })).toThrow(`${caller}: cacheBytes must be a number of at least 0`)
  expect(make({ namespace, ttl: 5 })).toThrow(`${caller}: there is no option 'ttl'.`)
})

/** The arguments of `save` for one more turn. */
function secondTurn(session: SessionDocument): [SessionDocument, string] {
  const { document, expectedRevision } = nextTurn(session)
  return [document, expectedRevision]
}

/** A namespace whose objects cannot be reached, as in an outage. */
function unreachable(namespace: DurableObjectNamespaceLike): DurableObjectNamespaceLike {
  return {
    idFromName: (name) => namespace.idFromName(name),
    get: () => ({
      async fetch() {
        throw new Error('Network connection lost.')
      },
    }),
  }
}
