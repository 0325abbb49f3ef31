/** Makes the store that the settings describe, for every value of `SESSION_STORE` except `memory`. */
import type { Keyv } from 'keyv'
import type { ConfigReader } from '../../config/config-manager.js'
import { invalidInput } from '../../errors/engine-errors.js'
import type { SessionStore } from '../../session/session-store.js'
import { createPostgresKeyv } from './drivers/postgres/create-postgres-keyv.js'
import { createRedisKeyv } from './drivers/redis/create-redis-keyv.js'
import { createSqliteKeyv } from './drivers/sqlite/create-sqlite-keyv.js'
import { KeyvSessionStore } from './keyv-session-store.js'

/** The settings that all backends share. */
interface Common {
  readonly ttlMs?: number
  readonly namespace?: string
}

type Maker = (config: ConfigReader, common: Common) => Promise<Keyv>

/** The function that makes the Keyv, for each value of `SESSION_STORE`. */
const makers: ReadonlyMap<string, Maker> = new Map<string, Maker>([
  ['redis', (config, common) => createRedisKeyv(config.get('REDIS_URL'), common)],
  ['sqlite', (config, common) => createSqliteKeyv(config.get('SQLITE_PATH'), common)],
  ['postgres', (config, common) => createPostgresKeyv(postgresUrl(config), common)],
])

/**
 * Makes the store that `SESSION_STORE` names, from the other settings. Does not connect, so a server that is down at
 * the start may come up later.
 *
 * @throws `InvalidInputError` (rejects) if a setting is invalid or a package is not installed.
 * @internal
 */
export async function createStoreFromSettings(name: string, config: ConfigReader): Promise<SessionStore> {
  const make = makers.get(name)
  if (make === undefined) throw invalidInput(`There is no store for SESSION_STORE '${name}'.`)
  const ttlMs = timeOf(config, 'SESSION_TTL_MS')
  const absoluteTtlMs = timeOf(config, 'SESSION_ABSOLUTE_TTL_MS')
  const namespace = config.get('SESSION_NAMESPACE')
  const common = { ...(ttlMs === undefined ? {} : { ttlMs }), ...(namespace === undefined ? {} : { namespace }) }
  const keyv = await make(config, common)
  return new KeyvSessionStore({ keyv, ...(absoluteTtlMs === undefined ? {} : { absoluteTtlMs }) })
}

function postgresUrl(config: ConfigReader): string {
  const url = config.get('POSTGRES_URL')
  if (url !== undefined) return url
  throw invalidInput(
    "SESSION_STORE is 'postgres', so POSTGRES_URL must be set to the address: postgres://user:password@host:5432/database.",
  )
}

function timeOf(config: ConfigReader, name: string): number | undefined {
  const text = config.get(name)
  if (text === undefined) return undefined
  const ms = Number(text)
  if (Number.isInteger(ms) && ms > 0) return ms
  throw invalidInput(`${name} is '${text}'; it must be a whole number of milliseconds above 0.`)
}
