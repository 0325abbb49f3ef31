/** Random IDs from the platform's cryptographic source, drawn in bulk: one call for many IDs. */

const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
const poolSize = 4096

/**
 * Makes random IDs in base64url (RFC 4648, section 5). Four characters carry three random bytes.
 *
 * @returns A function from a length in characters to an ID.
 */
export function createRandomId(): (length: number) => string {
  let pool: Uint8Array<ArrayBuffer> | undefined
  let used = poolSize
  return (length) => {
    if (pool === undefined || used + length > poolSize) {
      pool ??= new Uint8Array(poolSize)
      crypto.getRandomValues(pool)
      used = 0
    }
    const codes: number[] = []
    // Six bits of each byte: 64 characters, all equally likely.
    for (let index = 0; index < length; index++) codes.push(alphabet.charCodeAt((pool[used + index] as number) & 63))
    used += length
    return String.fromCharCode(...codes)
  }
}
