import { expect, test } from 'vitest'
import { claimKey, leaseKey, sessionKey } from './keys.js'

test('a plain ID is its own key', () => {
  expect(sessionKey('Ab9_-')).toBe('Ab9_-')
  expect(sessionKey('x'.repeat(128))).toBe('x'.repeat(128))
})

test('any other ID is hashed, with the same result as ever', async () => {
  expect(await sessionKey('two words')).toBe('~30b0c53cc188ba492964b63641d6868174efaf61bcaa58fc74bf9e0f349dd210')
})

test('no two IDs have the same key', async () => {
  const ids = [
    '',
    ' ',
    'a b',
    'a  b',
    'ä',
    'a\u0308',
    '\ud800',
    '\ud801',
    '\ufffd',
    'a\n',
    'a\0',
    'x'.repeat(129),
    'x'.repeat(130),
  ]
  const keys = await Promise.all(ids.map(sessionKey))
  expect(new Set(keys).size).toBe(ids.length)
  expect(new Set(await Promise.all(keys.map(sessionKey))).size).toBe(ids.length)
  for (const key of keys) {
    expect(key).toMatch(/^~[0-9a-f]{64}$/)
    expect(await sessionKey(key)).not.toBe(key)
  }
})

test('claims and leases have their own keys, whatever a session or a namespace is called', async () => {
  const names = ['a', '~claim-a', '~lease-a', 'claim-a', 'a b', '~', '', ':claim:a']
  const keys = await Promise.all(names.flatMap((name) => [sessionKey(name), claimKey(name), leaseKey(name)]))
  expect(new Set(keys).size).toBe(3 * names.length)
  expect(await claimKey('a_B-9')).toBe('~claim-a_B-9')
  expect(await leaseKey('a b')).toMatch(/^~lease-~[0-9a-f]{64}$/)
  // No key contains a colon, which ends a namespace.
  expect(keys.filter((key) => key.includes(':'))).toEqual([])
})
