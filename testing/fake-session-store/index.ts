/** A session store that keeps a journal and fails on request. */
export { FakeSessionStore } from './fake-session-store.js'
export type { FakeStoreCall, FakeStoreOperation } from './journal.js'
export type { FakeSessionStoreOptions } from './options.js'
