/** A session store that keeps a journal and fails on request. */
export { FakeSessionStore } from './fake-session-store.js'
export type { FakeStoreFault, FakeStoreMatch } from './faults.js'
export type { ExpectedStoreCall, FakeStoreCall, FakeStoreEffect, FakeStoreOperation } from './journal.js'
export type {
  FailOptions,
  FakeSessionStoreOptions,
  HangOptions,
  OutageOptions,
  RivalOptions,
  RivalWriteOptions,
} from './options.js'
