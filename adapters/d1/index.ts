/**
 * The entry point `turnkeeper/d1`: sessions in a D1 database of Cloudflare. Of the platform's types only what is used
 * is declared here, so that neither the package nor an application needs those of a certain version.
 *
 * @module turnkeeper/d1
 */
export type { ServerlessStoreOptions } from '../../src/stores/keyv/serverless-options.js'
export type { D1DatabaseLike, D1StatementLike } from './d1-driver.js'
export type { D1SessionStoreOptions } from './d1-session-store.js'
export { D1SessionStore } from './d1-session-store.js'
