import { describe, expect, test } from 'vitest'
import { documentOf } from '../../../testing/contract/session-bench.js'
import { ConfigManager } from '../../config/config-manager.js'
import { InvalidInputError } from '../../errors/engine-errors.js'
import type { SessionStore } from '../../session/session-store.js'
import { KeyvSessionStore } from './keyv-session-store.js'
import { createStoreFromSettings } from './store-from-settings.js'

const make = (name: string, values: Readonly<Record<string, string>> = {}): Promise<SessionStore> =>
  createStoreFromSettings(name, new ConfigManager({ values }))

describe('a store from settings', () => {
  test('redis: uses its default address, or another, and does not connect yet', async () => {
    const url = 'redis://127.0.0.1:1'
    const settings = { REDIS_URL: url, SESSION_TTL_MS: '1000', SESSION_NAMESPACE: 'talks' }
    for (const store of [await make('redis'), await make('redis', settings)]) {
      expect(store).toBeInstanceOf(KeyvSessionStore)
      expect(store.guarantees).toMatchObject({ compareAndSwap: 'backend', durable: true })
      await store.close()
    }
  })

  test.each(['1h', '0', '-5', '1.5', ''])('refuses SESSION_TTL_MS %j', async (SESSION_TTL_MS) => {
    await expect(make('redis', { SESSION_TTL_MS })).rejects.toThrow(
      new InvalidInputError({
        message: `SESSION_TTL_MS is '${SESSION_TTL_MS}'; it must be a whole number of milliseconds above 0.`,
      }),
    )
  })

  test.each(['1h', '0', ''])('refuses SESSION_ABSOLUTE_TTL_MS %j', async (SESSION_ABSOLUTE_TTL_MS) => {
    await expect(make('redis', { SESSION_ABSOLUTE_TTL_MS })).rejects.toThrow(
      `SESSION_ABSOLUTE_TTL_MS is '${SESSION_ABSOLUTE_TTL_MS}'; it must be a whole number of milliseconds above 0.`,
    )
  })

  test('a session that is older than SESSION_ABSOLUTE_TTL_MS is not stored', async () => {
    const store = await make('redis', { REDIS_URL: 'redis://127.0.0.1:1', SESSION_ABSOLUTE_TTL_MS: '1000' })
    const old = { ...documentOf('a', '1-a'), createdAt: new Date(Date.now() - 1000).toISOString() }
    await expect(store.create(old)).rejects.toMatchObject({ code: 'SESSION_CONFLICT' })
    await store.close()
  })

  test('postgres: has no default address', async () => {
    await expect(make('postgres')).rejects.toThrow(
      new InvalidInputError({
        message:
          "SESSION_STORE is 'postgres', so POSTGRES_URL must be set to the address: postgres://user:password@host:5432/database.",
      }),
    )
  })

  test('refuses any other name', async () => {
    await expect(make('memory')).rejects.toThrow("There is no store for SESSION_STORE 'memory'.")
  })
})
