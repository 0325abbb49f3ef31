import { describe, expect, test } from 'vitest'
import { findDifference, inShort, throughJson } from './same-json.js'

describe('findDifference', () => {
  test.each<[string, unknown]>([
    ['numbers', 1.5],
    ['nothing', null],
    ['texts', 'a\0b\ud800'],
    ['nesting', { a: [{ b: [] }, {}, null], c: { d: 'e' } }],
    ['own keys of inherited names', JSON.parse('{"__proto__":{"a":1},"constructor":2}')],
  ])('finds none between equal %s', (_what, value) => {
    expect(findDifference(throughJson(value), value)).toBeUndefined()
  })

  test('takes no heed of the order of keys, and takes an object without a prototype', () => {
    expect(findDifference({ a: 1, b: 2 }, { b: 2, a: 1 })).toBeUndefined()
    expect(findDifference(Object.assign(Object.create(null), { a: 1 }), { a: 1 })).toBeUndefined()
  })

  test.each<[unknown, unknown, string]>([
    [1, 2, 'it is 1 instead of 2'],
    ['1', 1, 'it is "1" instead of 1'],
    [-0, 0, 'it is -0 instead of 0'],
    [undefined, null, 'it is undefined instead of null'],
    [{}, [], 'it is {} instead of a list of 0'],
    [[], {}, 'it is [] instead of an object'],
    [null, {}, 'it is null instead of an object'],
    [[1], [1, 2], 'it has 1 entries instead of 2'],
    [[1, 3], [1, 2], 'it[1] is 3 instead of 2'],
    [{ a: { b: 1 } }, { a: { b: 2 } }, 'it["a"]["b"] is 1 instead of 2'],
    [{}, { a: undefined }, 'it["a"] is missing'],
    [{}, JSON.parse('{"__proto__":{}}'), 'it["__proto__"] is missing'],
    [{ a: 1 }, {}, 'it["a"] is there and should not be'],
    [{ a: undefined }, {}, 'it["a"] is there and should not be'],
    [JSON.parse('{"__proto__":{}}'), {}, 'it["__proto__"] is there and should not be'],
    [new Date(0), {}, 'it is not a plain object'],
  ])('between %j and %j', (got, expected, difference) => {
    expect(findDifference(got, expected, 'it')).toBe(difference)
  })
})

describe('inShort', () => {
  test.each<[unknown, string]>([
    [undefined, 'undefined'],
    [Number.NaN, 'NaN'],
    [-0, '-0'],
    ['a', '"a"'],
    ['\u00e9\u2028', '"\\u00e9\\u2028"'],
    [['a', { b: null }], '["a",{"b":null}]'],
    [() => undefined, 'a function'],
    [1n, 'a bigint'],
    ['x'.repeat(100), `"${'x'.repeat(59)}... (102 characters)`],
  ])('%o is %s', (value, text) => {
    expect(inShort(value)).toBe(text)
  })
})
