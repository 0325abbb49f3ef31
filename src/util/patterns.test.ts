import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { isBase64, isContentType, isCredentialName, isJsonMediaType, isMediaType, isSessionId } from './patterns.js'

describe('isSessionId', () => {
  test('accepts every visible ASCII character except the comma, and no other', () => {
    const taken = Array.from({ length: 512 }, (_, code) => String.fromCharCode(code)).filter(isSessionId)
    const expected = Array.from({ length: 94 }, (_, index) => String.fromCharCode(33 + index)).filter((c) => c !== ',')
    expect(taken).toEqual(expected)
    expect(taken).toHaveLength(93)
  })

  test.each([
    [0, false],
    [1, true],
    [256, true],
    [257, false],
  ])('a length of %d: %s', (length, expected) => {
    expect(isSessionId('x'.repeat(length))).toBe(expected)
  })

  test.each(['a\r\nX-Evil: 1', 'a\nb', 'a\0', '\u2028'])('accepts nothing that ends a header line: %j', (text) => {
    expect(isSessionId(text)).toBe(false)
  })

  test.each(['abc\n', '\nabc', 'abc\r\n', 'abc '])('accepts no line end or space at its edge: %j', (sessionId) => {
    expect(isSessionId(sessionId)).toBe(false)
  })
})

describe('media types', () => {
  test.each(['text/csv', 'TEXT/CSV', 'application/vnd.example+json', 'a/b', 'x!#$&^_.+-/1'])('%s', (text) => {
    expect([isMediaType(text), isContentType(text)]).toEqual([true, true])
  })

  test.each([
    'text/csv; header=present',
    'text/csv;a=b;c=d',
    'text/csv \t;\t a=b',
    'text/plain;charset="utf-8"',
    'text/csv;name=""',
    String.raw`text/csv;name="a\b"`,
    String.raw`text/csv;name="a\"b"`,
    String.raw`text/csv;name="a\\"`,
    "text/csv;name=!#$%&'*+-.^_`|~",
  ])('with parameters: %s', (text) => {
    expect([isMediaType(text), isContentType(text)]).toEqual([false, true])
  })

  test.each([
    '',
    'csv',
    'text/',
    '/csv',
    'text /csv',
    'text/csv;',
    'text/csv; a',
    'text/csv; a=',
    'text/csv; a=b c',
    'text/csv, text/html',
    'text/csv\n',
    'text/csv\r\nx: y',
    'text/csv;\r\n x=y',
    'text/csv; a="b\r\nc"',
    'text/csv; a="b\\\nc"',
    'text/csv; a="b',
    String.raw`text/csv; a="b\"`,
    'téxt/csv',
    'text/csv; a="é"',
    'text/\u2028',
  ])('not one: %j', (text) => {
    expect([isMediaType(text), isContentType(text)]).toEqual([false, false])
  })

  test('every media type can be a header', () => {
    const text = fc.stringMatching(/^[a-z]+\/[a-z]+(?:;[a-z]+=(?:[!-~]{1,4}|"[ -~]{0,6}"))?$/)
    fc.assert(
      fc.property(text, (candidate) => {
        fc.pre(isContentType(candidate))
        expect(new Headers({ 'Content-Type': candidate }).get('content-type')).toBe(candidate)
      }),
    )
  })

  test.each([
    ['application/json', true],
    ['Application/JSON', true],
    ['application/vnd.chat+json', true],
    ['application/a+b+json', true],
    ['application/+json', false],
    ['text/json', false],
    ['text/plain+json', false],
    ['application/jsonp', false],
    ['application/vnd.chat+jsonp', false],
    ['x-application/json', false],
    ['text/plain;application/vnd.chat+json', false],
    ['application/json; charset=utf-8', false],
    ['application/json\n', false],
  ])('JSON: %j is %s', (text, expected) => {
    expect(isJsonMediaType(text)).toBe(expected)
  })
})

describe('isBase64', () => {
  test('accepts the encoding of any bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array(), (bytes) => {
        expect(isBase64(btoa(String.fromCharCode(...bytes)))).toBe(true)
      }),
    )
  })

  test.each(['a', 'aGk', 'aGk=\n', 'aGk=aGk=', '====', 'a===', 'aG-_', 'data:image/png;base64,iVBORw=='])(
    'refuses %j',
    (text) => {
      expect(isBase64(text)).toBe(false)
    },
  )

  test('of megabytes', () => {
    expect(isBase64('aGkh'.repeat(1_000_000))).toBe(true)
  })
})

test.each([
  ['apiKey', true],
  ['api_key', true],
  ['accessKey', true],
  ['private-key', true],
  ['token', true],
  ['accessToken', true],
  ['clientSecret', true],
  ['password', true],
  ['Authorization', true],
  ['credentials', true],
  ['bearer', true],
  ['maxTokens', false],
  ['key', false],
  ['temperature', false],
])('the name of a credential: %s is %s', (name, expected) => {
  expect(isCredentialName(name)).toBe(expected)
})
