import type { Keyv } from 'keyv'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { KeyvSessionStore } from '../../keyv-session-store.js'
import { createPostgresKeyv } from './create-postgres-keyv.js'

/** A fake of `pg`: records its arguments, and returns nothing. */
const made = vi.hoisted(() => ({ pools: [] as FakePool[] }))
interface FakePool {
  readonly settings: Record<string, unknown>
  readonly queries: { text: string; values?: unknown; name?: string }[]
  readonly listeners: ((error: Error) => void)[]
  ends: number
}
vi.mock('pg', () => ({
  Pool: class implements FakePool {
    readonly queries: FakePool['queries'] = []
    readonly listeners: FakePool['listeners'] = []
    ends = 0
    readonly settings: Record<string, unknown>

    constructor(settings: Record<string, unknown>) {
      this.settings = settings
      made.pools.push(this)
    }

    async query(query: FakePool['queries'][number]): Promise<{ rows: unknown[] }> {
      this.queries.push(query)
      return { rows: [] }
    }

    on(_: 'error', listener: (error: Error) => void): void {
      this.listeners.push(listener)
    }

    async end(): Promise<void> {
      this.ends++
    }
  },
}))

afterEach(() => {
  made.pools.length = 0
})

const url = 'postgres://app:secret@127.0.0.1:1/app'
const lastPool = (): FakePool => made.pools.at(-1) as FakePool

describe('createPostgresKeyv', () => {
  test('takes leases, and has none without', async () => {
    const keyv = await createPostgresKeyv(url, { lease: { ttlMs: 10_000 } })
    expect(new KeyvSessionStore({ keyv }).lease).toBeTypeOf('function')
    expect(new KeyvSessionStore({ keyv: await createPostgresKeyv(url) }).lease).toBeUndefined()
    await expect(createPostgresKeyv(url, { lease: { ttlMs: 0 } })).rejects.toThrow(
      'createPostgresKeyv: lease.ttlMs must be a number above 0; got 0.',
    )
  })

  test('limits every wait of its own pool', async () => {
    const keyv = await createPostgresKeyv(url)
    expect(lastPool().settings).toEqual({
      connectionString: url,
      max: 10,
      connectionTimeoutMillis: 2_000,
      statement_timeout: 2_700,
      query_timeout: 3_000,
      keepAlive: true,
    })
    expect([keyv.namespace, keyv.ttl, keyv.throwOnErrors]).toEqual(['turnkeeper', undefined, true])
    expect(keyv.store.opts).toMatchObject({ dialect: 'postgres', table: 'turnkeeper', schema: 'public' })
    await createPostgresKeyv(url)
    expect(made.pools).toHaveLength(2)
  })

  test("accepts settings; the pool's settings win", async () => {
    const pool = { ssl: true, statement_timeout: undefined }
    const limits = { maxConnections: 3, connectTimeoutMs: 5, replyTimeoutMs: 10 }
    const names = { namespace: 'talks', table: 'talk', schema: 'app' }
    const keyv = await createPostgresKeyv(url, { ...limits, ...names, ttlMs: 60_000, pool })
    expect(lastPool().settings).toEqual({
      connectionString: url,
      max: 3,
      connectionTimeoutMillis: 5,
      statement_timeout: undefined,
      query_timeout: 10,
      keepAlive: true,
      ssl: true,
    })
    expect([keyv.namespace, keyv.ttl]).toEqual(['talks', 60_000])
    expect(keyv.store.opts).toMatchObject({ table: 'talk', schema: 'app' })
  })

  test('names the first fifty statements with values, unless prepareStatements is false', async () => {
    const query = async (keyv: Keyv, statement: string, values?: unknown[]): Promise<unknown> => {
      await keyv.store.query(statement, values)
      return lastPool().queries.at(-1)
    }
    const keyv = await createPostgresKeyv(url)
    expect(await query(keyv, 'SELECT 1')).toEqual({ text: 'SELECT 1' })
    const named = { text: 'SELECT $1', values: ['a'], name: 'turnkeeper_0' }
    expect(await query(keyv, 'SELECT $1', ['a'])).toEqual(named)
    expect(await query(keyv, 'SELECT $1', ['b'])).toEqual({ ...named, values: ['b'] })
    for (let other = 1; other < 50; other++) await query(keyv, `SELECT $1 + ${other}`, [other])
    expect(await query(keyv, 'SELECT $1 + 50', [1])).toEqual({ text: 'SELECT $1 + 50', values: [1] })
    const unnamed = await createPostgresKeyv(url, { prepareStatements: false })
    expect(await query(unnamed, 'SELECT $1', ['a'])).toEqual({ text: 'SELECT $1', values: ['a'] })
  })

  test('reports a lost connection to listeners, and works without listeners', async () => {
    const keyv = await createPostgresKeyv(url)
    const lost = new Error('connection lost')
    for (const listener of lastPool().listeners) listener(lost)
    const received: unknown[] = []
    keyv.on('error', (error: unknown) => received.push(error))
    for (const listener of lastPool().listeners) listener(lost)
    expect(received).toEqual([lost])
  })

  test('ends its pool once', async () => {
    const keyv = await createPostgresKeyv(url)
    await Promise.all([keyv.disconnect(), keyv.store.disconnect()])
    expect(lastPool().ends).toBe(1)
  })

  test.each([
    '',
    'app',
    'http://user:secret@host/app',
    'redis://:secret@host',
    'postgres://us er:secret@host:port/app',
  ])('refuses the address %j without repeating it', async (address) => {
    const failed = createPostgresKeyv(address)
    await expect(failed).rejects.toMatchObject({ code: 'INVALID_INPUT' })
    await expect(failed).rejects.toThrow(
      /^createPostgresKeyv: the address must read postgres:\/\/user:password@host:port\/database\.$/,
    )
  })

  test.each([
    [{ ttlMs: 0 }, 'ttlMs must be a number above 0; got 0.'],
    [{ maxConnections: -1 }, 'maxConnections must be a number above 0; got -1.'],
    [{ connectTimeoutMs: Number.POSITIVE_INFINITY }, 'connectTimeoutMs must be a number above 0; got Infinity.'],
    [{ replyTimeoutMs: '5' as never }, "replyTimeoutMs must be a number above 0; got the text '5'."],
  ])('refuses %j', async (options, problem) => {
    await expect(createPostgresKeyv(url, options)).rejects.toThrow(`createPostgresKeyv: ${problem}`)
  })
})
