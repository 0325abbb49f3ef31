/**
 * Chooses the driver for a Keyv by its adapter, and decides how its keys and texts are made. To add a driver, change
 * only this file.
 */
import type { Keyv } from 'keyv'
import { invalidInput } from '../../errors/engine-errors.js'
import type { SessionDriver } from './driver/session-driver.js'
import { leaseOf } from './drivers/lease-settings.js'
import { createMapDriver } from './drivers/map-driver.js'
import { createPostgresDriver } from './drivers/postgres/postgres-driver.js'
import { createProcessDriver } from './drivers/process-driver.js'
import { isRedisAdapter } from './drivers/redis/connection/redis-client.js'
import { createRedisDriver } from './drivers/redis/redis-driver.js'
import { isSqlAdapter } from './drivers/sql-adapter.js'
import { createSqliteDriver } from './drivers/sqlite/sqlite-driver.js'
import { createTextCodec } from './keyv-codec.js'
import type { ChosenDriver } from './layout/chosen-driver.js'
import { plainCodec } from './layout/codec.js'

/** The options of the store that the choice depends on. */
export interface DriverOptions {
  readonly keyv: Keyv
  readonly consistency?: 'process'
  readonly driver?: SessionDriver
}

/**
 * Chooses the driver.
 *
 * @throws `InvalidInputError` for an adapter without a driver, and for a value that is not a Keyv.
 */
export function chooseDriver({ keyv, consistency, driver }: DriverOptions): ChosenDriver {
  if (typeof keyv?.serializeData !== 'function') {
    throw invalidInput('KeyvSessionStore: keyv must be a Keyv of version 5.6 or later.')
  }
  if (consistency !== undefined && consistency !== 'process') {
    throw invalidInput("KeyvSessionStore: consistency can only be 'process'.")
  }
  const own = driver ?? driverOf(keyv)
  if (own !== undefined) return { driver: own, keyOf: (key) => prefixed(keyv, key), codec: createTextCodec(keyv) }
  if (consistency === undefined) throw invalidInput(refusal(keyv))
  // This driver works through Keyv, which adds the namespace and calls the hooks itself.
  return { driver: createProcessDriver(keyv), keyOf: (key) => key, codec: plainCodec }
}

function driverOf(keyv: Keyv): SessionDriver | undefined {
  const adapter: unknown = keyv.store
  if (adapter instanceof Map) return createMapDriver(adapter)
  if (isRedisAdapter(adapter)) return createRedisDriver(keyv)
  if (isSqlAdapter(adapter, 'sqlite')) return createSqliteDriver(adapter, leaseOf(keyv))
  if (isSqlAdapter(adapter, 'postgres')) return createPostgresDriver(adapter, leaseOf(keyv))
  return undefined
}

/** The key as the adapter would make it, with the namespace added once. */
function prefixed(keyv: Keyv, key: string): string {
  const adapter: unknown = keyv.store
  if (isRedisAdapter(adapter)) return adapter.createKeyPrefix(key, adapter.namespace)
  return keyv.useKeyPrefix && keyv.namespace ? `${keyv.namespace}:${key}` : key
}

function refusal(keyv: Keyv): string {
  const name: unknown = keyv.store?.constructor?.name
  if (name === 'KeyvValkey') {
    return (
      'KeyvSessionStore: the Keyv adapter KeyvValkey (@keyv/valkey) has no known compare-and-swap. ' +
      'Use @keyv/redis, which also works with Valkey servers: call createRedisKeyv with the same address.'
    )
  }
  const adapter = typeof name === 'string' && name !== '' ? name : 'in use'
  return (
    `KeyvSessionStore: the Keyv adapter ${adapter} has no known compare-and-swap, so two processes would overwrite ` +
    'each other. Use @keyv/redis, @keyv/sqlite, @keyv/postgres or a Map, ' +
    "pass a driver, or pass consistency: 'process' if only one process uses the backend."
  )
}
