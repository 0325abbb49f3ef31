import { afterEach, expect, test, vi } from 'vitest'
import { gate } from '../../testing/contract/engine-harness.js'
import { dataLine } from '../fetch/reply/event-stream.js'
import { createEventBody } from './event-body.js'

/** Intervals alone: other timers, such as those of connections that earlier tests closed, do not count here. */
function fakeIntervals(): void {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
}

afterEach(() => {
  vi.useRealTimers()
})

const fail = (error: unknown): void => {
  throw error
}

test('sends comments during silence, and none after the end', async () => {
  fakeIntervals()
  const hold = gate()
  async function* texts(): AsyncGenerator<string, void> {
    yield dataLine({ first: true })
    await hold.opened
  }
  const reader = createEventBody(texts(), 1_000, fail).getReader()
  const decoder = new TextDecoder()
  const read = async (): Promise<string> => decoder.decode((await reader.read()).value)
  expect(await read()).toBe('data: {"first":true}\n\n')
  const next = read()
  await vi.advanceTimersByTimeAsync(1_000)
  expect(await next).toBe(': keep-alive\n\n')
  hold.open()
  expect((await reader.read()).done).toBe(true)
  expect(vi.getTimerCount()).toBe(0)
})

test('a reader that goes away ends the timer, and nothing more is written', async () => {
  fakeIntervals()
  const hold = gate()
  let hasLeft = false
  async function* texts(): AsyncGenerator<string, void> {
    try {
      await hold.opened
      yield 'late'
    } finally {
      hasLeft = true
    }
  }
  const reported: unknown[] = []
  const reader = createEventBody(texts(), 1_000, (error) => reported.push(error)).getReader()
  reader.read().catch(() => undefined)
  await vi.advanceTimersByTimeAsync(0)
  await reader.cancel()
  expect(vi.getTimerCount()).toBe(0)
  hold.open()
  await vi.waitFor(() => expect(hasLeft).toBe(true))
  expect(reported).toEqual([])
})

test('a body that is not read, or no longer read, keeps no timer', async () => {
  fakeIntervals()
  async function* texts(): AsyncGenerator<string, void> {
    yield 'one'
    yield 'two'
  }
  createEventBody(texts(), 1_000, fail)
  await vi.advanceTimersByTimeAsync(0)
  expect(vi.getTimerCount()).toBe(0)
  await createEventBody(texts(), 1_000, fail).getReader().read()
  await vi.advanceTimersByTimeAsync(1_000)
  expect(vi.getTimerCount()).toBe(0)
})

test('an error of the source is reported, and the body ends', async () => {
  const reported: unknown[] = []
  const error = new Error('broken')
  // biome-ignore lint/correctness/useYield: it fails before it has a text.
  async function* texts(): AsyncGenerator<string, void> {
    throw error
  }
  const body = createEventBody(texts(), Infinity, (thrown) => reported.push(thrown))
  expect(await new Response(body).text()).toBe('')
  expect(reported).toEqual([error])
})
