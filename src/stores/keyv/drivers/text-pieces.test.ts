import { describe, expect, test } from 'vitest'
import { maxPieceBytes, piecesOf, textsOf } from './text-pieces.js'

const bytesOf = (text: string): number => new TextEncoder().encode(text).length

describe('pieces of a text', () => {
  test.each([
    ['no text', '', 1],
    ['a short one', 'yes', 1],
    ['one that just fits', 'x'.repeat(maxPieceBytes), 1],
    ['one byte more', 'x'.repeat(maxPieceBytes + 1), 2],
    ['characters of three bytes', '中'.repeat(maxPieceBytes), 4],
    ['pairs of surrogates', '\u{1f600}'.repeat(maxPieceBytes / 2), 2],
    ['pairs that begin at an odd place', `x${'\u{1f600}'.repeat(maxPieceBytes / 2)}`, 3],
  ])('%s: each is short enough, and together they are the text', (_what, text, count) => {
    const pieces = piecesOf('head', text)
    expect(pieces).toHaveLength(count)
    expect(pieces.map(({ part }) => part)).toEqual(pieces.map((_piece, index) => index))
    for (const { body } of pieces) {
      expect(bytesOf(body)).toBeLessThanOrEqual(maxPieceBytes)
      expect(/\p{Surrogate}/u.test(body)).toBe(false)
    }
    expect(textsOf(pieces).get('head') === text).toBe(true)
  })

  test('the texts of several names stay separate', () => {
    const pieces = [...piecesOf('a', 'x'.repeat(maxPieceBytes + 1)), ...piecesOf('b', 'y')]
    expect(Array.from(textsOf(pieces), ([name, text]) => [name, text.length])).toEqual([
      ['a', maxPieceBytes + 1],
      ['b', 1],
    ])
  })
})
