/** Digests of texts and of JSON, used as keys: they are compared and stored in place of the text. */
import { sha256 } from './sha256.js'

/**
 * How many bytes of SHA-256 are kept. Digests are only compared, so a collision gains nothing for a caller who can
 * choose both texts.
 */
const digestBytes = 16

const base64url = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'

let encoder: TextEncoder | undefined

/**
 * The first 16 bytes of SHA-256 (FIPS 180-4) of a text, as base64url (RFC 4648, section 5) without padding: 22
 * characters. It is synchronous, so that concurrent requests keep their order.
 */
export function digestOf(text: string): string {
  encoder ??= new TextEncoder()
  const bytes = sha256(encoder.encode(text))
  let digest = ''
  // Six bits for each character, highest bits first.
  for (let bit = 0; bit < digestBytes * 8; bit += 6) {
    const index = bit >> 3
    const pair = ((bytes[index] as number) << 8) | (index + 1 < digestBytes ? (bytes[index + 1] as number) : 0)
    digest += base64url[(pair >> (10 - (bit & 7))) & 63]
  }
  return digest
}

/** JSON with the keys of each object sorted, so that equal values have equal texts. `value` must be plain JSON. */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_key, inner: unknown) => {
    if (typeof inner !== 'object' || inner === null || Array.isArray(inner)) return inner
    const sorted = Object.entries(inner).sort(([left], [right]) => (left < right ? -1 : 1))
    return Object.fromEntries(sorted)
  })
}
