import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { canonicalJson, digestOf } from './digest.js'

test('a digest is the beginning of SHA-256, in base64url', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) => {
      const whole = createHash('sha256').update(text, 'utf8').digest()
      expect(digestOf(text)).toBe(whole.subarray(0, 16).toString('base64url'))
    }),
  )
})

test('a digest has 22 characters that a key of a store may have', () => {
  expect(digestOf('a key of a request')).toMatch(/^[\w-]{22}$/)
})

test('canonical JSON is the same for any order of keys', () => {
  expect(canonicalJson({ b: [{ d: 1, c: 2 }], a: null })).toBe('{"a":null,"b":[{"c":2,"d":1}]}')
  expect(canonicalJson({ a: null, b: [{ c: 2, d: 1 }] })).toBe('{"a":null,"b":[{"c":2,"d":1}]}')
})

test('canonical JSON differs if values differ', () => {
  expect(canonicalJson({ a: [1, 2] })).not.toBe(canonicalJson({ a: [2, 1] }))
  expect(canonicalJson({ __proto__: null, a: 1 })).toBe('{"a":1}')
})

test('canonical JSON keeps a key named __proto__', () => {
  expect(canonicalJson(JSON.parse('{"__proto__":{"b":1},"a":1}'))).toBe('{"__proto__":{"b":1},"a":1}')
})
