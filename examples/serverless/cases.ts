/**
 * Tests for every deployment example, with real requests. Each example runs twice over one store, as two isolates of a
 * platform do.
 */

import type { RunResponseType } from 'turnkeeper'
import { expect, test } from 'vitest'

/** The base URLs of the two isolates, without a slash at the end: `http://127.0.0.1:3000/ai`. */
export type Isolates = readonly [first: string, second: string]

type FlowName = 'Notes' | 'Guide'

/** Declares all tests. `isolates` returns the two base URLs; the tests call it. */
export function deploymentCases(isolates: () => Isolates): void {
  replyCase(isolates)
  streamCase(isolates)
  clientGoneCase(isolates)
  summaryCase(isolates)
  twoIsolatesCase(isolates)
}

export function replyCase(isolates: () => Isolates): void {
  test('a conversation goes on in either isolate', async () => {
    const [first, second] = isolates()
    const { session } = await say(first, 'Notes', 'one')
    expect(await say(first, 'Notes', 'two', session)).toMatchObject({ success: true, message: 'one, two', session })
    expect(await say(second, 'Notes', 'three', session)).toMatchObject({ message: 'one, two, three', session })
  })
}

export function streamCase(isolates: () => Isolates): void {
  test('a reply is streamed while the model speaks', async () => {
    const chunks = await streamOf(isolates()[0])
    // If the stream had been buffered, the end would arrive with the beginning.
    expect(chunks.findIndex((chunk) => chunk.includes('text-delta'))).toBeLessThan(
      chunks.findIndex((chunk) => chunk.includes('event: result')),
    )
    const events = eventsOf(chunks.join(''))
    const text = events.map(({ type, data }) => (type === 'text-delta' ? data.text : '')).join('')
    expect(text).toMatch(/^You ask about teapots: /)
    expect(events.at(-1)).toMatchObject({ type: 'result', data: { success: true, message: text } })
  })
}

export function clientGoneCase(isolates: () => Isolates): void {
  test.each([
    ['while the model speaks', 'everything'],
    ['while the model is silent', 'silence'],
  ])('a client that leaves a stream %s leaves the session usable', async (_when, topic) => {
    const [first] = isolates()
    const { session } = await say(first, 'Guide', 'teapots')
    await leaveStream(first, session, topic)
    // The model would go on until the turn's deadline, which is after that of this test.
    const { success, message } = await say(first, 'Guide', 'kettles', session)
    expect([success, message]).toEqual([true, expect.stringMatching(/^You ask about kettles: /)])
  })
}

export function summaryCase(isolates: () => Isolates): void {
  test('a summary is written after the reply', async () => {
    const [first] = isolates()
    const { session } = await say(first, 'Guide', 'teapots')
    const messageOf = async (topic: string) => (await say(first, 'Guide', topic, session)).message
    expect(await messageOf('kettles')).not.toContain('I remember')
    await expect.poll(() => messageOf('ferns'), { interval: 100, timeout: 20_000 }).toContain('I remember what we said')
  })
}

export function twoIsolatesCase(isolates: () => Isolates): void {
  test('two isolates on one session lose nothing', async () => {
    const { session } = await say(isolates()[0], 'Notes', 'begin')
    const kept = ['begin']
    for (let round = 0; round < 10; round += 1) {
      const notes = [`first ${round}`, `second ${round}`]
      const replies = await Promise.all(
        notes.map((note, index) => post(isolates()[index] ?? '', 'Notes', note, { session })),
      )
      const won = notes.filter((_, index) => replies[index]?.ok)
      expect(won, 'one of the two at least').not.toEqual([])
      for (const reply of replies) expect([null, 'SESSION_CONFLICT']).toContain(reply.headers.get('Chat-Error'))
      kept.push(...won)
    }
    const { message } = await say(isolates()[1], 'Notes', '', session)
    expect(message.split(', ').toSorted()).toEqual(kept.toSorted())
  })
}

/** The chunks of a streamed reply. */
export async function streamOf(isolate: string): Promise<string[]> {
  const chunks: string[] = []
  const response = await post(isolate, 'Guide', 'teapots', { stream: true })
  for await (const chunk of response.body?.pipeThrough(new TextDecoderStream()) ?? []) chunks.push(chunk)
  return chunks
}

interface Sent {
  readonly session?: string
  readonly stream?: boolean
  readonly signal?: AbortSignal
}

/** Sends one message. */
export async function post(isolate: string, flowName: FlowName, message: string, sent: Sent = {}): Promise<Response> {
  const { session, stream = false, signal } = sent
  return fetch(`${isolate}/run`, {
    method: 'POST',
    headers: {
      'Content-Type': 'application/json',
      ...(session === undefined ? {} : { 'Chat-Session-Id': session }),
      ...(stream ? { Accept: 'text/event-stream' } : {}),
    },
    body: JSON.stringify({ flowName, message }),
    ...(signal === undefined ? {} : { signal }),
  })
}

/** Sends one message and reads the reply. */
export async function say(isolate: string, flowName: FlowName, message: string, session?: string) {
  const response = await post(isolate, flowName, message, session === undefined ? {} : { session })
  return (await response.json()) as RunResponseType
}

/** Asks for a stream that does not end by itself, and leaves after its first words. */
async function leaveStream(isolate: string, session: string, topic: string): Promise<void> {
  const leaving = new AbortController()
  const response = await post(isolate, 'Guide', topic, { session, stream: true, signal: leaving.signal })
  for await (const chunk of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
    if (chunk.includes('text-delta')) break
  }
  leaving.abort()
}

/** Each event as it came: its type, and its data as JSON on one line. */
function eventsOf(text: string) {
  const blocks = text.matchAll(/^event: (.*)\nid: .*\ndata: (.*)$/gm)
  return Array.from(blocks, ([, type = '', data = '']) => ({ type, data: JSON.parse(data) }))
}
