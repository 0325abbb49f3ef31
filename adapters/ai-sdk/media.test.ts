import { describe, expect, test } from 'vitest'
import type { FilePart, ImagePart, MessagePart } from '../../src/index.js'
import { fileContent } from './media.js'
import { promptOf } from './prompt.js'

const image: ImagePart = { type: 'image', mediaType: 'image/png', data: 'iVBORw==' }
const pdf: FilePart = { type: 'file', mediaType: 'application/pdf', data: 'JVBERi0=', name: 'bill.pdf' }
const remote: ImagePart = { type: 'image', mediaType: 'image/png', url: 'https://pictures.example/a.png' }

describe('images and files', () => {
  test.each(['v2', 'v3'] as const)('of version %s are base64 or a URL', (version) => {
    expect(fileContent(image, version)).toEqual({ type: 'file', mediaType: 'image/png', data: 'iVBORw==' })
    expect(fileContent(pdf, version)).toEqual({
      type: 'file',
      mediaType: 'application/pdf',
      data: 'JVBERi0=',
      filename: 'bill.pdf',
    })
    expect(fileContent(remote, version)).toEqual({
      type: 'file',
      mediaType: 'image/png',
      data: new URL('https://pictures.example/a.png'),
    })
  })

  test('of version 4 are tagged as base64 or a URL', () => {
    expect(fileContent(image, 'v4')).toMatchObject({ data: { type: 'data', data: 'iVBORw==' } })
    expect(fileContent(remote, 'v4')).toMatchObject({
      data: { type: 'url', url: new URL('https://pictures.example/a.png') },
    })
  })

  test('keep their place among the texts of the user', () => {
    const parts: MessagePart[] = [{ type: 'text', text: 'This' }, image, { type: 'text', text: 'and this' }, pdf]
    expect(promptOf(undefined, [{ role: 'user', parts, turn: 1 }], 'v3')).toMatchObject([
      { role: 'user', content: [{ text: 'This' }, { data: 'iVBORw==' }, { text: 'and this' }, { data: 'JVBERi0=' }] },
    ])
  })

  test.each(['http://a.example/b', 'gs://bucket/object', 's3://bucket/object'])('can be at %s', (url) => {
    expect(fileContent({ type: 'file', mediaType: 'text/plain', url }, 'v3')).toMatchObject({ data: new URL(url) })
  })

  test.each([
    'pictures/a.png',
    '',
    'file:///etc/passwd',
    'data:image/png;base64,iVBORw==',
    'javascript:alert(1)',
    7 as unknown as string,
  ])('are refused with the URL %s, which the message does not contain', (url) => {
    expect(() => fileContent({ type: 'image', mediaType: 'image/png', url }, 'v3')).toThrow(
      expect.objectContaining({
        code: 'INVALID_INPUT',
        message:
          "The image of type 'image/png' in a message cannot be sent: url must be an absolute URL with one of the schemes https:, http:, gs:, s3:.",
      }),
    )
  })

  // OpenAI's package takes a text that begins with file- for the ID of a stored file.
  test.each(['', 'file-abc123', 'data:image/png;base64,iVBORw==', 'aGk=\n', undefined as unknown as string])(
    'are refused with the data %j',
    (data) => {
      expect(() => fileContent({ type: 'file', mediaType: 'text/plain', data }, 'v3')).toThrow(
        "The file of type 'text/plain' in a message cannot be sent: data must be base64 without a prefix.",
      )
    },
  )
})
