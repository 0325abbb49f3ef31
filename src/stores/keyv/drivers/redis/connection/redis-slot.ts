/**
 * The slot of a key in a Redis Cluster, as its specification defines it: the CRC16 (XMODEM) checksum of the key, or of
 * the text between its first braces.
 */

const slots = 16_384

/** The slot of a key, from 0 to 16 383. */
export function slotOf(key: string): number {
  let checksum = 0
  for (const byte of new TextEncoder().encode(hashedPart(key))) {
    checksum ^= byte << 8
    for (let bit = 0; bit < 8; bit++) {
      checksum = ((checksum << 1) ^ ((checksum & 0x8000) === 0 ? 0 : 0x1021)) & 0xffff
    }
  }
  return checksum % slots
}

function hashedPart(key: string): string {
  const open = key.indexOf('{')
  const close = key.indexOf('}', open + 1)
  return open === -1 || close <= open + 1 ? key : key.slice(open + 1, close)
}
