/**
 * The entry point `turnkeeper/upstash`: sessions in Upstash Redis over HTTP, for runtimes without TCP. It uses the data
 * layout and the scripts of the Redis driver (docs/decisions/serverless-stores.md).
 *
 * @module turnkeeper/upstash
 */
export type { ServerlessStoreOptions } from '../../src/stores/keyv/serverless-options.js'
export type { UpstashRedisLike } from './upstash-connection.js'
export type { UpstashStoreOptions } from './upstash-session-store.js'
export { createUpstashStore } from './upstash-session-store.js'
