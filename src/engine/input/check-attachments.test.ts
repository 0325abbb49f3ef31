import { describe, expect, test, vi } from 'vitest'
import { resolveLimits } from '../core/engine-limits.js'
import { checkAttachments } from './check-attachments.js'

const limits = resolveLimits()
const image = { type: 'image', mediaType: 'image/png', data: 'iVBORw0KGgo=' }
const file = {
  type: 'file',
  mediaType: 'application/pdf',
  url: 'https://files.example/a.pdf?v=1#page=2',
  name: 'Größe.pdf',
}

describe('checkAttachments', () => {
  test('none is an empty list, frozen, and always the same', () => {
    const none = checkAttachments(undefined, limits)
    expect(none).toEqual([])
    expect(Object.isFrozen(none)).toBe(true)
    expect(checkAttachments(undefined, limits)).toBe(none)
    expect(checkAttachments([], limits)).toEqual([])
  })

  test('copies and freezes what it takes', () => {
    const given = [{ ...image }, { ...file }]
    const checked = checkAttachments(given, limits)
    expect(checked).toEqual([image, file])
    given.push({ ...image })
    Object.assign(given[0] ?? {}, { data: 'AAAA' })
    expect(checked).toEqual([image, file])
    expect([checked, ...checked].map(Object.isFrozen)).toEqual([true, true, true])
  })

  test.each([
    ['a file that is an image', { ...image, type: 'file' }],
    ['a file without a name', { type: 'file', mediaType: 'text/plain', data: 'aGk=' }],
    ['an address over http', { ...image, data: undefined, url: 'http://127.0.0.1:8080/a.png' }],
    ['an @ behind the host', { ...image, data: undefined, url: 'https://files.example/@ada/a.png' }],
    ['an @ in a query', { ...image, data: undefined, url: 'https://files.example?by=ada@a.example#@' }],
    ['a port, and a host of numbers', { ...image, data: undefined, url: 'HTTPS://[::1]:8443' }],
    ['letters beyond ASCII in an address', { ...image, data: undefined, url: 'https://files.example/größe.png' }],
    ['a null prototype', Object.assign(Object.create(null), image)],
  ])('takes %s', (_what, part) => {
    const { data, url, ...others } = part as typeof image & { url?: string }
    expect(checkAttachments([part], limits)).toEqual([{ ...others, ...(url === undefined ? { data } : { url }) }])
  })

  test('leaves out what is undefined, and writes a media type in small letters', () => {
    const [part] = checkAttachments([{ ...image, mediaType: 'Image/PNG', url: undefined, name: undefined }], limits)
    expect(Object.entries(part ?? {})).toEqual([
      ['type', 'image'],
      ['mediaType', 'image/png'],
      ['data', 'iVBORw0KGgo='],
    ])
  })

  test.each([null, {}, 'image', 5, { length: 1 }])('refuses %j in place of the list', (given) => {
    expect(() => checkAttachments(given, limits)).toThrow('attachments must be a list.')
  })

  const base64 = '.data must be bytes in base64: the standard alphabet, padded, without line breaks.'
  const address = '.url must be an absolute http or https address without credentials.'
  const name = '.name must be a string that is not empty, without control characters.'
  const ofImages = ".mediaType must be a media type like 'image/png', without parameters."
  const ofFiles = ".mediaType must be a media type like 'application/pdf', without parameters."
  const withUrl = (url: unknown) => ({ ...file, url })

  test.each<[string, unknown, string]>([
    ['null', null, ' must be a plain object.'],
    ['a text', 'a.png', ' must be a plain object.'],
    ['an instance', new Blob([]), ' must be a plain object.'],
    ['no type', {}, ".type must be 'image' or 'file'."],
    ['another type', { ...image, type: 'text' }, ".type must be 'image' or 'file'."],
    ['a name of Object.prototype for a type', { ...image, type: 'constructor' }, ".type must be 'image' or 'file'."],
    ['a field there is none of', { ...file, mimeType: 'a/b' }, " of type 'file' has an unknown field 'mimeType'."],
    [
      'an own __proto__',
      JSON.parse(`{"__proto__":1,${JSON.stringify(image).slice(1)}`),
      " of type 'image' has an unknown field '__proto__'.",
    ],
    ['an image with a name', { ...image, name: 'a.png' }, " of type 'image' has an unknown field 'name'."],
    ['no media type', { ...file, mediaType: undefined }, ofFiles],
    ['something that is not a media type', { ...file, mediaType: 'pdf' }, ofFiles],
    ['a media type with a parameter', { ...file, mediaType: 'text/plain; charset=utf-8' }, ofFiles],
    ['a media type and a line end', { ...file, mediaType: 'text/plain\n' }, ofFiles],
    ['an image of another type', { ...image, mediaType: 'application/pdf' }, ofImages],
    ['an image of any kind', { ...image, mediaType: 'image/*' }, ofImages],
    ['neither data nor url', { ...image, data: undefined }, ' must have either data or url.'],
    ['both data and url', { ...file, data: 'aGk=' }, ' must have either data or url.'],
    ['empty data', { ...image, data: '' }, base64],
    ['data that is not a string', { ...image, data: new Uint8Array(4) }, base64],
    ['null for data', { ...image, data: null }, base64],
    ['base64 without padding', { ...image, data: 'aGk' }, base64],
    ['base64 of the other alphabet', { ...image, data: 'a_-=' }, base64],
    ['base64 with a line break', { ...image, data: 'aGk=\n' }, base64],
    ['a data: address for data', { ...image, data: 'data:image/png;base64,iVBORw0KGgo=' }, base64],
    ['padding alone', { ...image, data: '====' }, base64],
    ['an address that is not a string', withUrl(new URL('https://files.example/')), address],
    ['a relative address', withUrl('/a.png'), address],
    ['an address without slashes', withUrl('https:files.example'), address],
    ['an address without a host', withUrl('https://'), address],
    ['a data: address', withUrl('data:text/plain,hi'), address],
    ['a file: address', withUrl('file:///etc/passwd'), address],
    ['a javascript: address', withUrl('javascript:alert(1)'), address],
    ['an address with a space', withUrl('https://files.example/a b'), address],
    ['an address with a line end', withUrl('https://files.example/\n'), address],
    ['a user and a password', withUrl('https://ada:pass-word@files.example/'), address],
    ['a user', withUrl('https://ada@files.example/'), address],
    ['a user behind more slashes', withUrl('https:////ada:pass-word@files.example/'), address],
    ['a user before a backslash', withUrl('https://ada:pass-word@files.example\\a'), address],
    ['a malformed host', withUrl('https://[files.example'), address],
    ['a password alone', withUrl('https://:pass-word@files.example/'), address],
    ['an empty name', { ...file, name: '' }, name],
    ['a name that is not a string', { ...file, name: 5 }, name],
    ['a name with a line end', { ...file, name: 'a\r\nb' }, name],
    ['a name with a control character of C1', { ...file, name: 'a\u0085b' }, name],
  ])('refuses %s, and names the place', (_what, part, problem) => {
    try {
      checkAttachments([image, part], limits)
      expect.unreachable()
    } catch (error) {
      expect(error).toMatchObject({ code: 'INVALID_INPUT', message: `attachments[1]${problem}` })
      expect((error as Error).message).not.toContain('pass-word')
    }
  })

  test('a hole in the list is refused', () => {
    expect(() => checkAttachments(new Array(4_000_000_000), limits)).toThrow('attachments[0] must be a plain object.')
  })

  test('reads each field once', () => {
    let reads = 0
    const part = Object.defineProperty({ ...image }, 'data', {
      enumerable: true,
      get: () => (reads++ === 0 ? 'aGk=' : '?'),
    })
    expect(checkAttachments([part], limits)).toEqual([{ ...image, data: 'aGk=' }])
  })

  test('counts all of them as JSON, against maxAttachmentBytes', () => {
    const part = { type: 'file', mediaType: 'text/plain', data: 'aGk=', name: 'é' }
    // Two parts of 66 bytes each, the comma and the brackets.
    const bytes = 135
    const strict = (maxAttachmentBytes: number) => () =>
      checkAttachments([part, part], resolveLimits({ maxAttachmentBytes }))
    expect(new TextEncoder().encode(JSON.stringify([part, part]))).toHaveLength(bytes)
    expect(strict(bytes)()).toHaveLength(2)
    expect(strict(bytes - 1)).toThrow('The size of the attachments exceeds the limit maxAttachmentBytes (134).')
    expect(strict(Number.POSITIVE_INFINITY)()).toHaveLength(2)
  })

  test('a long address is refused for its size before it is parsed', () => {
    const parse = vi.spyOn(URL, 'canParse')
    try {
      const url = `https://${'é'.repeat(limits.maxAttachmentBytes)}.example/`
      expect(() => checkAttachments([image, { ...file, url }], limits)).toThrow('maxAttachmentBytes')
      expect(parse).not.toHaveBeenCalled()
    } finally {
      parse.mockRestore()
    }
  })
})
