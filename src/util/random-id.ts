/** Makes random IDs. Random bytes are drawn in large batches. */

/** How many random bytes are drawn at a time: one call to the platform's source serves many IDs. */
const poolSize = 4096

/**
 * Makes random IDs with the characters of base64url (RFC 4648, section 5), from the platform's cryptographic source.
 *
 * @returns A function from a length in characters to an ID.
 */
export function createRandomId(): (length: number) => string {
  // `\w` covers 63 of the 64.
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
    // Use six bits of each byte: 64 characters, all equally likely.
    for (const end = used + length; used < end; used++) codes.push(alphabet[(pool[used] as number) & 63] as number)
    return String.fromCharCode(...codes)
  }
}
