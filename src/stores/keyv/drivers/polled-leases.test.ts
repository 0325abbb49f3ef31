import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { PolledLeases } from './polled-leases.js'
import { RedisCommands } from './redis/redis-commands.js'
import { redisLeaseCommands } from './redis/redis-leases.js'

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

const ttlMs = 300
const patient = (): AbortSignal => new AbortController().signal

/** Leases over a minimal fake server, which fails while `fault` is set. */
async function scene() {
  const held = new Map<string, string>()
  const sent: string[] = []
  const state: { fault: 'lost' | 'failed' | undefined; delay: Promise<void> | undefined } = {
    fault: undefined,
    delay: undefined,
  }
  const perform = ([name, ...words]: readonly string[]): unknown => {
    if (name === 'SET') {
      const [key = '', token = ''] = words
      if (held.has(key)) return null
      held.set(key, token)
      return 'OK'
    }
    const [, , key = '', token, ttl] = words
    if (held.get(key) !== token) return 0
    if (ttl === undefined) held.delete(key)
    return 1
  }
  const send = async (_key: string, words: readonly string[]): Promise<unknown> => {
    sent.push(words[0] === 'SET' ? 'SET' : words.length === 6 ? 'renew' : 'give back')
    await state.delay
    const reply = state.fault === 'failed' ? undefined : perform(words)
    if (state.fault !== undefined) throw new Error('The connection was lost.')
    return reply
  }
  const commands = new RedisCommands({ send, sendOn: () => Promise.reject(new Error('Not here.')) })
  const leases = new PolledLeases(redisLeaseCommands(commands), ttlMs)
  // Web Crypto makes the digests, and fake timers do not affect it.
  await (await leases.take('warm', patient()))()
  const renewing = leases.take('warm', patient())
  await vi.waitFor(() => renewing)
  const giveBack = await renewing
  await vi.advanceTimersByTimeAsync(ttlMs / 3)
  await vi.waitFor(() => expect(sent).toContain('renew'))
  await giveBack()
  sent.length = 0
  return { leases, held, sent, state }
}

describe('a lease', () => {
  test('is renewed at a third of its time, until it is released', async () => {
    const { leases, held, sent } = await scene()
    const giveBack = await leases.take('k', patient())
    await vi.advanceTimersByTimeAsync(ttlMs - 1)
    expect(sent).toEqual(['SET', 'renew', 'renew'])
    await giveBack()
    await vi.advanceTimersByTimeAsync(10 * ttlMs)
    expect(sent).toEqual(['SET', 'renew', 'renew', 'give back'])
    expect(held.size).toBe(0)
  })

  test('that is released during a renewal is not renewed again', async () => {
    const { leases, sent, state } = await scene()
    const giveBack = await leases.take('k', patient())
    let answer = (): void => undefined
    state.delay = new Promise((resolve) => {
      answer = resolve
    })
    await vi.advanceTimersByTimeAsync(ttlMs / 3)
    const givenBack = giveBack()
    answer()
    await givenBack
    await vi.advanceTimersByTimeAsync(10 * ttlMs)
    expect(sent).toEqual(['SET', 'renew', 'give back'])
    expect(vi.getTimerCount()).toBe(0)
  })

  test('is renewed again after a server failure, but not once another process holds it', async () => {
    const { leases, held, sent, state } = await scene()
    const giveBack = await leases.take('k', patient())
    state.fault = 'failed'
    await vi.advanceTimersByTimeAsync(ttlMs / 3)
    state.fault = undefined
    await vi.advanceTimersByTimeAsync(ttlMs / 3)
    held.set('k', 'of another')
    await vi.advanceTimersByTimeAsync(10 * ttlMs)
    expect(sent).toEqual(['SET', 'renew', 'renew', 'renew'])
    await giveBack()
    expect(held.get('k')).toBe('of another')
  })

  test('that is taken is tried again, after growing and random pauses', async () => {
    const { leases, held, sent } = await scene()
    held.set('k', 'of another')
    const waiting = leases.take('k', patient())
    await vi.advanceTimersByTimeAsync(10_000)
    expect(sent.length).toBeGreaterThan(20)
    expect(sent.length).toBeLessThan(60)
    held.delete('k')
    await vi.advanceTimersByTimeAsync(500)
    await (await waiting)()
    expect(held.size).toBe(0)
  })

  test('a signal ends the wait with its reason, and no timer is left', async () => {
    const { leases, held } = await scene()
    held.set('k', 'of another')
    const controller = new AbortController()
    const waiting = expect(leases.take('k', controller.signal)).rejects.toThrow('Enough.')
    await vi.advanceTimersByTimeAsync(100)
    controller.abort(new Error('Enough.'))
    await waiting
    await vi.advanceTimersByTimeAsync(1_000)
    expect(vi.getTimerCount()).toBe(0)
    expect(held.get('k')).toBe('of another')
  })

  test('whose reply was lost is released, because it may have been taken', async () => {
    const { leases, held, state } = await scene()
    state.fault = 'lost'
    const failing = expect(leases.take('k', patient())).rejects.toThrow('The connection was lost.')
    await vi.advanceTimersByTimeAsync(0)
    await failing
    expect(held.size).toBe(0)
  })

  test('is not renewed after the connection was closed, and expires', async () => {
    const { leases, sent } = await scene()
    await leases.take('k', patient())
    leases.close()
    await vi.advanceTimersByTimeAsync(10 * ttlMs)
    expect(sent).toEqual(['SET'])
    expect(vi.getTimerCount()).toBe(0)
  })
})
