/**
 * Decides that the Redis driver does what every store must do, on a real server, with each way of setting up a Keyv.
 */
import KeyvRedis, { createCluster, Keyv } from '@keyv/redis'
import { afterAll, beforeAll, describe, test } from 'vitest'
import { createRedisDriver } from '../../../src/stores/keyv/drivers/redis/redis-driver.js'
import { createRedisKeyv, KeyvSessionStore, type SessionDriver } from '../../../src/stores/keyv/index.js'
import { type SessionStoreSuiteOptions, sessionStoreSuite } from '../../suites/stores/session-store-suite.js'
import { freePort, isRedisMissing, type RedisServer, startRedis } from '../servers/redis-server.js'
import { driverCases } from './driver-cases.js'
import { goldenCases } from './golden/golden-cases.js'
import { encryptionHooks, zlibCompression } from './keyv-hooks.js'
import { checkRandomCuts } from './random-cuts.js'
import { redisClient } from './redis-client.js'

let server: RedisServer

/** Short, because the suite waits for some to expire, and long enough for a busy machine. */
const leases = { ttlMs: 300 }

/** What the suite needs to make trouble, for keys with `prefix` before them. */
function troubleWith(prefix: string): SessionStoreSuiteOptions {
  return {
    claims: true,
    lists: true,
    corrupt: async (sessionId) => void (await server.command('HSET', `${prefix}${sessionId}`, 'head', '{"cut":')),
    createUnreachable: async () => {
      const url = `redis://127.0.0.1:${await freePort()}`
      return new KeyvSessionStore({ keyv: await createRedisKeyv(url, { connectTimeoutMs: 200 }) })
    },
  }
}

describe.skipIf(isRedisMissing)('over Redis', () => {
  beforeAll(async () => {
    server = await startRedis()
  })
  afterAll(() => server?.close())

  describe('the driver', () => {
    let drivers: SessionDriver[] = []
    beforeAll(async () => {
      const keyvs = [await createRedisKeyv(server.url), await createRedisKeyv(server.url)]
      drivers = keyvs.map(createRedisDriver)
    })
    afterAll(() => Promise.all(drivers.map((driver) => driver.close())))
    driverCases(
      () => drivers[0] as SessionDriver,
      () => drivers[1] as SessionDriver,
    )
    goldenCases(() => drivers[0] as SessionDriver)
  })

  describe('as createRedisKeyv makes it', () => {
    const open = async (): Promise<KeyvSessionStore> =>
      new KeyvSessionStore({ keyv: await createRedisKeyv(server.url, { lease: leases }) })
    const absoluteTtl: SessionStoreSuiteOptions['absoluteTtl'] = {
      createStore: async ({ absoluteTtlMs, ...times }) => {
        const keyv = await createRedisKeyv(server.url, { namespace: 'aging', ...times })
        return new KeyvSessionStore({ keyv, ...(absoluteTtlMs === undefined ? {} : { absoluteTtlMs }) })
      },
      expiresAt: (sessionId) =>
        redisClient(server.url, async ({ send }) => {
          const at = Number(await send(['PEXPIRETIME', `aging::${sessionId}`]))
          return at < 0 ? undefined : at
        }),
    }
    sessionStoreSuite(test, open, { ...troubleWith('turnkeeper::'), leases, absoluteTtl })

    test('gives two processes the right entries, whatever they cut and append in turn', async () => {
      const stores = [await open(), await open()]
      await checkRandomCuts(stores, { runs: 60 })
      for (const store of stores) await store.close()
    })
  })

  describe('with no cache', () => {
    const open = async (): Promise<KeyvSessionStore> =>
      new KeyvSessionStore({ keyv: await createRedisKeyv(server.url), cacheBytes: 0 })
    sessionStoreSuite(test, open, troubleWith('turnkeeper::'))
  })

  describe('as an application makes it, with a namespace and a TTL', () => {
    const open = (): KeyvSessionStore =>
      new KeyvSessionStore({
        keyv: new Keyv(new KeyvRedis(server.url), { namespace: 'talks', ttl: 3_600_000, emitErrors: false }),
      })
    sessionStoreSuite(test, open, troubleWith('talks::'))
  })

  describe('with texts that are encrypted', () => {
    const hooks = encryptionHooks()
    const open = async (): Promise<KeyvSessionStore> => {
      const keyv = await createRedisKeyv(server.url, { namespace: 'secret' })
      return new KeyvSessionStore({ keyv: Object.assign(keyv, hooks) })
    }
    sessionStoreSuite(test, open, troubleWith('secret::'))
  })

  describe('over a Cluster client', () => {
    let node: RedisServer
    beforeAll(async () => {
      // Not the port and 10 000 more, as it would be: that may be no port at all.
      node = await startRedis({ settings: { 'cluster-enabled': 'yes', 'cluster-port': String(await freePort()) } })
      await node.command('CLUSTER', 'ADDSLOTSRANGE', '0', '16383')
      while (!(await node.command('CLUSTER', 'INFO')).includes('cluster_state:ok'));
    })
    afterAll(() => node?.close())
    const open = async (): Promise<KeyvSessionStore> => {
      const client = createCluster({ rootNodes: [{ url: node.url }] })
      return new KeyvSessionStore({ keyv: await createRedisKeyv(undefined, { client, lease: leases }) })
    }
    sessionStoreSuite(test, open, { claims: true, lists: true, leases })
  })

  describe('with texts that are compressed', () => {
    const open = async (): Promise<KeyvSessionStore> => {
      const keyv = await createRedisKeyv(server.url, { namespace: 'packed' })
      keyv.compression = zlibCompression
      return new KeyvSessionStore({ keyv })
    }
    sessionStoreSuite(test, open, troubleWith('packed::'))
  })
})
