/**
 * The entry point `turnkeeper/durable-object`: sessions in Durable Objects of Cloudflare. Of the platform's types only
 * what is used is declared here, so that neither the package nor an application needs those of a certain version.
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
