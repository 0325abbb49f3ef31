import { afterEach, describe, expect, test, vi } from 'vitest'
import { createRandomId } from './random-id.js'

afterEach(() => {
  vi.restoreAllMocks()
})

describe('createRandomId', () => {
  test.each([1, 12, 32, 256, 4096])('returns %d characters of base64url', (length) => {
    expect(createRandomId()(length)).toMatch(new RegExp(`^[A-Za-z0-9_-]{${length}}$`))
  })

  test('uses each of the 64 characters, about equally often', () => {
    const randomId = createRandomId()
    const counts = new Map<string, number>()
    for (let index = 0; index < 1000; index++) {
      for (const character of randomId(64)) counts.set(character, (counts.get(character) ?? 0) + 1)
    }
    expect(counts.size).toBe(64)
    // 1000 on average, with a standard deviation of 31: ten deviations do not happen by chance.
    expect(Math.min(...counts.values())).toBeGreaterThan(690)
    expect(Math.max(...counts.values())).toBeLessThan(1310)
  })

  test('returns a different one each time, over many draws from the source', () => {
    const randomId = createRandomId()
    const ids = Array.from({ length: 10_000 }, () => randomId(32))
    expect(new Set(ids).size).toBe(10_000)
  })

  test('never uses a byte twice', () => {
    // The bytes count up, so the characters do too.
    let next = 0
    vi.spyOn(crypto, 'getRandomValues').mockImplementation((array) => {
      const bytes = array as unknown as Uint8Array
      for (let index = 0; index < bytes.length; index++) bytes[index] = next++ & 63
      return array
    })
    const randomId = createRandomId()
    const alphabet = '-0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz'
    expect(randomId(64)).toBe(alphabet)
    expect(randomId(3)).toBe('-01')
    expect(randomId(3)).toBe('234')
  })

  test('draws nothing before the first ID, and then in bulk', () => {
    const draw = vi.spyOn(crypto, 'getRandomValues')
    const randomId = createRandomId()
    expect(draw).not.toHaveBeenCalled()
    for (let index = 0; index < 128; index++) randomId(32)
    expect(draw).toHaveBeenCalledTimes(1)
    randomId(32)
    expect(draw).toHaveBeenCalledTimes(2)
  })

  test('discards a rest that is too short for the next ID', () => {
    const draw = vi.spyOn(crypto, 'getRandomValues')
    const randomId = createRandomId()
    randomId(4095)
    expect(randomId(32)).toHaveLength(32)
    expect(draw).toHaveBeenCalledTimes(2)
  })

  test('two generators share nothing', () => {
    expect(createRandomId()(32)).not.toBe(createRandomId()(32))
  })
})
