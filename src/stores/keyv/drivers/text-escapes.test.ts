import { describe, expect, test } from 'vitest'
import { decodeChunks, decodeText, encodeText } from './text-escapes.js'

describe('encodeText', () => {
  test.each(['', 'text', '{"a":1}', '😀 é', 'a\nb', '\\u0000', "'"])('leaves %j unchanged', (text) => {
    expect(encodeText(text)).toBe(text)
    expect(decodeText(text)).toBe(text)
  })

  test.each([
    ['a\0b', '"a\\u0000b"'],
    ['\ud800', '"\\ud800"'],
    ['x\udc00\ud800', '"x\\udc00\\ud800"'],
    ['"', '"\\""'],
    ['"\\u0000"', '"\\"\\\\u0000\\""'],
  ])('keeps %j as JSON without hostile characters', (text, kept) => {
    expect(encodeText(text)).toBe(kept)
    expect(decodeText(kept)).toBe(text)
  })
})

describe('decodeChunks', () => {
  test('decodes nothing, and pairs of stored texts', () => {
    expect(decodeChunks(null)).toEqual(new Map())
    const pairs = [
      ['a', 'text'],
      [encodeText('b\0'), encodeText('\udfff')],
    ]
    expect(decodeChunks(JSON.stringify(pairs))).toEqual(
      new Map([
        ['a', 'text'],
        ['b\0', '\udfff'],
      ] as const),
    )
  })
})
