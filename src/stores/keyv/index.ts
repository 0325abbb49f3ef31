/**
 * Sessions in Redis, SQLite, Postgres or another Keyv.
 *
 * @module turnkeeper/keyv
 */

// Only a list of names, kept by hand.

export type {
  ListedSession,
  SessionDriver,
  SessionListing,
  SessionOwner,
  SessionSwap,
  StoredHead,
  StoredSession,
  SwapOutcome,
} from './driver/session-driver.js'
export type { PostgresKeyvOptions } from './drivers/postgres/create-postgres-keyv.js'
export { createPostgresKeyv } from './drivers/postgres/create-postgres-keyv.js'
export type { RedisClientLike } from './drivers/redis/connection/redis-client.js'
export type { RedisKeyvOptions } from './drivers/redis/create-redis-keyv.js'
export { createRedisKeyv } from './drivers/redis/create-redis-keyv.js'
export type { RedisWaitOptions } from './drivers/redis/redis-settings.js'
export type { SqliteKeyvOptions } from './drivers/sqlite/create-sqlite-keyv.js'
export { createSqliteKeyv } from './drivers/sqlite/create-sqlite-keyv.js'
export type { KeyvSessionStoreOptions } from './keyv-session-store.js'
export { KeyvSessionStore } from './keyv-session-store.js'
export type { SessionTextPlace } from './layout/codec.js'
/** Loaded by the engine, by name. @internal */
export { createStoreFromSettings } from './store-from-settings.js'
