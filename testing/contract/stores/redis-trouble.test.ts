/**
 * Decides what becomes of sessions in Redis when the server is down, paused, killed, full, a replica, or holds
 * something else: an error, soon, never a missing session; and turns work again without help.
 */
import { createKeyv } from '@keyv/redis'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { ConfigManager, Flow, FlowEngine, LogicStep, reply } from '../../../src/index.node.js'
import { createRedisKeyv, KeyvSessionStore, type RedisKeyvOptions } from '../../../src/stores/keyv/index.js'
import { isRedisMissing, type RedisServer, startRedis } from '../servers/redis-server.js'
import { startTcpProxy } from '../servers/tcp-proxy.js'
import { newSession, turnOn } from './turns.js'

let server: RedisServer
let stores: KeyvSessionStore[] = []

/** A store over the server, with timeouts that are short, but longer than what a busy machine needs to answer. */
async function open(options: RedisKeyvOptions = {}, url: string = server.url): Promise<KeyvSessionStore> {
  const keyv = await createRedisKeyv(url, { connectTimeoutMs: 1_000, replyTimeoutMs: 1_000, ...options })
  const store = new KeyvSessionStore({ keyv })
  stores.push(store)
  return store
}

/** Asks again and again until it does not reject. */
async function eventually<T>(work: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await work()
    } catch {
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
  }
}

/** A session with one turn, stored. */
async function stored(store: KeyvSessionStore, id: string): Promise<ReturnType<typeof turnOn>> {
  const first = turnOn(newSession(id), '1-a').document
  await store.create(first)
  return turnOn(first, '2-a')
}

