/**
 * `turnkeeper/testing`: a conversation tested without a network, a clock or luck, in any test runner. Each folder lists
 * its public names in its own `index.ts`.
 *
 * @module turnkeeper/testing
 */

export * from './conversation/index.js'
export * from './expectations/index.js'
export * from './fake-session-store/index.js'
export * from './flow-coverage/index.js'
export * from './lock-probe/index.js'
export * from './recording/index.js'
export * from './scripted-model/index.js'
export * from './simulate/index.js'
export * from './tool-doubles/index.js'
export * from './virtual-clock/index.js'
