import { expect, test } from 'vitest'
import { cutText, shownName } from './shown-name.js'

test.each(['', 'Booking', 'Größe 漢字 😀', '<b>', '__proto__', 'a'.repeat(200)])('shows %j as it is', (name) => {
  expect(shownName(name)).toBe(name)
})

test('shows at most 200 characters, and never half of a surrogate pair', () => {
  expect(shownName('a'.repeat(201))).toBe(`${'a'.repeat(199)}…`)
  expect(shownName('a'.repeat(1_000_000))).toHaveLength(200)
  expect(shownName(`${'a'.repeat(198)}😀😀`)).toBe(`${'a'.repeat(198)}…`)
})

test.each<[string, string]>([
  ['a line feed', '\n'],
  ['a carriage return', '\r'],
  ['a null', '\0'],
  ['an escape', '\u001b'],
  ['a delete', '\u007f'],
  ['a next line', '\u0085'],
  ['a line separator', '\u2028'],
  ['a paragraph separator', '\u2029'],
  ['a change of the direction', '\u202e'],
  ['a character of no width', '\u200b'],
  ['half of a pair', '\ud83d'],
])('replaces %s', (_what, character) => {
  expect(shownName(`a${character}b${character}`)).toBe('a\ufffdb\ufffd')
})

test.each([
  ['abc', 3, 'abc'],
  ['abc', 2, 'ab'],
  ['ab😀', 4, 'ab😀'],
  ['ab😀', 3, 'ab'],
  ['😀😀', 2, '😀'],
])('of %j, the first %i are %j', (text, length, expected) => {
  expect(cutText(text, length)).toBe(expected)
})
