// Decides what listings cost and leave in Redis: the commands, the sets of owners and how long they live, what is in no
// set, and cursors that outlive a restart.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { FlowEngine } from '../../../src/index.js'
import { createRedisDriver } from '../../../src/stores/keyv/drivers/redis/redis-driver.js'
import { createRedisKeyv, KeyvSessionStore, type RedisKeyvOptions } from '../../../src/stores/keyv/index.js'
import { newSession, nextTurn } from '../../suites/stores/bench/documents.js'
import { isRedisMissing, type RedisServer, startRedis } from '../servers/redis-server.js'
import { startTcpProxy, type TcpProxy } from '../servers/tcp-proxy.js'

type Listing = Required<KeyvSessionStore>

let server: RedisServer
let proxy: TcpProxy
let namespaces = 0

async function open(options: RedisKeyvOptions = {}): Promise<Listing> {
  const namespace = options.namespace ?? `n${++namespaces}`
  const url = `redis://127.0.0.1:${proxy.port}`
  const keyv = await createRedisKeyv(url, { replyTimeoutMs: 60_000, ...options, namespace })
  return new KeyvSessionStore({ keyv }) as Listing
}

const owned = (id: string, owner = 'ada', createdAt = '2026-01-01T00:00:00.000Z') => ({
  ...newSession(id),
  owner,
  createdAt,
})

async function numberOf(...words: string[]): Promise<number> {
  return Number((await server.command(...words)).slice(1))
}

/** The keys of the sets of a namespace. */
async function setsOf(namespace: string): Promise<string[]> {
  const keys = await server.command('KEYS', `${namespace}::~owner-*`)
  return keys.split('\r\n').filter((line) => line.startsWith(namespace))
}

async function idsOf(store: Listing, query: { owner?: string; limit?: number } = {}): Promise<string[]> {
  const ids: string[] = []
  let cursor: string | undefined
  do {
    const page = await store.list({ limit: 10, ...query, ...(cursor === undefined ? {} : { cursor }) })
    ids.push(...page.sessions.map(({ id }) => id))
    cursor = page.cursor
  } while (cursor !== undefined)
  return ids.sort()
}

