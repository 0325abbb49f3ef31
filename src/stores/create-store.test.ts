import { afterEach, describe, expect, test, vi } from 'vitest'
import { FakeSessionStore } from '../../testing/fake-session-store/fake-session-store.js'
import { VirtualClock } from '../../testing/virtual-clock/virtual-clock.js'
import { ConfigManager } from '../config/config-manager.js'
import { InvalidInputError } from '../errors/engine-errors.js'
import type { SessionStore } from '../session/session-store.js'
import { checkStore, createStore, prepareStore, setKeyvLoader } from './create-store.js'
import { MemorySessionStore } from './memory/memory-store.js'
// As on Node: settings may name the stores of turnkeeper/keyv.
import '../index.node.js'

const clock = new VirtualClock()

afterEach(() => {
  vi.unstubAllEnvs()
})

describe('createStore', () => {
  test('[2.6-6] reads the setting SESSION_STORE from the environment', () => {
    vi.stubEnv('SESSION_STORE', 'memory')
    expect(createStore(new ConfigManager(), clock)).toBeInstanceOf(MemorySessionStore)
    vi.stubEnv('SESSION_STORE', 'nowhere')
    expect(() => createStore(new ConfigManager(), clock)).toThrow(
      new InvalidInputError({
        message:
          "SESSION_STORE is 'nowhere'; allowed: memory, redis, sqlite, postgres. For a store of your own, pass sessionStore to the engine.",
      }),
    )
  })

  test.each([undefined, 'memory', 'Memory', 'MEMORY'])('%j is the memory store', (value) => {
    expect(createStore({ get: () => value }, clock)).toBeInstanceOf(MemorySessionStore)
  })

  test.each<[unknown, string]>([
    ['', "''"],
    ['memory ', "'memory '"],
    ['__proto__', "'__proto__'"],
    [5, "'5'"],
    [{}, "'[object Object]'"],
  ])('refuses %j', (value, shown) => {
    const config = { get: () => value as string }
    expect(() => createStore(config, clock)).toThrow(
      `SESSION_STORE is ${shown}; allowed: memory, redis, sqlite, postgres. For a store of your own, pass sessionStore to the engine.`,
    )
  })

  test('reads only that setting', () => {
    const asked: string[] = []
    createStore(
      {
        get(key) {
          asked.push(key)
          return undefined
        },
      },
      clock,
    )
    expect([...new Set(asked)]).toEqual(['SESSION_STORE'])
  })

  test('makes a new store each time', () => {
    const config = new ConfigManager()
    expect(createStore(config, clock)).not.toBe(createStore(config, clock))
  })
})

describe('prepareStore', () => {
  const settings = (values: Readonly<Record<string, string>>): ConfigManager => new ConfigManager({ values })

  test.each([{}, { SESSION_STORE: 'Memory' }])('prepares nothing for %j', async (values) => {
    expect(await prepareStore(settings(values))).toBeUndefined()
  })

  test('[2.6-6] makes a store that other processes can use from the settings, and needs no server for it', async () => {
    const store = await prepareStore(settings({ SESSION_STORE: 'Redis', REDIS_URL: 'redis://127.0.0.1:1' }))
    expect(store?.guarantees).toEqual({ compareAndSwap: 'backend', durable: true })
    await expect(store?.load('session')).rejects.toThrow('ECONNREFUSED')
    await store?.close()
  })

  test('refuses a store of an optional package on a runtime without Node modules, and in a bundle that cannot load it', async () => {
    const message = "SESSION_STORE is 'redis', which cannot be loaded here: pass sessionStore to the engine."
    const cause = new Error('Cannot find package')
    try {
      setKeyvLoader(undefined)
      await expect(prepareStore(settings({ SESSION_STORE: 'redis' }))).rejects.toMatchObject({ message })
      setKeyvLoader(() => Promise.reject(cause))
      await expect(prepareStore(settings({ SESSION_STORE: 'redis' }))).rejects.toMatchObject({ message, cause })
    } finally {
      setKeyvLoader(() => import('./keyv/index.js'))
    }
  })

  test('refuses what createStore refuses, and an invalid setting', async () => {
    await expect(prepareStore({ get: () => 'nowhere' })).rejects.toThrow(
      "SESSION_STORE is 'nowhere'; allowed: memory, redis, sqlite, postgres.",
    )
    await expect(prepareStore(settings({ SESSION_STORE: 'redis', SESSION_TTL_MS: '1h' }))).rejects.toMatchObject({
      code: 'INVALID_INPUT',
      message: "SESSION_TTL_MS is '1h'; it must be a whole number of milliseconds above 0.",
    })
    await expect(prepareStore(settings({ SESSION_STORE: 'redis', REDIS_URL: 'localhost' }))).rejects.toMatchObject({
      code: 'INVALID_INPUT',
      message: 'createRedisKeyv: the address must read redis://host:port or rediss://host:port.',
    })
  })

  test.each(['redis', 'sqlite', 'postgres'])('createStore refuses %s, which must be prepared', (name) => {
    expect(() => createStore({ get: () => name }, clock)).toThrow(
      new InvalidInputError({
        message: `SESSION_STORE is '${name}': use await FlowEngine.create(), or pass sessionStore to the engine.`,
      }),
    )
  })
})

describe('checkStore', () => {
  test('accepts a store, and no store', () => {
    const store = new FakeSessionStore()
    expect(checkStore(store)).toBe(store)
    expect(checkStore(undefined)).toBeUndefined()
  })

  test.each(['load', 'create', 'save', 'delete', 'close'] as const)('names %s if a store lacks it', (operation) => {
    const store = Object.assign(new FakeSessionStore(), { [operation]: undefined })
    expect(() => checkStore(store)).toThrow(
      new InvalidInputError({
        message: `FlowEngine: sessionStore must be a SessionStore; it has no method ${operation}.`,
      }),
    )
  })

  test.each([null, 'memory', 5, {}])('refuses %j', (value) => {
    expect(() => checkStore(value as unknown as SessionStore)).toThrow('it has no method load.')
  })
})
