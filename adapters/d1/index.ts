/**
 * The entry point `turnkeeper/d1`: sessions in a D1 database of Cloudflare. It declares the few platform types that it
 * uses, so that it works with every version of Cloudflare's types.
 *
 * @module turnkeeper/d1
 */
export type { ServerlessStoreOptions } from '../../src/stores/keyv/serverless-options.js'
export type { D1DatabaseLike, D1StatementLike } from './d1-driver.js'
export type { D1SessionStoreOptions } from './d1-session-store.js'
export { D1SessionStore } from './d1-session-store.js'
