import { describe, expect, test } from 'vitest'
import { MemorySessionStore, type SessionStore } from '../../src/index.js'
import { TextStore } from '../contract/text-store.js'
import { FakeSessionStore, VirtualClock } from '../index.js'

const patient = (): AbortSignal => new AbortController().signal

function scene() {
  const clock = new VirtualClock()
  const inner = new MemorySessionStore()
  const stores = [inner, new MemorySessionStore({ backing: inner.backing })].map(
    (memory) => new FakeSessionStore({ inner: memory, clock, leases: true }),
  )
  const granted: string[] = []
  const take = async (name: string, index = 0, signal = patient()): Promise<() => Promise<void>> => {
    const giveBack = await (stores[index] as Required<FakeSessionStore>).lease('a', 1_000, signal)
    granted.push(name)
    return giveBack
  }
  return { clock, stores, granted, take }
}

describe('the leases of a fake store', () => {
  test('are granted in the order in which they were asked for, over all stores of the data', async () => {
    const { clock, granted, take } = scene()
    const first = await take('first')
    const second = take('second', 1)
    const third = take('third', 0)
    await clock.settle()
    expect(granted).toEqual(['first'])
    await first()
    await (await second)()
    await (await third)()
    expect(granted).toEqual(['first', 'second', 'third'])
    expect(clock.pending).toBe(0)
  })

  test('expire by the clock, and giving one back later changes nothing', async () => {
    const { clock, granted, take } = scene()
    const dead = await take('dead')
    const second = take('second', 1)
    const third = take('third')
    await clock.advance(999)
    expect(granted).toEqual(['dead'])
    await clock.advance(1)
    expect(granted).toEqual(['dead', 'second'])
    await dead()
    await clock.settle()
    expect(granted).toEqual(['dead', 'second'])
    await (await second)()
    await (await third)()
  })

  test('are not granted to those who left', async () => {
    const { clock, granted, take, stores } = scene()
    const first = await take('first')
    const controller = new AbortController()
    const second = take('second', 1, controller.signal)
    const third = take('third')
    controller.abort(new Error('Enough.'))
    await expect(second).rejects.toThrow('Enough.')
    await expect(take('late', 0, controller.signal)).rejects.toThrow('Enough.')
    await first()
    await (await third)()
    await clock.settle()
    expect(granted).toEqual(['first', 'third'])
    stores[1]?.expectJournal([{ operation: 'lease', sessionId: 'a', outcome: 'failed' }])
  })
})

describe('a fake store', () => {
  test('has no leases unless it is asked to, or the store underneath has them', async () => {
    expect(new FakeSessionStore().lease).toBeUndefined()
    expect(new FakeSessionStore({ inner: new TextStore(new Map()) }).lease).toBeTypeOf('function')
  })

  test('has claims where the store underneath has them', async () => {
    const store = new FakeSessionStore()
    expect(await store.claim?.('key', 'a', 1_000)).toBe('a')
    expect(await store.claim?.('key', 'b', 1_000)).toBe('a')
    store.expectJournal([
      { operation: 'claim', key: 'key', sessionId: 'a' },
      { operation: 'claim', key: 'key', sessionId: 'b' },
    ])
    const inner: SessionStore = Object.assign(new TextStore(new Map()), { claim: undefined })
    expect(new FakeSessionStore({ inner }).claim).toBeUndefined()
  })

  test('fails both in an outage', async () => {
    const store = new FakeSessionStore({ leases: true })
    store.outage()
    await expect(store.claim?.('key', 'a', 1_000)).rejects.toThrow('Injected')
    await expect(store.lease?.('a', 1_000, patient())).rejects.toThrow('Injected')
  })
})
