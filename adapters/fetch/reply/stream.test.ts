import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import type { FlowStreamEvent } from '../../../src/index.js'
import { FakeStream } from '../../../testing/contract/http/fake-stream.js'
import { createStreamBody } from './stream.js'

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
})

afterEach(() => {
  vi.useRealTimers()
})

const session: FlowStreamEvent = { type: 'session', session: 's1' }
const delta = (text: string): FlowStreamEvent => ({ type: 'text-delta', text })
const response = { success: true, completed: false, message: 'Hi.', session: 's1', contentType: 'text/plain' }
const result: FlowStreamEvent = { type: 'result', response, sessionState: 'running' }
const resultData =
  'data: {"success":true,"completed":false,"message":"Hi.","session":"s1","contentType":"text/plain","sessionState":"running"}\n\n'
const brokenOff =
  'event: error\nid: 2\ndata: {"success":false,"completed":true,"message":"The request could not be handled.","session":"s1","contentType":"text/plain","sessionState":"unknown","code":"INTERNAL_ERROR"}\n\n'

function open(events: FakeStream, heartbeatMs = 15_000) {
  const reported: unknown[] = []
  const report = (error: unknown): void => void reported.push(error)
  const body = createStreamBody({ first: session, events, details: true, heartbeatMs, report })
  const reader = body.getReader()
  const decoder = new TextDecoder()
  /** The next chunk as text, or `undefined` at the end. */
  const read = async (): Promise<string | undefined> => {
    const { done, value } = await reader.read()
    return done ? undefined : decoder.decode(value)
  }
  return { reader, read, reported }
}

/** Runs all pending microtasks. */
const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

describe('reading', () => {
  test('each piece is one chunk with its number, and the body ends after the result', async () => {
    const events = new FakeStream(delta('Hi'), { type: 'reset', reason: 'retry' }, delta('Hi.'), result)
    const { read, reported } = open(events)
    expect(await read()).toBe('event: session\nid: 1\ndata: {"session":"s1"}\n\n')
    expect(await read()).toBe('event: text-delta\nid: 2\ndata: {"text":"Hi"}\n\n')
    expect(await read()).toBe('event: reset\nid: 3\ndata: {"reason":"retry"}\n\n')
    expect(await read()).toBe('event: text-delta\nid: 4\ndata: {"text":"Hi."}\n\n')
    expect(await read()).toBe(`event: result\nid: 5\n${resultData}`)
    expect(await read()).toBeUndefined()
    expect([events.asked, events.left, reported]).toEqual([4, 1, []])
  })

  test('a piece is pulled only when the reader asks for it', async () => {
    const events = new FakeStream(delta('a'), delta('b'), delta('c'))
    const { read } = open(events)
    await settle()
    expect(events.asked).toBe(0)
    await read()
    await settle()
    expect(events.asked).toBe(0)
    await read()
    await settle()
    expect(events.asked).toBe(1)
    await read()
    await settle()
    expect(events.asked).toBe(2)
  })
})

describe('a reader that goes away', () => {
  test('while a piece is pending leaves the stream, and resolves when the turn is over', async () => {
    const events = new FakeStream()
    let over: (value?: unknown) => void = () => {}
    events.whenLeft = new Promise((resolve) => {
      over = resolve
    })
    const { reader, read, reported } = open(events)
    await read()
    const reading = read()
    await settle()
    let resolved = false
    const cancelling = reader.cancel().then(() => {
      resolved = true
    })
    await settle()
    expect([events.left, resolved, vi.getTimerCount()]).toEqual([1, false, 0])
    over()
    await cancelling
    expect([await reading, resolved, reported]).toEqual([undefined, true, []])
  })

  test('before its first read leaves the stream', async () => {
    const events = new FakeStream(delta('a'))
    const { reader } = open(events)
    await reader.cancel()
    expect([events.asked, events.left]).toEqual([0, 1])
  })

  test('drops a piece that comes later', async () => {
    const events = new FakeStream()
    // Leaving does not end the pending read here.
    events.return = async () => ({ done: true, value: undefined })
    const { reader, read, reported } = open(events)
    await read()
    const reading = read()
    await settle()
    await reader.cancel()
    events.push(delta('late'))
    await settle()
    expect([await reading, reported]).toEqual([undefined, []])
  })

  test('resolves if leaving the stream fails, and reports it', async () => {
    const events = new FakeStream()
    events.whenLeft = Promise.reject(new Error('stuck'))
    const { reader, reported } = open(events)
    await reader.cancel()
    expect(reported).toEqual([new Error('stuck')])
  })
})

