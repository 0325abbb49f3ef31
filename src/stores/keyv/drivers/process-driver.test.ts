import { Keyv } from 'keyv'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { PlainAdapter } from '../../../../testing/contract/stores/plain-adapter.js'
import { newSession, turnOn } from '../../../../testing/contract/stores/turns.js'
import { KeyvSessionStore } from '../keyv-session-store.js'

function storeOver(adapter: PlainAdapter): KeyvSessionStore {
  return new KeyvSessionStore({ keyv: new Keyv(adapter), consistency: 'process' })
}

const { document } = turnOn(newSession('s'), '1-a')

afterEach(() => {
  vi.useRealTimers()
})

describe('a process over an adapter without a compare-and-swap', () => {
  test('an adapter that throws its errors on request makes every call reject', async () => {
    const adapter = new PlainAdapter()
    const store = storeOver(adapter)
    await store.create(document)
    adapter.isDown = true
    await expect(store.load('s')).rejects.toThrow('The plain adapter is down.')
    await expect(store.create(document)).rejects.toThrow('The plain adapter is down.')
    await expect(store.save(document, '0-a')).rejects.toThrow('The plain adapter is down.')
    await expect(store.delete('s')).rejects.toThrow('The plain adapter is down.')
    adapter.isDown = false
    expect(await store.load('s')).toEqual(document)
  })

  test('a save that an adapter drops is noticed when it is read back', async () => {
    const adapter = new PlainAdapter()
    const store = storeOver(adapter)
    Object.defineProperty(adapter, 'throwOnErrors', { value: false, writable: false })
    adapter.set = async () => true
    await expect(store.create(document)).rejects.toThrow('Keyv did not store what it was given.')
  })

  test("uses the Keyv's time to live", async () => {
    vi.useFakeTimers({ toFake: ['Date'] })
    const keyv = new Keyv(new PlainAdapter(), { ttl: 1_000 })
    const store = new KeyvSessionStore({ keyv, consistency: 'process' })
    await store.create(document)
    vi.advanceTimersByTime(999)
    expect(await store.load('s')).toEqual(document)
    vi.advanceTimersByTime(2)
    expect(await store.load('s')).toBeUndefined()
  })

  test('closing disconnects the Keyv, and later calls reject', async () => {
    const adapter = new PlainAdapter()
    const store = storeOver(adapter)
    await store.close()
    expect(adapter.disconnected).toBe(1)
    await expect(store.load('s')).rejects.toThrow('closed')
  })
})
