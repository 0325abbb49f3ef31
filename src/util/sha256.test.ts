import { createHash } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { sha256 } from './sha256.js'

const encoder = new TextEncoder()
const hexOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex')

describe('SHA-256', () => {
  // NIST: https://csrc.nist.gov/projects/cryptographic-standards-and-guidelines/example-values, and FIPS 180-4.
  test.each([
    ['', 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855'],
    ['abc', 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad'],
    [
      'abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq',
      '248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1',
    ],
    [
      'abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnopqrlmnopqrsmnopqrstnopqrstu',
      'cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1',
    ],
    ['a'.repeat(1_000_000), 'cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0'],
  ])('has the values of NIST: %.20s', (message, digest) => {
    expect(hexOf(sha256(encoder.encode(message)))).toBe(digest)
  })

  // NIST CAVP, SHA256ShortMsg.rsp: messages of bytes, none of them text.
  test.each([
    ['d3', '28969cdfa74a12c82f3bad960b0b000aca2ac329deea5c2328ebc6f2ba9802c1'],
    ['11af', '5ca7133fa735326081558ac312c620eeca9970d1e70a4b95533d956f072d1f98'],
    ['b4190e', 'dff2e73091f6c05e528896c4c831b9448653dc2ff043528f6769437bc7b975c2'],
    ['74ba2521', 'b16aa56be3880d18cd41e68384cf1ec8c17680c45a02b1575dc1518923ae8b0e'],
  ])('has the values of NIST for the bytes %s', (message, digest) => {
    expect(hexOf(sha256(Buffer.from(message, 'hex')))).toBe(digest)
  })

  test("equals Node's for every length up to three blocks, and for 4 KiB", () => {
    const bytes = Uint8Array.from({ length: 4096 }, (_, index) => (index * 167 + (index >> 3)) & 255)
    const lengths = [...Array.from({ length: 193 }, (_, length) => length), 4095, 4096]
    const wrong = lengths.filter((length) => {
      const message = bytes.subarray(0, length)
      return hexOf(sha256(message)) !== createHash('sha256').update(message).digest('hex')
    })
    expect(wrong).toEqual([])
  })
})