describe.skipIf(isRedisMissing)('over Redis in trouble', () => {
  beforeAll(async () => {
    server = await startRedis({ appendOnly: 'always' })
  })
  afterAll(() => server?.close())
  afterEach(async () => {
    server.resume()
    await Promise.all(stores.map((store) => store.close()))
    stores = []
  })

  test('a server that lost the scripts gets them again', async () => {
    const store = await open()
    const { document, expectedRevision, hint } = await stored(store, 'flushed')
    expect(await server.command('SCRIPT', 'FLUSH')).toBe('+OK\r\n')
    await store.save(document, expectedRevision, hint)
    expect(await server.command('SCRIPT', 'FLUSH')).toBe('+OK\r\n')
    await store.delete('flushed', '2-a')
    expect(await server.command('HLEN', 'turnkeeper::flushed')).toBe(':1\r\n')
    const [ttl, day] = [Number((await server.command('PTTL', 'turnkeeper::flushed')).slice(1)), 86_400_000]
    expect(ttl).toBeGreaterThan(day - 60_000)
    expect(ttl).toBeLessThanOrEqual(day)
  })

  test('something else under the key: errors, and only a delete without a revision removes it', async () => {
    const store = await open()
    const { document, expectedRevision } = await stored(store, 'wrong')
    await server.command('SET', 'turnkeeper::wrong', 'a string')
    await expect(store.load('wrong')).rejects.toThrow('WRONGTYPE')
    await expect(store.save(document, expectedRevision)).rejects.toThrow('WRONGTYPE')
    await expect(store.create(document)).rejects.toThrow('WRONGTYPE')
    await expect(store.delete('wrong', expectedRevision)).rejects.toThrow('WRONGTYPE')
    await store.delete('wrong')
    expect(await store.load('wrong')).toBeUndefined()
  })

  test('a server without memory: saves fail, loads work, and both work again afterwards', async () => {
    const store = await open()
    const { document, expectedRevision, hint } = await stored(store, 'full')
    await server.command('CONFIG', 'SET', 'maxmemory', '1')
    try {
      await expect(store.save(document, expectedRevision, hint)).rejects.toThrow('OOM')
      expect((await store.load('full'))?.revision).toBe('1-a')
      // The same save, sent again: nothing is added, so nothing is refused.
      await store.create(turnOn(newSession('full'), '1-a').document)
    } finally {
      await server.command('CONFIG', 'SET', 'maxmemory', '0')
    }
    await store.save(document, expectedRevision, hint)
    expect((await store.load('full'))?.revision).toBe('2-a')
    await server.command('CONFIG', 'SET', 'maxmemory', '1')
    try {
      // What the delete frees has room for its mark.
      await store.delete('full', '2-a')
      expect(await store.isDeleted?.('full')).toBe(true)
    } finally {
      await server.command('CONFIG', 'SET', 'maxmemory', '0')
    }
  })

  test('a server that became a replica: saves fail, and work again when it is a master', async () => {
    const store = await open()
    const { document, expectedRevision, hint } = await stored(store, 'replica')
    await server.command('REPLICAOF', '127.0.0.1', '1')
    try {
      await expect(store.save(document, expectedRevision, hint)).rejects.toThrow('READONLY')
      await expect(store.delete('replica')).rejects.toThrow('READONLY')
    } finally {
      await server.command('REPLICAOF', 'NO', 'ONE')
    }
    await store.save(document, expectedRevision, hint)
  })

  test('a paused server: calls reject within the timeout, and work again when it goes on', async () => {
    const store = await open()
    const { document, expectedRevision, hint } = await stored(store, 'paused')
    server.pause()
    await expect(store.load('paused')).rejects.toThrow()
    await expect(store.save(document, expectedRevision, hint)).rejects.toThrow()
    server.resume()
    await eventually(() => store.load('paused'))
    await eventually(() => store.save(document, expectedRevision, hint))
    expect((await store.load('paused'))?.history).toHaveLength(2)
  })

  test('a paused server that is written to all the time: calls reject all the same', async () => {
    const store = await open()
    await stored(store, 'busy')
    server.pause()
    let rejected = 0
    const calls: Promise<unknown>[] = []
    while (rejected === 0) {
      calls.push(store.load('busy').catch(() => rejected++))
      await new Promise((resolve) => setTimeout(resolve, 30))
    }
    await Promise.all(calls)
    expect(rejected).toBe(calls.length)
    server.resume()
    expect((await eventually(() => store.load('busy')))?.revision).toBe('1-a')
  })

  test('killed with a save under way: it rejects, and the session is there after the restart', async () => {
    const store = await open()
    const { document, expectedRevision, hint } = await stored(store, 'killed')
    server.pause()
    const saving = store.save(document, expectedRevision, hint).then(
      () => 'saved',
      () => 'rejected',
    )
    await new Promise((resolve) => setImmediate(resolve))
    await server.kill()
    expect(await saving).toBe('rejected')
    await expect(store.load('killed')).rejects.toThrow()
    await server.start()
    const found = await eventually(() => store.load('killed'))
    if (found?.revision === '1-a') await store.save(document, expectedRevision, hint)
    expect((await store.load('killed'))?.revision).toBe('2-a')
  })

  test('down at the start: an engine is made, its turns fail, and work once the server is up', async () => {
    await server.kill()
    class Echo extends LogicStep {
      override run() {
        return reply('There.')
      }
    }
    class Talk extends Flow {
      override steps() {
        return [Echo]
      }
    }
    const configManager = new ConfigManager({ values: { SESSION_STORE: 'redis', REDIS_URL: server.url } })
    const engine = await FlowEngine.create({ flows: [Talk], configManager })
    try {
      for (let count = 0; count < 2; count++) {
        const { error } = await engine.execute({ flowName: 'Talk', userMessage: 'hello', sessionId: 'given' })
        expect(error).toMatchObject({ code: 'SESSION_STORE_ERROR', operation: 'load' })
      }
      await server.start()
      const { session } = await eventually(async () => {
        const { response, error } = await engine.execute({ flowName: 'Talk', userMessage: 'hello' })
        if (error !== undefined) throw error
        return response
      })
      expect((await engine.getSession(session))?.history).toHaveLength(1)
    } finally {
      await engine.close()
    }
  })

  test('a call in the moment of a cut waits for the connection that follows', async () => {
    const proxy = await startTcpProxy(server.port)
    const keyv = await createRedisKeyv(`redis://127.0.0.1:${proxy.port}`)
    const store = new KeyvSessionStore({ keyv })
    await stored(store, 'cut')
    const found = new Promise((resolve) => keyv.once('error', () => resolve(store.load('cut'))))
    proxy.cut()
    expect(await found).toMatchObject({ revision: '1-a' })
    await store.close()
    await proxy.close()
  })

  test('a save that waited in a client of the application does not overwrite a newer one', async () => {
    // This client queues commands while the server is away, as clients do by default.
    const keyv = createKeyv(server.url, { namespace: 'turnkeeper' })
    const theirs = new KeyvSessionStore({ keyv })
    stores.push(theirs)
    const { document, expectedRevision, hint } = await stored(theirs, 'queued')
    await server.kill()
    while (keyv.store.client.isReady) await new Promise((resolve) => setImmediate(resolve))
    const queued = theirs.save(document, expectedRevision, hint).then(
      () => 'saved',
      (error) => error.code,
    )
    await server.start()
    const ours = await open()
    const newer = turnOn((await ours.load('queued')) ?? document, '2-b', 'newer')
    const won = await ours.save(newer.document, newer.expectedRevision).then(
      () => true,
      () => false,
    )
    expect(await queued).toBe(won ? 'SESSION_CONFLICT' : 'saved')
    expect((await ours.load('queued'))?.revision).toBe(won ? '2-b' : '2-a')
  })
})
