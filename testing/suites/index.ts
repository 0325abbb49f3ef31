/**
 * The entry point `turnkeeper/testing/suites`: what every session store and every model provider must do, as tests for
 * any runner.
 *
 * @module turnkeeper/testing/suites
 */

export * from './providers/index.js'
export * from './stores/index.js'
