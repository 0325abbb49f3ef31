/** The IDs of one engine: the application's, checked, or random ones. */

import type { IdKind } from './engine-options.js'
import { checkId } from './input/check-input.js'
import { createRandomId } from './random-id.js'

/**
 * Characters of a random ID by kind. Six bits each: a session ID has 192, more than the 128 that OWASP ASVS 5.0
 * (7.2.3) asks for; the others need to be unique, not secret.
 */
const lengths: Readonly<Record<IdKind, number>> = { session: 32, revision: 12, turn: 12 }

/** The engine's generator; an application's own is checked each time. */
export function createGenerateId(generateId: ((kind: IdKind) => string) | undefined): (kind: IdKind) => string {
  if (generateId === undefined) {
    const randomId = createRandomId()
    return (kind) => randomId(lengths[kind])
  }
  return (kind) => checkId(generateId(kind), `generateId('${kind}')`)
}
