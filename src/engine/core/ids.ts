/** The IDs of one engine: random ones, or those of the application's own function, which are checked. */

import { checkId } from '../input/check-input.js'
import type { IdKind } from './engine-options.js'

/**
 * Characters of a random ID by kind. Each has six bits: a session ID has 192, more than the 128 that OWASP ASVS 5.0
 * (7.2.3) asks for. The others need to be unique, not secret.
 */
const lengths: Readonly<Record<IdKind, number>> = { session: 32, revision: 12, turn: 12 }

/** Random bytes drawn at a time: one call of the platform's source serves many IDs. */
const poolSize = 4096

/**
 * Makes the function that an engine takes its IDs from.
 *
 * @param generateId - The application's own. Default: random IDs.
 */
export function createGenerateId(generateId: ((kind: IdKind) => string) | undefined): (kind: IdKind) => string {
  if (generateId === undefined) {
    const randomId = createRandomId()
    return (kind) => randomId(lengths[kind])
  }
  return (kind) => checkId(generateId(kind), `generateId('${kind}')`)
}

/**
 * Makes random IDs of the characters of base64url (RFC 4648, section 5), from the platform's cryptographic source.
 *
 * @returns A function from a length in characters to an ID.
 */
export function createRandomId(): (length: number) => string {
  // `\w` is 63 of the 64.
  const alphabet = Array.from({ length: 128 }, (_, code) => code).filter((code) =>
    /[\w-]/.test(String.fromCharCode(code)),
  )
  const pool = new Uint8Array(poolSize)
  let used = poolSize
  return (length) => {
    if (used + length > poolSize) {
      crypto.getRandomValues(pool)
      used = 0
    }
    const codes: number[] = []
    // Six bits of each byte: 64 characters, all equally likely.
    for (const end = used + length; used < end; used++) codes.push(alphabet[(pool[used] as number) & 63] as number)
    return String.fromCharCode(...codes)
  }
}
