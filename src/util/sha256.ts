/**
 * A synchronous SHA-256 (FIPS 180-4). Web Crypto's is asynchronous, but concurrent requests must keep their order while
 * a digest is computed. Do not use it for secrets: it does not take constant time in every JavaScript engine.
 */

/** The round constants and the initial hash value. Computed from the first primes at the first digest. */
let constants: { readonly rounds: Int32Array; readonly start: Int32Array } | undefined

/** The message schedule. Digests are computed one after the other, so they can share it. */
const schedule: Int32Array = new Int32Array(64)

/** Returns the 32 bytes of the digest. */
export function sha256(message: Uint8Array): Uint8Array {
  constants ??= makeConstants()
  const hash = constants.start.slice()
  // Padding to a multiple of 64 bytes: a 1 bit, zeros, and the length in bits as a 64-bit number.
  const blocks = new DataView(new ArrayBuffer((message.length + 72) & -64))
  new Uint8Array(blocks.buffer).set(message)
  blocks.setUint8(message.length, 0x80)
  blocks.setUint32(blocks.byteLength - 8, message.length / 0x2000_0000)
  blocks.setUint32(blocks.byteLength - 4, message.length << 3)
  for (let offset = 0; offset < blocks.byteLength; offset += 64) addBlock(hash, blocks, offset, constants.rounds)
  const digest = new DataView(new ArrayBuffer(32))
  for (let index = 0; index < 8; index++) digest.setInt32(index * 4, hash[index] as number)
  return new Uint8Array(digest.buffer)
}

/** Processes one block. The names are from FIPS 180-4, section 6.2.2. */
function addBlock(hash: Int32Array, blocks: DataView, offset: number, rounds: Int32Array): void {
  for (let t = 0; t < 16; t++) schedule[t] = blocks.getInt32(offset + t * 4)
  for (let t = 16; t < 64; t++) {
    const w15 = schedule[t - 15] as number
    const w2 = schedule[t - 2] as number
    const s0 = rotate(w15, 7) ^ rotate(w15, 18) ^ (w15 >>> 3)
    const s1 = rotate(w2, 17) ^ rotate(w2, 19) ^ (w2 >>> 10)
    schedule[t] = s1 + (schedule[t - 7] as number) + s0 + (schedule[t - 16] as number)
  }
  // Loop by index: an iterator over the eight words would take longer than the rounds.
  let a = hash[0] as number
  let b = hash[1] as number
  let c = hash[2] as number
  let d = hash[3] as number
  let e = hash[4] as number
  let f = hash[5] as number
  let g = hash[6] as number
  let h = hash[7] as number
  for (let t = 0; t < 64; t++) {
    const s1 = rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)
    const s0 = rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)
    const t1 = (h + s1 + (g ^ (e & (f ^ g))) + (rounds[t] as number) + (schedule[t] as number)) | 0
    const t2 = (s0 + ((a & b) | (c & (a | b)))) | 0
    h = g
    g = f
    f = e
    e = (d + t1) | 0
    d = c
    c = b
    b = a
    a = (t1 + t2) | 0
  }
  const words = [a, b, c, d, e, f, g, h]
  for (let index = 0; index < 8; index++) hash[index] = (hash[index] as number) + (words[index] as number)
}

function rotate(word: number, bits: number): number {
  return (word >>> bits) | (word << (32 - bits))
}

/** The first 32 bits of the fractional parts of the cube roots of the first 64 primes, and of the square roots of 8. */
function makeConstants(): { readonly rounds: Int32Array; readonly start: Int32Array } {
  const primes: number[] = []
  for (let number = 2; primes.length < 64; number++) {
    if (primes.every((prime) => number % prime !== 0)) primes.push(number)
  }
  const fractionBits = (root: number): number => (root % 1) * 2 ** 32
  return {
    rounds: Int32Array.from(primes, (prime) => fractionBits(Math.cbrt(prime))),
    start: Int32Array.from(primes.slice(0, 8), (prime) => fractionBits(Math.sqrt(prime))),
  }
}
