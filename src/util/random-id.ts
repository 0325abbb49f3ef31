/** Random IDs, of bytes that are drawn many at a time. */

/** Random bytes drawn at a time: one call of the platform's source serves many IDs. */
const poolSize = 4096

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
