/**
 * The entry point `turnkeeper/durable-object`: sessions in Durable Objects of Cloudflare. It declares the few platform
 * types that it uses, so that it works with every version of Cloudflare's types.
 *
 * @module turnkeeper/durable-object
 */
export type { ServerlessStoreOptions } from '../../src/stores/keyv/serverless-options.js'
export type { DurableObjectSessionStoreOptions } from './durable-object-session-store.js'
export { DurableObjectSessionStore } from './durable-object-session-store.js'
export type { DurableObjectNamespaceLike, DurableObjectStubLike } from './object-driver.js'
export type { DurableObjectStorageLike, SqlStorageLike } from './object-storage.js'
export type { DurableObjectStateLike } from './session-object.js'
export { SessionObject } from './session-object.js'
