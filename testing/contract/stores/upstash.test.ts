/**
 * Decides that sessions in Upstash Redis do what every store must do, over the real client and a
 * stand-in for its server.
 */
import { Redis } from '@upstash/redis'
import { createUpstashStore, type UpstashStoreOptions } from 'turnkeeper/upstash'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { UpstashConnection } from '../../../adapters/upstash/upstash-connection.js'
import type { SessionStore } from '../../../src/index.js'
import { createRedisSessionDriver } from '../../../src/stores/keyv/drivers/redis/redis-session-driver.js'
import { createRedisKeyv, KeyvSessionStore, type SessionDriver } from '../../../src/stores/keyv/index.js'
import { type SessionStoreSuiteOptions, sessionStoreSuite } from '../../suites/stores/session-store-suite.js'
import { freePort, isRedisMissing, type RedisServer, startRedis } from '../servers/redis-server.js'
import { startUpstash } from '../servers/upstash-stand-in.js'
import { runContention } from '../storm/contention.js'
import { countOf, judge } from '../storm/verdict.js'
import { driverCases, swapOf } from './driver-cases.js'
import { driverTextCases } from './driver-text-cases.js'
import { redisClient } from './redis-client.js'
import { newSession, turnOn } from './turns.js'

const token = 'a-token'
/** What the client can be set to do with replies and requests. */
const plain = { automaticDeserialization: false, enableAutoPipelining: false, readYourWrites: false } as const
type ClientOptions = NonNullable<Parameters<typeof Redis.fromEnv>[0]>

let server: RedisServer
let upstash: Awaited<ReturnType<typeof startUpstash>>
/** Of so many saves the reply to the last is lost, after the session was saved. */
let lostOf = Number.POSITIVE_INFINITY
let saves = 0

function isCut(body: string): boolean {
  if (!body.includes('"save"')) return false
  saves++
  return saves % lostOf === 0
}

function client(options: ClientOptions = {}): Redis {
  return new Redis({ url: upstash.url, token, retry: { retries: 0 }, ...options })
}

function open(options?: UpstashStoreOptions, settings?: ClientOptions): SessionStore {
  return createUpstashStore(client(settings), options)
}

function driver(settings?: ClientOptions): SessionDriver {
  const connection = new UpstashConnection(client(settings))
  return createRedisSessionDriver({
    connection,
    nodes: async () => ({ topology: 0, nodes: [] }),
    ttlMs: () => undefined,
  })
}

function optionsFor(namespace: string): SessionStoreSuiteOptions {
  return {
    claims: true,
    lists: true,
    corrupt: async (sessionId) => void (await server.command('HSET', `${namespace}::${sessionId}`, 'head', '{"cut":')),
    createUnreachable: async () =>
      createUpstashStore(new Redis({ url: `http://127.0.0.1:${await freePort()}`, token, retry: { retries: 0 } })),
    absoluteTtl: {
      createStore: (times) => open({ namespace: `${namespace}-aging`, ...times }),
      expiresAt: (sessionId) =>
        redisClient(server.url, async ({ send }) => {
          const at = Number(await send(['PEXPIRETIME', `${namespace}-aging::${sessionId}`]))
          return at < 0 ? undefined : at
        }),
    },
  }
}

describe.skipIf(isRedisMissing)('over the REST API of Upstash Redis', () => {
  beforeAll(async () => {
    server = await startRedis()
    upstash = await startUpstash(server.url, token, isCut)
  })
  afterAll(async () => {
    upstash?.close()
    await server?.close()
  })

  describe('with a client as it is made by default', () => {
    sessionStoreSuite(test, () => open(), optionsFor('turnkeeper'))
  })

  describe('with a client that parses nothing, sends each command alone and gets plain texts', () => {
    const settings = { ...plain, responseEncoding: false } as const
    sessionStoreSuite(test, () => open({ namespace: 'plain' }, settings), optionsFor('plain'))
  })

  describe('the driver', () => {
    const [one, other] = [(): SessionDriver => driver(), (): SessionDriver => driver(plain)]
    driverCases(one, other)
    driverTextCases(one, other)
  })

  test('what it stores is what the Redis driver stores, and the other way round', async () => {
    const overTcp = new KeyvSessionStore({ keyv: await createRedisKeyv(server.url) })
    const overHttp = open()
    const document = newSession('shared')
    await overTcp.create(document)
    const { document: second, expectedRevision, hint } = turnOn(document, '2-a')
    await overHttp.save(second, expectedRevision, hint)
    expect(await overTcp.load('shared')).toEqual(await overHttp.load('shared'))
    expect((await overTcp.load('shared'))?.revision).toBe('2-a')
    await overTcp.close()
  })

  test.each([
    ['in a pipeline', {}],
    ['alone', plain],
  ])('a server that has forgotten the scripts gets them again, %s', async (_how, settings) => {
    const own = driver(settings)
    const key = `forgotten-${Object.keys(settings).length}`
    await server.command('SCRIPT', 'FLUSH')
    expect(await own.swap(swapOf(key, { head: '1' }))).toBe('done')
    await server.command('SCRIPT', 'FLUSH')
    expect(await own.read(key, [])).toMatchObject({ head: '1' })
  })

  test('a client that would send a save twice is refused: as it is by default, and with retry: false', () => {
    for (const settings of [{ retry: undefined }, { retry: false }, { retry: { retries: 1 } }] as ClientOptions[]) {
      expect(() => createUpstashStore(client(settings))).toThrow(
        'createUpstashStore: make the client with retry: { retries: 0 }, so that it never sends a save twice.',
      )
    }
  })

  test.each([
    ['in a pipeline', {}],
    ['alone', plain],
  ])('an error repeats no text of the conversation, %s', async (_how, settings) => {
    const store = createUpstashStore(client({ ...settings, token: 'another' } as ClientOptions))
    const failed = await store
      .create({ ...newSession('secret'), currentFlow: 'very secret' } as never)
      .catch((error) => error)
    expect(failed).toBeInstanceOf(Error)
    expect(failed.message).toMatch(/^Unauthorized/)
    expect(`${failed.message} ${failed.stack} ${JSON.stringify(failed.cause)}`).not.toContain('very secret')
  })

  test('two processes with two clients, whose replies are lost now and then, lose no turn and double none', async () => {
    lostOf = 11
    const flushing = setInterval(() => void server.command('SCRIPT', 'FLUSH'), 200)
    const order = { kind: 'upstash', place: `${upstash.url} ${token}` } as const
    const { turns, conflicts, document } = await runContention(order, 7, 2, 100).finally(() => {
      clearInterval(flushing)
      lostOf = Number.POSITIVE_INFINITY
    })
    const verdict = judge(turns, new Map(document === undefined ? [] : [[document.id, document]]))
    console.log(
      `Upstash: 2 x 100 turns, ${conflicts} conflicts, ${countOf(verdict, 'lost')} lost, ${countOf(verdict, 'doubled')} doubled`,
    )
    expect(verdict.violations).toEqual([])
    expect(verdict.acknowledged).toBe(200)
    expect(conflicts).toBeGreaterThan(0)
  })

  test('the stand-in answers transactions, and refuses another token', async () => {
    const redis = client()
    expect(await redis.multi().set('stand-in', 'text').get('stand-in').exec()).toEqual(['OK', 'text'])
    await expect(client({ token: 'another' } as ClientOptions).get('stand-in')).rejects.toThrow('Unauthorized')
  })
})
