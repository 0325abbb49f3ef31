import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { ClientSignal } from './client-signal.js'

beforeEach(() => {
  vi.useFakeTimers()
})

afterEach(() => {
  expect(vi.getTimerCount()).toBe(0)
  vi.useRealTimers()
})

/** A request that counts how often its signal is asked for. */
function setUp() {
  const client = new AbortController()
  const request = new Request('http://chat.example/ai/run', { method: 'POST', signal: client.signal })
  const { signal: ofRequest } = request
  const asked = vi.fn(() => ofRequest)
  Object.defineProperty(request, 'signal', { get: asked })
  return { client, asked, signal: new ClientSignal(request) }
}

describe('ClientSignal', () => {
  test('a listener that is taken back before the event loop turns costs no signal', () => {
    const { asked, signal } = setUp()
    const listener = vi.fn()
    signal.addEventListener('abort', listener)
    expect(signal.aborted).toBe(false)
    signal.removeEventListener('abort', listener)
    vi.runAllTimers()
    expect(asked).not.toHaveBeenCalled()
  })

  test('a listener that stays is told, by a function or an object', () => {
    const { client, asked, signal } = setUp()
    const listener = vi.fn()
    const object = { handleEvent: vi.fn() }
    signal.addEventListener('abort', listener)
    signal.addEventListener('abort', object)
    vi.runAllTimers()
    expect([asked.mock.calls.length, signal.aborted]).toEqual([1, false])
    client.abort('gone')
    expect([listener.mock.calls.length, object.handleEvent.mock.calls.length]).toEqual([1, 1])
    expect([signal.aborted, signal.reason]).toEqual([true, 'gone'])
  })

  test('a client that went away before the event loop turned is noticed then', () => {
    const { client, signal } = setUp()
    const listener = vi.fn()
    const object = { handleEvent: vi.fn() }
    const other = vi.fn()
    signal.addEventListener('abort', listener)
    signal.addEventListener('abort', object, { once: true })
    signal.addEventListener('other', other)
    client.abort()
    expect(listener).not.toHaveBeenCalled()
    vi.runAllTimers()
    expect([listener, object.handleEvent, other].map((mock) => mock.mock.calls.length)).toEqual([1, 1, 0])
    expect(signal.aborted).toBe(true)
  })

  test('a listener added twice is told once, and one taken back not at all', () => {
    const { client, signal } = setUp()
    const [twice, gone] = [vi.fn(), vi.fn()]
    signal.addEventListener('abort', twice)
    signal.addEventListener('abort', twice)
    signal.addEventListener('abort', gone)
    signal.removeEventListener('abort', gone)
    client.abort()
    vi.runAllTimers()
    expect([twice.mock.calls.length, gone.mock.calls.length]).toEqual([1, 0])
  })

  test('once the signal is made, listeners go straight to it', () => {
    const { client, signal } = setUp()
    const [kept, gone] = [vi.fn(), vi.fn()]
    signal.throwIfAborted()
    signal.addEventListener('abort', kept)
    signal.addEventListener('abort', gone)
    signal.removeEventListener('abort', gone)
    client.abort()
    expect([kept.mock.calls.length, gone.mock.calls.length]).toEqual([1, 0])
  })

  test('asking for more than listening makes the signal at once, with the listeners so far', () => {
    const { client, asked, signal } = setUp()
    const [listener, onabort] = [vi.fn(), vi.fn()]
    signal.addEventListener('abort', listener)
    signal.onabort = onabort
    expect(signal.onabort).toBe(onabort)
    expect(asked).toHaveBeenCalledTimes(1)
    client.abort(new Error('gone'))
    expect([listener.mock.calls.length, onabort.mock.calls.length]).toEqual([1, 1])
    expect(() => signal.throwIfAborted()).toThrow(new Error('gone'))
  })

  test('takes events of its own, and no listener for none', () => {
    const { signal } = setUp()
    const listener = vi.fn()
    signal.addEventListener('abort', null)
    signal.removeEventListener('abort', null)
    signal.addEventListener('custom', listener)
    signal.dispatchEvent(new Event('custom'))
    expect(listener).toHaveBeenCalledTimes(1)
  })

  test('never fires where the runtime gives a request no signal', () => {
    const signal = new ClientSignal({} as Request)
    const listener = vi.fn()
    signal.addEventListener('abort', listener)
    vi.runAllTimers()
    expect([signal.aborted, listener.mock.calls.length]).toEqual([false, 0])
  })
})
