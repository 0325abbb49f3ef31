import type { Keyv } from 'keyv'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { ConfigManager } from '../../../../config/config-manager.js'
import { InvalidInputError } from '../../../../errors/engine-errors.js'
import { KeyvSessionStore } from '../../keyv-session-store.js'
import { createStoreFromSettings } from '../../store-from-settings.js'
import { leaseOf } from '../lease-settings.js'
import type { RedisClientLike } from './connection/redis-client.js'
import { createRedisKeyv, type RedisKeyvOptions } from './create-redis-keyv.js'
import { redisSettingsOf } from './redis-settings.js'

/** The options of the created client. */
function clientOptions(keyv: Keyv): Record<string, unknown> & { socket: Record<string, unknown> } {
  return keyv.store.client.options
}

afterEach(() => {
  vi.doUnmock('@keyv/redis')
  vi.resetModules()
})

describe('createRedisKeyv', () => {
  test('sets the client up to report failures, and does not connect', async () => {
    const keyv = await createRedisKeyv('redis://user:word@127.0.0.1:6380/2')
    expect(clientOptions(keyv)).toMatchObject({
      disableOfflineQueue: true,
      pingInterval: 1_000,
      username: 'user',
      database: 2,
      socket: { host: '127.0.0.1', port: 6380, connectTimeout: 2_000, socketTimeout: 3_000 },
    })
    expect(keyv.store.client.isOpen).toBe(false)
    expect([keyv.throwOnErrors, keyv.store.throwOnErrors]).toEqual([true, true])
    expect([keyv.namespace, keyv.store.namespace, keyv.useKeyPrefix, keyv.ttl]).toEqual([
      'turnkeeper',
      'turnkeeper',
      false,
      undefined,
    ])
  })

  test('reconnects fast at first, after two seconds at most, and after random pauses', async () => {
    const keyv = await createRedisKeyv()
    const strategy = clientOptions(keyv).socket.reconnectStrategy as (attempts: number) => number
    const delays = (attempts: number): number[] => Array.from({ length: 50 }, () => strategy(attempts))
    expect(Math.max(...delays(0))).toBeLessThanOrEqual(50)
    for (const delay of delays(1_000)) {
      expect(delay).toBeGreaterThanOrEqual(1_000)
      expect(delay).toBeLessThanOrEqual(2_000)
    }
    expect(new Set(delays(3)).size).toBeGreaterThan(10)
  })

  test('uses leases only with the option', async () => {
    const lease = { ttlMs: 10_000 }
    expect(leaseOf(await createRedisKeyv(undefined, { lease }))).toEqual(lease)
    expect(new KeyvSessionStore({ keyv: await createRedisKeyv(undefined, { lease }) }).lease).toBeTypeOf('function')
    expect(new KeyvSessionStore({ keyv: await createRedisKeyv() }).lease).toBeUndefined()
  })

  test.each([
    [{ ttlMs: 0 }, 'createRedisKeyv: lease.ttlMs must be a number above 0; got 0.'],
    [{ ttlMs: Number.POSITIVE_INFINITY }, 'createRedisKeyv: lease.ttlMs must be a number above 0; got Infinity.'],
    [{ ttlMs: '10' }, "createRedisKeyv: lease.ttlMs must be a number above 0; got the text '10'."],
    [{}, 'createRedisKeyv: lease.ttlMs must be a number above 0; got undefined.'],
    [true, 'createRedisKeyv: lease must be an object.'],
    [{ ttlMs: 10, ttl: 10 }, "createRedisKeyv: there is no option 'lease.ttl'. The options of lease are ttlMs."],
  ])('refuses the lease %j', async (lease, message) => {
    await expect(createRedisKeyv(undefined, { lease } as RedisKeyvOptions)).rejects.toThrow(message)
  })

  test('accepts timeouts, a namespace, a time to live and a wait', async () => {
    const keyv = await createRedisKeyv(undefined, {
      namespace: 'talks',
      ttlMs: 5_000,
      connectTimeoutMs: 100,
      replyTimeoutMs: 302,
      wait: { replicas: 2 },
    })
    expect(clientOptions(keyv)).toMatchObject({
      pingInterval: 101,
      socket: { host: '127.0.0.1', port: 6379, connectTimeout: 100, socketTimeout: 302 },
    })
    expect([keyv.namespace, keyv.ttl]).toEqual(['talks', 5_000])
    expect(redisSettingsOf(keyv)).toEqual({ wait: { replicas: 2, timeoutMs: 151 }, replyWithinMs: 302 })
  })

  test("accepts the application's client, and closes none of its connections", async () => {
    const client: RedisClientLike = {
      isOpen: false,
      connect: async () => undefined,
      destroy: () => undefined,
      on: () => undefined,
      off: () => undefined,
      sendCommand: async () => ['1-a', null],
    }
    const keyv = await createRedisKeyv('not used', { client })
    expect(keyv.store.client).toBe(client)
    expect(redisSettingsOf(keyv).replyWithinMs).toBeUndefined()
    expect(new KeyvSessionStore({ keyv }).guarantees.durable).toBe(true)
  })

  test.each<[string, string | undefined, RedisKeyvOptions]>([
    ['the address must read redis://host:port or rediss://host:port.', 'localhost:6379', {}],
    ['the address must read redis://host:port or rediss://host:port.', 'http://localhost', {}],
    ['ttlMs must be a number above 0; got 0.', undefined, { ttlMs: 0 }],
    ['ttlMs must be a number above 0; got NaN.', undefined, { ttlMs: Number.NaN }],
    ['connectTimeoutMs must be a number above 0; got -1.', undefined, { connectTimeoutMs: -1 }],
    ['replyTimeoutMs must be a number above 0; got Infinity.', undefined, { replyTimeoutMs: Number.POSITIVE_INFINITY }],
    ['wait.replicas must be a number above 0; got 0.', undefined, { wait: { replicas: 0 } }],
    ['wait.timeoutMs must be a number above 0; got 0.', undefined, { wait: { replicas: 1, timeoutMs: 0 } }],
    ['wait.timeoutMs must be below replyTimeoutMs.', undefined, { wait: { replicas: 1, timeoutMs: 3_000 } }],
  ])('refuses: %s', async (problem, url, options) => {
    await expect(createRedisKeyv(url, options)).rejects.toThrow(
      new InvalidInputError({ message: `createRedisKeyv: ${problem}` }),
    )
  })

  test('names the command that installs the missing packages', async () => {
    vi.doMock('@keyv/redis', () => {
      throw new Error("Cannot find package '@keyv/redis'")
    })
    const message = 'Sessions in Redis need two packages: npm install keyv@5 @keyv/redis@5'
    await expect(createRedisKeyv()).rejects.toMatchObject({ code: 'INVALID_INPUT', message })
    const config = new ConfigManager({ values: { SESSION_STORE: 'redis' } })
    await expect(createStoreFromSettings('redis', config)).rejects.toMatchObject({ message })
    vi.resetModules()
    vi.doMock('@keyv/redis', () => ({ default: class {} }))
    await expect(createRedisKeyv()).rejects.toMatchObject({ code: 'INVALID_INPUT', message })
  })
})
