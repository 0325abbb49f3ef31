import { describe, expect, test } from 'vitest'
import { createGathering, type Later, later, laterOf } from './gather.js'

/** An event loop that comes round by hand. */
function handLoop(): { wait: Later; next: () => Promise<void> } {
  const callbacks: (() => void)[] = []
  return {
    wait: (callback) => callbacks.push(callback),
    async next() {
      callbacks.shift()?.()
      await settle()
    },
  }
}

/** Lets everything go on that waits for nothing but promises. */
const settle = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 0))

/** Has so many wait, and tells who was let go, in order. */
function arrivals(gather: () => Promise<void> | undefined, count: number): number[] {
  const gone: number[] = []
  for (let number = 0; number < count; number++) void gather()?.then(() => gone.push(number))
  return gone
}

const upTo = (count: number): number[] => Array.from({ length: count }, (_, number) => number)

describe('gathering', () => {
  test('nobody goes before the loop comes round', async () => {
    const { wait } = handLoop()
    const gone = arrivals(createGathering(wait), 2)
    await settle()
    expect(gone).toEqual([])
  })

  test('those who wait go together, in the order they came', async () => {
    const { wait, next } = handLoop()
    const gone = arrivals(createGathering(wait), 3)
    await next()
    expect(gone).toEqual([0, 1, 2])
  })

  test('who comes after waits for the next time', async () => {
    const { wait, next } = handLoop()
    const gather = createGathering(wait)
    const first = arrivals(gather, 2)
    await next()
    const second = arrivals(gather, 1)
    await settle()
    expect([first, second]).toEqual([[0, 1], []])
    // What the second of the first two asked for.
    await next()
    expect(second).toEqual([0])
    await next()
    expect(second).toEqual([0])
  })

  test('no more than 16 go at once', async () => {
    const { wait, next } = handLoop()
    const gone = arrivals(createGathering(wait), 35)
    await next()
    expect(gone).toEqual(upTo(16))
    await next()
    expect(gone).toEqual(upTo(32))
    await next()
    expect(gone).toEqual(upTo(35))
  })

  test('without a way to wait nobody waits', () => {
    expect(createGathering(undefined)()).toBeUndefined()
  })

  test('this runtime has one', async () => {
    const gone = arrivals(createGathering(later), 1)
    await Promise.resolve()
    expect(gone).toEqual([])
    await new Promise((resolve) => setImmediate(resolve))
    expect(gone).toEqual([0])
  })
})

describe('the way to wait', () => {
  test('is setImmediate, where there is one', () => {
    const immediately: Later = (callback) => callback()
    expect(laterOf({ setImmediate: immediately })).toBe(immediately)
    expect(laterOf({ setImmediate: immediately, navigator: { userAgent: 'Node.js/24' } })).toBe(immediately)
    expect(laterOf({ setImmediate: immediately, navigator: {} })).toBe(immediately)
    expect(laterOf({ navigator: { userAgent: 'Mozilla/5.0' } })).toBeUndefined()
  })

  test('is none on workerd, where no request may let another go', () => {
    const setImmediate: Later = (callback) => callback()
    expect(laterOf({ setImmediate, navigator: { userAgent: 'Cloudflare-Workers' } })).toBeUndefined()
  })
})
