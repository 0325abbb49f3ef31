import { expect, test } from 'vitest'
import { cutText } from './cut-text.js'

test.each([
  ['abc', 3, 'abc'],
  ['abc', 2, 'ab'],
  ['ab😀', 4, 'ab😀'],
  ['ab😀', 3, 'ab'],
  ['😀😀', 2, '😀'],
])('of %j, the first %i are %j', (text, length, expected) => {
  expect(cutText(text, length)).toBe(expected)
})
