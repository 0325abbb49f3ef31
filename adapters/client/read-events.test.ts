/** The reader of event streams, with bytes split at every possible place. */
import { expect, test } from 'vitest'
import { readEvents } from './read-events.js'

const text =
  'event: session\nid: 1\ndata: {"session":"s1"}\n\n' +
  ': keep-alive\n\n' +
  'event: text-delta\nid: 2\ndata: {"text":"Grüße,\u2028 😀"}\n\n' +
  'id:3\ndata:first\ndata: second\ndata\n\n'
const events = [
  { type: 'session', id: '1', data: '{"session":"s1"}' },
  { type: 'text-delta', id: '2', data: '{"text":"Grüße,\u2028 😀"}' },
  { type: 'message', id: '3', data: 'first\nsecond\n' },
]
const forms = [
  ['line feeds', text],
  ['carriage returns and line feeds', text.replaceAll('\n', '\r\n')],
] as const

function bodyOf(chunks: readonly Uint8Array[], onCancel?: () => void): ReadableStream<Uint8Array> {
  const left = [...chunks]
  return new ReadableStream({
    pull(controller) {
      const chunk = left.shift()
      if (chunk === undefined) controller.close()
      else controller.enqueue(chunk)
    },
    cancel: () => onCancel?.(),
  })
}

async function allOf(body: ReadableStream<Uint8Array>, onBytes = () => {}): Promise<unknown[]> {
  const found: unknown[] = []
  for await (const event of readEvents(body, onBytes)) found.push(event)
  return found
}

test.each(forms)('wherever the bytes are split, the events are the same, with %s', async (_form, sent) => {
  const bytes = new TextEncoder().encode(sent)
  for (let cut = 0; cut <= bytes.length; cut++) {
    expect(await allOf(bodyOf([bytes.slice(0, cut), bytes.slice(cut)]))).toEqual(events)
  }
  expect(await allOf(bodyOf(Array.from(bytes, (byte) => Uint8Array.of(byte))))).toEqual(events)
})

test('a truncated event is dropped', async () => {
  const bytes = new TextEncoder().encode(`${text}event: result\nid: 4\ndata: {}\n`)
  expect(await allOf(bodyOf([bytes]))).toEqual(events)
})

test('each piece of the body is reported, comments included', async () => {
  let pieces = 0
  const body = bodyOf([new TextEncoder().encode(': keep-'), new TextEncoder().encode('alive\n\n')])
  expect(await allOf(body, () => pieces++)).toEqual([])
  expect(pieces).toBe(2)
})

test('leaving the loop closes the connection', async () => {
  const bytes = new TextEncoder().encode(text)
  let cancelled = false
  const body = bodyOf([bytes.slice(0, 60), bytes.slice(60)], () => {
    cancelled = true
  })
  for await (const { type } of readEvents(body, () => {})) if (type === 'session') break
  expect(cancelled).toBe(true)
})
