/** The error of every expectation that fails. */
export { ExpectationError } from './expectation-error.js'