describe('a broken stream', () => {
  test('that throws ends with a failure, and the error is reported', async () => {
    const events = new FakeStream()
    events.fail(new Error('secret'))
    const { read, reported } = open(events)
    await read()
    expect(await read()).toBe(brokenOff)
    expect(await read()).toBeUndefined()
    expect([events.left, reported]).toEqual([1, [new Error('secret')]])
  })

  test('that ends without a result ends with a failure', async () => {
    const events = new FakeStream()
    events.end()
    const { read, reported } = open(events)
    await read()
    expect(await read()).toBe(brokenOff)
    expect(await read()).toBeUndefined()
    expect(reported).toEqual([new Error('The stream of a turn ended without a result.')])
  })
})

describe('the heartbeat', () => {
  test('is a comment in each period in which a reader waits, and is not counted as an event', async () => {
    const events = new FakeStream()
    const { read } = open(events, 1_000)
    await read()
    for (let beat = 0; beat < 3; beat++) {
      const reading = read()
      vi.advanceTimersByTime(999)
      await settle()
      vi.advanceTimersByTime(1)
      expect(await reading).toBe(': keep-alive\n\n')
    }
    const reading = read()
    events.push(delta('a'))
    expect(await reading).toBe('event: text-delta\nid: 2\ndata: {"text":"a"}\n\n')
  })

  test('queues at most one comment for a stalled reader', async () => {
    const events = new FakeStream()
    const { read } = open(events, 1_000)
    await read()
    const reading = read()
    await settle()
    vi.advanceTimersByTime(5_000)
    expect(await reading).toBe(': keep-alive\n\n')
    events.push(delta('a'))
    expect(await read()).toBe(': keep-alive\n\n')
    expect(await read()).toBe('event: text-delta\nid: 2\ndata: {"text":"a"}\n\n')
  })

  test('has no timer before a reader waits, and ends its timer within one period after the reader stops', async () => {
    const events = new FakeStream(delta('a'))
    const { read } = open(events, 1_000)
    await read()
    expect(vi.getTimerCount()).toBe(0)
    await read()
    expect(vi.getTimerCount()).toBe(1)
    vi.advanceTimersByTime(1_000)
    expect(vi.getTimerCount()).toBe(0)
    const reading = read()
    await settle()
    vi.advanceTimersByTime(1_000)
    expect(await reading).toBe(': keep-alive\n\n')
  })

  test.each<[string, (events: FakeStream) => void]>([
    ['the result', (events) => events.push(result)],
    ['an exception', (events) => events.fail(new Error('x'))],
    ['an end without a result', (events) => events.end()],
  ])('has no timer after %s', async (_name, finish) => {
    const events = new FakeStream()
    const { read } = open(events)
    await read()
    const reading = read()
    await settle()
    expect(vi.getTimerCount()).toBe(1)
    finish(events)
    await reading
    expect([await read(), vi.getTimerCount()]).toEqual([undefined, 0])
  })

  test('of Infinity sends no comment', async () => {
    const events = new FakeStream()
    const { read } = open(events, Number.POSITIVE_INFINITY)
    await read()
    void read()
    await settle()
    expect(vi.getTimerCount()).toBe(0)
  })

  test('does not keep the process alive', async () => {
    vi.useRealTimers()
    const { read, reader } = open(new FakeStream())
    const before = process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length
    await read()
    void read()
    await settle()
    expect(process.getActiveResourcesInfo().filter((name) => name === 'Timeout')).toHaveLength(before)
    await reader.cancel()
  })
})
