/**
 * `turnkeeper/testing`: a conversation tested without a network, a clock or luck. Takes no test runner for granted.
 */
export type {
  FakeSessionStoreOptions,
  FakeStoreCall,
  FakeStoreFault,
  FakeStoreOperation,
} from './fake-session-store.js'
export { FakeSessionStore } from './fake-session-store.js'
export type {
  ModelScript,
  RecordedRequest,
  ScriptedProvider,
  ScriptedReply,
  ScriptedToolCall,
} from './scripted-model.js'
export { ScriptedModel, scriptedProvider } from './scripted-model.js'
export type { SessionStoreSuiteOptions, SuiteTest } from './session-store-suite.js'
export { sessionStoreSuite } from './session-store-suite.js'
export { VirtualClock } from './virtual-clock.js'
