/** The page's reader of event streams, over bytes that are split at every possible place. */
import { expect, test } from 'vitest'
import { readEvents } from './read-events.js'

const bytes = new TextEncoder().encode(
  'event: session\nid: 1\ndata: {"session":"s1"}\n\n' +
    ': keep-alive\n\n' +
    'event: text-delta\nid: 2\ndata: {"text":"Grüße,\u2028 😀"}\n\n' +
    'event: step\nid: 3\ndata: {"step":"end: of\\n\\nit"}\n\n',
)
const events = [
  { type: 'session', id: '1', data: { session: 's1' } },
  { type: 'text-delta', id: '2', data: { text: 'Grüße,\u2028 😀' } },
  { type: 'step', id: '3', data: { step: 'end: of\n\nit' } },
]

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

async function allOf(body: ReadableStream<Uint8Array>): Promise<unknown[]> {
  const found: unknown[] = []
  for await (const event of readEvents(body)) found.push(event)
  return found
}

test('wherever the bytes are split, the events are the same', async () => {
  for (let cut = 0; cut <= bytes.length; cut++) {
    const body = bodyOf([bytes.slice(0, cut), bytes.slice(cut)])
    expect(await allOf(body)).toEqual(events)
  }
})

test('one byte at a time works', async () => {
  const body = bodyOf(Array.from(bytes, (byte) => Uint8Array.of(byte)))
  expect(await allOf(body)).toEqual(events)
})

test('leaving the loop closes the connection', async () => {
  let cancelled = false
  const body = bodyOf([bytes.slice(0, 60), bytes.slice(60)], () => {
    cancelled = true
  })
  for await (const { type } of readEvents(body)) if (type === 'session') break
  expect(cancelled).toBe(true)
})
