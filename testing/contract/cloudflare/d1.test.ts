import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { D1Driver } from '../../../adapters/d1/d1-driver.js'
import { type D1DatabaseLike, D1SessionStore, type D1SessionStoreOptions } from '../../../adapters/d1/index.js'
import { findDifference } from '../../suites/cases/same-json.js'
import { longSession, newSession, nextTurn } from '../../suites/stores/bench/documents.js'
import { sessionStoreSuite } from '../../suites/stores/session-store-suite.js'
import { bigSession } from './big-session.js'
import { databaseAt, queryAt } from './bindings.js'
import { describeWithMiniflare, type Runtime, startWorkers } from './miniflare.js'

describeWithMiniflare('sessions in D1', () => {
  let runtime: Runtime
  let worker: URL
  let database: D1DatabaseLike

  beforeAll(async () => {
    runtime = await startWorkers({ one: { d1Databases: ['DB'] } })
    worker = runtime.urls.one as URL
    database = databaseAt(worker)
  })

  afterAll(() => runtime?.dispose())

  /** As the database, and how many statements each batch had, and how many bytes went there and back. */
  function counted(): { readonly database: D1DatabaseLike; readonly batches: { statements: number; bytes: number }[] } {
    const batches: { statements: number; bytes: number }[] = []
    const batch: D1DatabaseLike['batch'] = async (statements) => {
      const results = await database.batch(statements)
      batches.push({ statements: statements.length, bytes: JSON.stringify([statements, results]).length })
      return results
    }
    return { database: { prepare: (statement) => database.prepare(statement), batch }, batches }
  }

  test('a session of 3 MB in its state and 3 MB in its history is stored in rows of at most 1 MB', async () => {
    const store = new D1SessionStore({ database })
    const first = bigSession()
    await store.create(first)
    const { document, expectedRevision, hint } = nextTurn(first)
    await store.save(document, expectedRevision, hint)
    const reopened = new D1SessionStore({ database })
    expect(findDifference(await reopened.load(first.id), document)).toBeUndefined()
    const [longest] = await queryAt(
      worker,
      `SELECT max(length(CAST(body AS BLOB))) AS body, (SELECT max(length(CAST(head AS BLOB))) FROM turnkeeper_session) AS head
        FROM turnkeeper_text`,
    )
    expect(longest).toEqual({ body: 1_000_000, head: 1_000_000 })
    expect((await reopened.list({ owner: 'of-big', limit: 5 })).sessions).toMatchObject([{ id: first.id }])
    await store.delete(first.id)
    expect(await reopened.list({ owner: 'of-big', limit: 5 })).toEqual({ sessions: [] })
  })

  test('a head that becomes shorter leaves nothing of the longer one', async () => {
    const store = new D1SessionStore({ database, cacheBytes: 0 })
    const first = bigSession()
    await store.create(first)
    const { document, expectedRevision, hint } = nextTurn({ ...first, flow: { ...first.flow, context: {} } })
    await store.save(document, expectedRevision, hint)
    expect(findDifference(await store.load(first.id), document)).toBeUndefined()
  })

  test('a turn of a long conversation costs what one of a short conversation costs', async () => {
    const costs: { statements: number; bytes: number }[][] = []
    for (const turns of [10, 2_500]) {
      const { database: recorded, batches } = counted()
      const store = new D1SessionStore({ database: recorded })
      const session = longSession(`long-${turns}-${crypto.randomUUID()}`, turns)
      await store.create(session)
      // What the process has read once, it does not read again.
      await store.load(session.id)
      batches.length = 0
      const { document, expectedRevision, hint } = nextTurn((await store.load(session.id)) ?? session)
      await store.save(document, expectedRevision, hint)
      costs.push([...batches])
    }
    const [short = [], long = []] = costs
    expect(short.map(({ statements }) => statements)).toEqual([2, 4])
    expect(long.map(({ statements }) => statements)).toEqual([2, 4])
    for (const [index, { bytes }] of long.entries()) expect(bytes).toBeLessThan((short[index]?.bytes ?? 0) + 200)
  })

  test('a swap with more texts than one statement takes is whole, and one that fails in its last statement changes nothing', async () => {
    const driver = new D1Driver(database)
    const texts = (count: number): [string, string][] =>
      Array.from({ length: count }, (_, index) => [`history#${index}`, `{"text":${index}}`])
    const swap = { head: '{}', removed: [], replacesChunks: false, ttlMs: undefined }
    const key = `many-${crypto.randomUUID()}`
    const first = { ...swap, key, expectedRevision: undefined, revision: '1-a', chunks: texts(70) }
    expect(await driver.swap(first)).toBe('done')
    expect((await driver.readAll(key))?.chunks).toEqual(new Map(texts(70)))
    const second = { ...swap, key, expectedRevision: '1-a', revision: '2-b', chunks: [['history#70', '{}']] as const }
    const broken = new D1Driver({
      prepare: (statement) => database.prepare(statement),
      batch: (statements) => database.batch([...statements, database.prepare('SELECT json(?1)').bind('not JSON')]),
    })
    await expect(broken.swap(second)).rejects.toThrow('malformed JSON')
    expect(await driver.readAll(key)).toEqual({ revision: '1-a', head: '{}', chunks: new Map(texts(70)) })
    expect(await driver.swap(second)).toBe('done')
    expect((await driver.readAll(key))?.chunks.size).toBe(71)
    expect(await driver.swap({ ...second, chunks: [['history#71', '{}']] })).toBe('done')
    expect((await driver.readAll(key))?.chunks.size).toBe(71)
  })

  test('what expired cannot be loaded, keeps nobody from creating it anew, and is purged', async () => {
    const store = new D1SessionStore({ database, ttlMs: 3_600_000 })
    const [gone, back] = [bigSession(), bigSession()]
    const key = `key-${crypto.randomUUID()}`
    for (const document of [gone, back]) await store.create(document)
    await store.claim(key, gone.id, 3_600_000)
    await queryAt(worker, 'UPDATE turnkeeper_session SET expires_at = 1 WHERE key IN (?1, ?2)', gone.id, back.id)
    await queryAt(worker, 'UPDATE turnkeeper_claim SET expires_at = 1 WHERE key = ?1', `~claim-${key}`)
    expect(await store.load(gone.id)).toBeUndefined()
    const anew = newSession(back.id)
    await store.create(anew)
    expect(findDifference(await new D1SessionStore({ database }).load(back.id), anew)).toBeUndefined()
    expect(await store.purgeExpired()).toBe(1)
    expect(await store.purgeExpired()).toBe(0)
    const strays =
      'SELECT count(*) AS n FROM turnkeeper_text WHERE session_id NOT IN (SELECT id FROM turnkeeper_session)'
    expect(await queryAt(worker, strays)).toEqual([{ n: 0 }])
    const claims = 'SELECT count(*) AS n FROM turnkeeper_claim WHERE key = ?1'
    expect(await queryAt(worker, claims, `~claim-${key}`)).toEqual([{ n: 0 }])
  })

  test('two stores that find no tables make them together', async () => {
    for (const table of ['session', 'text', 'claim']) await queryAt(worker, `DROP TABLE IF EXISTS turnkeeper_${table}`)
    const stores = Array.from({ length: 4 }, () => new D1SessionStore({ database }))
    await Promise.all(stores.map((store, index) => store.create(newSession(`first-${index}`))))
    expect((await stores[0]?.list({ limit: 10 }))?.sessions).toHaveLength(4)
  })

  describe('the suite', () => {
    sessionStoreSuite(test, () => new D1SessionStore({ database }), {
      async corrupt(sessionId) {
        await queryAt(worker, 'UPDATE turnkeeper_session SET head = \'{"cut":\' WHERE key = ?1', sessionId)
      },
      claims: true,
      lists: true,
      absoluteTtl: {
        createStore: (times) => new D1SessionStore({ database, ...times }),
        async expiresAt(sessionId) {
          const [row] = await queryAt(worker, 'SELECT expires_at FROM turnkeeper_session WHERE key = ?1', sessionId)
          return (row?.expires_at as number | null) ?? undefined
        },
      },
      createUnreachable: () => new D1SessionStore({ database: unreachable(database) }),
    })
  })
})

test('options that cannot be used are refused', () => {
  const make = (options: object) => () => new D1SessionStore(options as D1SessionStoreOptions)
  expect(make({})).toThrow('D1SessionStore: database must be the binding of a D1 database.')
  expect(make({ database: { prepare() {} } })).toThrow('D1SessionStore: database must have the method batch.')
  const database = unreachable({} as D1DatabaseLike)
  expect(make({ database, ttlMs: 0 })).toThrow('D1SessionStore: ttlMs must be a number above 0')
  expect(make({ database, absoluteTtlMs: -1 })).toThrow('D1SessionStore: absoluteTtlMs must be a number above 0')
  expect(make({ database, cacheBytes: -1 })).toThrow('D1SessionStore: cacheBytes must be a number of at least 0')
  expect(make({ database, ttl: 5 })).toThrow("D1SessionStore: there is no option 'ttl'.")
})

/** A database whose requests fail, as they do in an outage. */
function unreachable(database: D1DatabaseLike): D1DatabaseLike {
  return {
    prepare: (statement) => database.prepare(statement),
    batch: async () => {
      throw new Error('D1_ERROR: Network connection lost.')
    },
  }
}
