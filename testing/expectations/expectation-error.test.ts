import { describe, expect, test } from 'vitest'
import { differences, ExpectationError, fits, show } from './expectation-error.js'

describe('an ExpectationError', () => {
  test('carries what a runner can show as a difference, and the cause', () => {
    const cause = new Error('before')
    const error = new ExpectationError('not so', { expected: 1, actual: 2, cause })
    expect(error).toMatchObject({ name: 'ExpectationError', message: 'not so', expected: 1, actual: 2, cause })
    expect('cause' in new ExpectationError('not so')).toBe(false)
  })

  test('is known by its mark, not by its class', () => {
    const copy = Object.assign(new Error(''), { [Symbol.for('turnkeeper.ExpectationError')]: true })
    expect([new ExpectationError(''), copy, new Error(''), undefined].map(ExpectationError.isInstance)).toEqual([
      true,
      true,
      false,
      false,
    ])
  })
})

describe('differences', () => {
  test.each([
    [{ a: 1 }, { a: 1, b: 2 }, []],
    [{ a: { b: [1, { c: 2 }] } }, { a: { b: [1, { c: 2, d: 3 }] } }, []],
    [{ a: undefined }, {}, []],
    [{ a: /^x/g }, { a: 'xyz' }, []],
    [Number.NaN, Number.NaN, []],
    [{ a: 1 }, { a: 2 }, ['a: expected 1, got 2']],
    [{ a: { b: [1, { c: 2 }] } }, { a: { b: [1, { c: 3 }] } }, ['a.b[1].c: expected 2, got 3']],
    [[1], [1, 2], ['the value: expected 1 entry, got [1,2]']],
    [{ a: undefined }, { a: null }, ['a: expected nothing, got null']],
    [{ toString: 1 }, {}, ['toString: expected 1, got nothing']],
    [{ a: [] }, { a: {} }, ['a: expected [], got {}']],
    [/^x/, 'yx', ['the value: expected /^x/, got "yx"']],
  ])('%j and %j', (expected, actual, found) => {
    expect(differences(expected, actual)).toEqual(found)
  })
})

test('a RegExp finds the same each time, whatever its flags', () => {
  const sticky = /a/gy
  expect([fits(sticky, 'a'), fits(sticky, 'a'), fits(/b/, 'a'), fits('a', 'a'), fits('a', 'ab')]).toEqual([
    true,
    true,
    false,
    true,
    false,
  ])
})

test('a value is shown as JSON, cut if it is long', () => {
  const cycle: { self?: unknown } = {}
  cycle.self = cycle
  expect([show('a'), show(undefined), show(new Error('no')), show(cycle), show('abcdef', 4)]).toEqual([
    '"a"',
    'undefined',
    'Error: no',
    '[object Object]',
    '"abc… (8 characters)',
  ])
})

test.each([
  [new Date(5), 'Date'],
  [new Map([['a', 1]]), 'Map'],
  [new Set([1]), 'Set'],
])('an expected %s does not match every object', (expected, kind) => {
  expect(differences({ at: expected }, { at: { day: 1 } })).toEqual([
    `at: expected an instance of ${kind}, got {"day":1}`,
  ])
  expect(differences({ at: expected }, { at: expected })).toEqual([])
})
