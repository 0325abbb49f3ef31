import { describe, expect, test } from 'vitest'
import { MemoryClaims } from './claims.js'

describe('claims in memory', () => {
  test('the first claim wins until it expires', () => {
    const claims = new MemoryClaims()
    expect(claims.claim('k', 'a', 100, 0)).toBe('a')
    expect(claims.claim('k', 'b', 100, 99)).toBe('a')
    expect(claims.claim('k', 'b', 100, 100)).toBe('b')
    expect(claims.claim('k', 'a', 100, 199)).toBe('b')
  })

  test('above the limit the oldest is dropped, expired ones first', () => {
    const claims = new MemoryClaims(2)
    claims.claim('old', 'a', 10, 0)
    claims.claim('kept', 'a', 100, 1)
    claims.claim('new', 'a', 100, 20)
    expect(claims.claim('kept', 'b', 100, 20)).toBe('a')
    claims.claim('newer', 'a', 100, 20)
    expect(claims.claim('kept', 'b', 100, 20)).toBe('b')
  })

  test('a repeated claim does not extend its time', () => {
    const claims = new MemoryClaims(2)
    claims.claim('first', 'a', 100, 0)
    claims.claim('second', 'a', 100, 0)
    claims.claim('first', 'a', 100, 50)
    claims.claim('third', 'a', 100, 50)
    expect(claims.claim('first', 'b', 100, 50)).toBe('b')
  })

  test('belong to the data', () => {
    const data = new Map()
    MemoryClaims.of(data).claim('k', 'a', 100, 0)
    expect(MemoryClaims.of(data).claim('k', 'b', 100, 0)).toBe('a')
    expect(MemoryClaims.of(new Map()).claim('k', 'b', 100, 0)).toBe('b')
  })

  test('keep at least one, no matter how small the limit is', () => {
    const claims = new MemoryClaims(0.5)
    claims.claim('k', 'a', 100, 0)
    expect(claims.claim('k', 'b', 100, 0)).toBe('a')
  })
})
