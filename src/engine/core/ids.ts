/** The IDs of one engine: random, or from the application's function and checked. */
import { invalidInput } from '../../errors/engine-errors.js'
import { isSessionId } from '../../util/patterns.js'
import { createRandomId } from '../../util/random-id.js'
import type { IdKind } from './engine-options.js'

/**
 * Characters of a random ID by kind. Each has six bits: a session ID has 192, more than the 128 that OWASP ASVS 5.0
 * (7.2.3) asks for. The others need to be unique, not secret.
 */
const lengths: Readonly<Record<IdKind, number>> = { session: 32, revision: 12, turn: 12 }

/**
 * Makes the function that an engine takes its IDs from.
 *
 * @param generateId - The application's function. Default: random IDs.
 */
export function createGenerateId(generateId: ((kind: IdKind) => string) | undefined): (kind: IdKind) => string {
  if (generateId === undefined) {
    const randomId = createRandomId()
    return (kind) => randomId(lengths[kind])
  }
  return (kind) => checkId(generateId(kind), `generateId('${kind}')`)
}

/**
 * Checks an ID of any kind.
 *
 * @throws `InvalidInputError`
 */
export function checkId(id: unknown, name: string): string {
  if (typeof id === 'string' && isSessionId(id)) return id
  throw invalidInput(`${name} must be 1 to 256 visible ASCII characters without a comma.`)
}
