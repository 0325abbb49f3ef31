/**
 * The codes of errors, for tests that are not checked by TypeScript: a misspelt one would only say that another one
 * came.
 */
import { errorFacts } from '../../src/errors/error-facts.js'
import { hintAt } from '../../src/util/options.js'
import { show } from './expectation-error.js'

/** What is wrong with a code that a test expects; `undefined` if there is such a code. */
export function unknownCodeText(code: unknown): string | undefined {
  if (typeof code === 'string' && Object.hasOwn(errorFacts, code)) return undefined
  const names = Object.keys(errorFacts)
  const hint = typeof code === 'string' ? hintAt(code, names) : ''
  return `there is no error code ${show(code)}. The codes are ${names.join(', ')}.${hint}`
}
