import { expect, test } from 'vitest'
import { shownValue } from './shown-value.js'

class Desk {}

test.each<readonly [unknown, string]>([
  ['3', "the text '3'"],
  ['', "the text ''"],
  ['x'.repeat(300), `the text '${'x'.repeat(199)}…'`],
  [3, '3'],
  [3n, '3n'],
  [Number.NaN, 'NaN'],
  [undefined, 'undefined'],
  [null, 'null'],
  [Symbol('a'), 'Symbol(a)'],
  [[3], 'a list'],
  [{}, 'an object'],
  [Object.create(null), 'an object'],
  [{ constructor: 'Desk' }, 'an object'],
  [new Desk(), "an object of the class 'Desk'"],
  [new Map(), "an object of the class 'Map'"],
  [Desk, "the class 'Desk'"],
  [class {}, 'a class without a name'],
  [function act() {}, "the function 'act'"],
  [Promise.resolve({}), 'a promise: await it first'],
])('%s is shown as %s', (value, shown) => {
  expect(shownValue(value)).toBe(shown)
})