describe.skipIf(isRedisMissing)('listings over Redis', () => {
  beforeAll(async () => {
    server = await startRedis({ appendOnly: 'always' })
    proxy = await startTcpProxy(server.port)
  })
  afterAll(async () => {
    await proxy?.close()
    await server?.close()
  })

  test('cost a command more when a session is created and deleted, and none when it is saved', async () => {
    const store = await open()
    const first = nextTurn(owned('warm'))
    // The scripts are sent once, and the connection says hello.
    await store.create(first.document)
    await store.delete('warm', first.document.revision)
    const document = owned('counted')
    proxy.takeTraffic()
    await store.create(document)
    expect(proxy.takeTraffic().commands).toEqual(['EVALSHA', 'EVALSHA'])
    const turn = nextTurn(document)
    await store.save(turn.document, turn.expectedRevision, turn.hint)
    expect(proxy.takeTraffic().commands).toEqual(['EVALSHA'])
    // An engine has loaded a session that it deletes.
    await store.load('counted')
    proxy.takeTraffic()
    await store.delete('counted', turn.document.revision)
    expect(proxy.takeTraffic().commands).toEqual(['EVALSHA', 'ZREM'])
    const { owner: _owner, ...ownerless } = owned('nobody')
    await store.create(ownerless)
    expect(proxy.takeTraffic().commands).toEqual(['EVALSHA'])
    await store.close()
  })

  test('find a session of an owner only when it is stored, although it is in the set before', async () => {
    const store = await open({ namespace: 'early' })
    await idsOf(store, { owner: 'ada' })
    const document = owned('one', 'ada', new Date().toISOString())
    await store.create(document)
    await store.delete('one')
    // As if the process ended between the two commands: the set has the session, which does not exist yet.
    const keyv = await createRedisKeyv(server.url, { namespace: 'early' })
    const driver = createRedisDriver(keyv)
    const taken: string[] = []
    const swap = {
      key: 'early::one',
      expectedRevision: undefined,
      revision: document.revision,
      head: '{}',
      chunks: [],
      removed: [],
      replacesChunks: false,
      ttlMs: undefined,
      owner: async () => {
        taken.push('asked')
        return { ownerKey: 'early::~owner-own', createdAt: document.createdAt }
      },
    }
    await driver.swap(swap)
    expect(taken).toEqual(['asked'])
    await server.command('DEL', 'early::one')
    expect(await numberOf('ZCARD', 'early::~owner-own')).toBe(1)
    const listing = {
      prefix: 'early::',
      ownerKey: 'early::~owner-own',
      limit: 5,
      cursor: undefined,
      read: async () => undefined,
    }
    expect((await driver.list?.(listing))?.sessions).toEqual([])
    // It is young: another process may be about to create it.
    expect(await numberOf('ZCARD', 'early::~owner-own')).toBe(1)
    await driver.close()
    await store.close()
  })

  test('count what cannot be read for its owner, from the first listing on, and an engine does not call it erased', async () => {
    const store = await open({ namespace: 'broken' })
    for (const [id, owner] of [
      ['a', 'ada'],
      ['b', 'ada'],
      ['c', 'bob'],
    ] as const)
      await store.create(owned(id, owner))
    await server.command('HSET', 'broken::a', 'head', 'cut off')
    const engine = new FlowEngine({ sessionStore: store })
    expect(await engine.eraseOwner('ada')).toEqual({ deleted: 1, failed: 1 })
    expect(await engine.eraseOwner('bob')).toEqual({ deleted: 1, failed: 0 })
    await server.command('DEL', 'broken::~owners')
    expect(await engine.eraseOwner('ada')).toEqual({ deleted: 0, failed: 1 })
    expect(await engine.sweep({ olderThan: 0 })).toEqual({ deleted: 0, failed: 1 })
    await engine.close()
  })

  test('list an owner from the first time on in the order in which sessions were created', async () => {
    const store = await open({ namespace: 'ordered' })
    const ids = Array.from({ length: 20 }, (_, index) => `s-${index}`)
    for (const [index, id] of ids.entries()) {
      await store.create(owned(id, 'ada', new Date(Date.UTC(2026, 0, 1, 0, index)).toISOString()))
    }
    const found: string[] = []
    let cursor: string | undefined
    do {
      const page = await store.list({ owner: 'ada', limit: 3, ...(cursor === undefined ? {} : { cursor }) })
      found.push(...page.sessions.map(({ id }) => id))
      cursor = page.cursor
    } while (cursor !== undefined)
    expect(found).toEqual(ids)
    await store.close()
  })

  test('work in a namespace that Redis gets encoded', async () => {
    const store = await open({ namespace: 'a\0b' })
    for (const id of ['a', 'b', 'c']) await store.create(owned(id))
    expect(await idsOf(store, { owner: 'ada', limit: 2 })).toEqual(['a', 'b', 'c'])
    expect(await idsOf(store, { owner: 'ada', limit: 2 })).toEqual(['a', 'b', 'c'])
    await store.delete('b')
    const keys = async (pattern: string) => (await server.command('KEYS', pattern)).split('\r\n')
    const [set = ''] = (await keys('*b::~owner-*')).filter((line) => line.startsWith('"a'))
    expect(await numberOf('ZCARD', set)).toBe(2)
    // What is gone is taken out.
    await server.command('DEL', ...(await keys('*b::a*')).filter((line) => line.startsWith('"a')))
    expect(await idsOf(store, { owner: 'ada' })).toEqual(['c'])
    expect(await numberOf('ZCARD', set)).toBe(1)
    await store.close()
  })

  test('take out of a set what is gone, and a set without members is gone', async () => {
    const store = await open({ namespace: 'gone' })
    await idsOf(store, { owner: 'ada' })
    for (const id of ['a', 'b', 'c']) await store.create(owned(id))
    const [set = ''] = await setsOf('gone')
    await server.command('DEL', 'gone::a', 'gone::b')
    expect(await idsOf(store, { owner: 'ada' })).toEqual(['c'])
    expect(await numberOf('ZCARD', set)).toBe(1)
    await store.delete('c')
    expect(await setsOf('gone')).toEqual([])
    await store.close()
  })

  test('a set lives longer than the sessions in it, and each process prolongs it once in their life', async () => {
    const ttlMs = 60_000
    const store = await open({ namespace: 'short', ttlMs })
    const document = owned('a')
    await store.create(document)
    const [set = ''] = await setsOf('short')
    expect(await numberOf('PTTL', set)).toBeGreaterThan(2 * ttlMs)
    const turn = nextTurn(document)
    proxy.takeTraffic()
    await store.save(turn.document, turn.expectedRevision, turn.hint)
    expect(proxy.takeTraffic().commands).toEqual(['EVALSHA'])
    // A process that was started with a longer time to live.
    const other = await open({ namespace: 'short', ttlMs: 10 * ttlMs })
    const next = nextTurn(turn.document)
    await other.save(next.document, next.expectedRevision)
    expect(await numberOf('PTTL', set)).toBeGreaterThan(20 * ttlMs)
    // A session that never expires makes a set that does not, and nothing shortens it.
    const forever = await open({ namespace: 'short' })
    await forever.create(owned('b'))
    expect(await numberOf('PTTL', set)).toBe(-1)
    await store.create(owned('c'))
    expect(await numberOf('PTTL', set)).toBe(-1)
    for (const each of [store, other, forever]) await each.close()
  })

  test('find what is in no set: the first listing of an owner goes through everything, and only that', async () => {
    const store = await open({ namespace: 'older' })
    for (let index = 0; index < 30; index++) await store.create(owned(`s-${index}`, `owner-${index % 3}`))
    // As after a failover that lost the writes to the sets, and whoever runs the server deletes the mark.
    for (const set of await setsOf('older')) await server.command('DEL', set)
    await server.command('DEL', 'older::~owners')
    const expected = Array.from({ length: 30 }, (_, index) => `s-${index}`).filter((_, index) => index % 3 === 1)
    // A cursor that somebody made up does not show that everything was gone through.
    const last = encodeURIComponent(JSON.stringify(['scan', 0, 7, '', '0', []]))
    expect((await store.list({ owner: 'owner-1', limit: 10, cursor: last })).sessions).toEqual([])
    expect(await numberOf('EXISTS', 'older::~owners')).toBe(0)
    expect(await idsOf(store, { owner: 'owner-1', limit: 3 })).toEqual(expected.sort())
    expect(await numberOf('EXISTS', 'older::~owners')).toBe(1)
    expect(await setsOf('older')).toHaveLength(3)
    proxy.takeTraffic()
    expect(await idsOf(store, { owner: 'owner-1', limit: 100 })).toEqual(expected.sort())
    expect(proxy.takeTraffic().commands).not.toContain('SCAN')
    await store.close()
  })

  test('leave keys of others alone, whatever they are', async () => {
    const store = await open({ namespace: 'mixed' })
    await store.create(owned('a'))
    await server.command('HSET', 'mixed::someone', 'field', 'value')
    await server.command('SET', 'mixed::text', 'value')
    await server.command('HSET', 'mixed::~other', 'revision', '1', 'head', '{}')
    await server.command('HSET', 'other::a', 'revision', '1', 'head', '{}')
    await store.claim('digest', 'id', 1_000)
    expect(await idsOf(store)).toEqual(['a'])
    await store.close()
  })

  test('a cursor survives a restart of the server, of the process and of both', async () => {
    const store = await open({ namespace: 'restart' })
    const ids = Array.from({ length: 60 }, (_, index) => `s-${index}`).sort()
    for (const id of ids) await store.create(owned(id))
    for (const query of [{ limit: 7 }, { limit: 7, owner: 'ada' }]) {
      const first = await store.list(query)
      await server.kill()
      await server.start()
      const other = await open({ namespace: 'restart' })
      const found = new Set(first.sessions.map(({ id }) => id))
      for (let { cursor } = first; cursor !== undefined; ) {
        const page = await other.list({ ...query, cursor })
        for (const { id } of page.sessions) found.add(id)
        cursor = page.cursor
      }
      expect([...found].sort()).toEqual(ids)
      await other.close()
    }
    await store.close()
  })
})
