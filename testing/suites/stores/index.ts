/** What every session store must do, as tests for any runner. */
export type { SessionStoreSuiteOptions, SuiteTest } from './session-store-suite.js'
export { sessionStoreSuite } from './session-store-suite.js'
