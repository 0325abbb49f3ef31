import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { packJson, unpackJson } from './packed-json.js'

const roundTrip = (value: unknown): unknown => unpackJson(packJson(value) as string)

describe('packed JSON', () => {
  test('says each primitive and each set of keys once', () => {
    const messages = [
      { role: 'user', turn: 1, isNew: true },
      { role: 'user', turn: 2, isNew: null },
    ]
    expect(packJson(messages)).toBe('[["user",1,true,2,null],[["role","turn","isNew"]],[0,2,-1,1,2,3,-1,1,4,5]]')
    expect(roundTrip(messages)).toEqual(messages)
  })

  test('comes back as it went in, whatever the JSON', () => {
    const json = fc.jsonValue({ stringUnit: 'binary', maxDepth: 6, noUnicodeString: false })
    fc.assert(
      fc.property(json, (value) => {
        const text = JSON.stringify(value)
        expect(JSON.stringify(roundTrip(JSON.parse(text)))).toBe(text)
      }),
      { numRuns: 500 },
    )
  })

  test('is a copy', () => {
    const value = { list: [{}] }
    const copy = roundTrip(value) as typeof value
    expect(copy).toEqual(value)
    expect(copy.list).not.toBe(value.list)
    expect(copy.list[0]).not.toBe(value.list[0])
  })

  test('keeps a number and a text apart that look the same', () => {
    expect(roundTrip([1, '1', true, 'true', null, 'null', 0, -0, ''])).toEqual([
      1,
      '1',
      true,
      'true',
      null,
      'null',
      0,
      0,
      '',
    ])
  })

  test('keeps a key named __proto__', () => {
    const value: unknown = JSON.parse('{"__proto__":{"a":1},"b":2}')
    const copy = roundTrip(value) as object
    expect(Object.keys(copy)).toEqual(['__proto__', 'b'])
    expect(Object.getPrototypeOf(copy)).toBe(Object.prototype)
    expect(JSON.stringify(copy)).toBe('{"__proto__":{"a":1},"b":2}')
  })

  test('keeps any number of shapes', () => {
    const shapes = Array.from({ length: 50 }, (_, index) => ({ [`key${index}`]: index, same: index }))
    expect(roundTrip([...shapes, ...shapes])).toEqual([...shapes, ...shapes])
  })

  test.each([
    ['undefined', { a: undefined }],
    ['NaN', [Number.NaN]],
    ['an infinity', [Number.POSITIVE_INFINITY]],
    ['a bigint', [1n]],
    ['a function', { toJSON: () => 1 }],
    ['an instance', [new Date(0)]],
  ])('refuses %s, which is no JSON', (_name, value) => {
    expect(packJson(value)).toBeUndefined()
  })

  test('refuses what is nested too deep to be walked safely, and a cycle', () => {
    const nested = (levels: number): unknown => (levels === 0 ? 'end' : [nested(levels - 1)])
    expect(roundTrip(nested(100))).toEqual(nested(100))
    expect(packJson(nested(101))).toBeUndefined()
    const cycle: unknown[] = []
    cycle.push(cycle)
    expect(packJson(cycle)).toBeUndefined()
  })
})
