/**
 * Recognizes a failed assertion of a test, whatever library made it: in code that the engine calls it would only be one
 * more error that a flow may handle.
 */
import { thrownText } from './author-frames.js'
import { ExpectationError } from './expectation-error.js'

/** How many causes are looked at: an error may be its own cause. */
const mostCauses = 10

/** The failed assertion that an error is, or that caused it; `undefined` if there is none. */
export function failedAssertionIn(error: unknown): object | undefined {
  let cause: unknown = error
  for (let depth = 0; depth < mostCauses && typeof cause === 'object' && cause !== null; depth++) {
    if (isFailedAssertion(cause)) return cause
    cause = (cause as { readonly cause?: unknown }).cause
  }
  return undefined
}

/** Errors of `node:assert`, Chai and vitest, of the matchers of Jest, and of this harness. */
function isFailedAssertion(error: object): boolean {
  const { name, code } = error as { readonly name?: unknown; readonly code?: unknown }
  return (
    name === 'AssertionError' ||
    code === 'ERR_ASSERTION' ||
    'matcherResult' in error ||
    ExpectationError.isInstance(error)
  )
}

/** The failure of a test because of what was thrown where the engine handles errors. @param where - As a clause. */
export function thrownFailure(where: string, error: unknown): ExpectationError {
  const { expected, actual } = (error ?? {}) as { readonly expected?: unknown; readonly actual?: unknown }
  return new ExpectationError(`${where}: ${thrownText(error)}`, { expected, actual, cause: error })
}
