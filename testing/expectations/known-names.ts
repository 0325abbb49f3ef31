/**
 * A misspelt name in what a test expects would check nothing: it is refused. Of TypeScript the compiler does the same.
 */
import { findUnknownName, hintAt } from '../../src/util/options.js'

/** What is wrong with the names of an expectation; `undefined` if all are known. @param operation - What was called. */
export function unknownNameText(operation: string, expected: object, known: object): string | undefined {
  const unknown = findUnknownName(expected, known)
  if (unknown === undefined) return undefined
  const names = Object.keys(known)
  return `${operation}: there is no '${unknown}' to expect. There is ${names.join(', ')}.${hintAt(unknown, names)}`
}

/** The same for the first of several expectations with such a name. */
export function firstUnknownName(operation: string, expected: readonly object[], known: object): string | undefined {
  for (const one of expected) {
    const text = unknownNameText(operation, one, known)
    if (text !== undefined) return text
  }
  return undefined
}
