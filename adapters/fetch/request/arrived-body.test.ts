import { expect, test } from 'vitest'
import { takeArrivedBody } from './arrived-body.js'
import { createBodyReader } from './body.js'

/** A request as a Node server makes it, with the socket's message under a symbol. */
function requestWith(message: unknown): Request {
  const request = new Request('http://chat.example/ai/run', { method: 'POST', headers: { 'Content-Length': '4' } })
  return Object.assign(request, { [Symbol('incoming')]: message })
}

const bytes = new TextEncoder().encode('0123')
const arrived = { readableFlowing: null, readableLength: 4, read: (): unknown => bytes }

test('a body that has fully arrived is taken at once', async () => {
  expect(takeArrivedBody(requestWith(arrived), 4)).toBe(bytes)
  await expect(createBodyReader(10)(requestWith(arrived))).resolves.toBe('0123')
  const empty = { readableFlowing: null, readableLength: 0, read: () => null }
  expect(takeArrivedBody(requestWith(empty), 0)).toEqual(new Uint8Array())
})

test.each([
  ['of which more, or less, is there than was declared', { ...arrived, readableLength: 5 }],
  ['that somebody has begun to read', { ...arrived, readableFlowing: false }],
  ['that has been made a text', { ...arrived, read: () => '0123' }],
  ['of no message', null],
  ['of something else', 'message'],
])('a body is left to the stream: one %s', (_name, message) => {
  expect(takeArrivedBody(requestWith(message), 4)).toBeUndefined()
})

test('never takes more than the declared length, whatever the message gives', async () => {
  const lying = { ...arrived, read: () => new Uint8Array(400) }
  await expect(createBodyReader(10)(requestWith(lying))).rejects.toThrow(
    'The request body does not have the length that Content-Length says.',
  )
})
