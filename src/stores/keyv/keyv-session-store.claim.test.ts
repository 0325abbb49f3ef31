import { Keyv } from 'keyv'
import { describe, expect, test } from 'vitest'
import { FakeDriver } from '../../../testing/contract/stores/fake-driver.js'
import { newSession } from '../../../testing/contract/stores/turns.js'
import type { SessionDriver } from './driver/session-driver.js'
import { KeyvSessionStore } from './keyv-session-store.js'

/** An application's driver with only the required methods. */
function plainDriver(more: Partial<SessionDriver> = {}): SessionDriver {
  const driver = new FakeDriver()
  return {
    guarantees: driver.guarantees,
    read: (...read) => driver.read(...read),
    readAll: (key) => driver.readAll(key),
    swap: (swap) => driver.swap(swap),
    remove: (...remove) => driver.remove(...remove),
    close: () => driver.close(),
    ...more,
  }
}

describe('the optional parts of a driver', () => {
  test('are absent from the store too, so that an engine can check', () => {
    const store = new KeyvSessionStore({ keyv: new Keyv(), driver: plainDriver() })
    expect(store.claim).toBeUndefined()
    expect(store.lease).toBeUndefined()
    expect(store.list).toBeUndefined()
  })

  test('get the key with the namespace', async () => {
    const calls: unknown[] = []
    const giveBack = async (): Promise<void> => undefined
    const driver = plainDriver({
      async claim(...claim) {
        calls.push(claim)
        return 'kept'
      },
      async lease(...lease) {
        calls.push(lease)
        return giveBack
      },
    })
    const store = new KeyvSessionStore({ keyv: new Keyv({ namespace: 'talks' }), driver })
    const { signal } = new AbortController()
    expect(await store.claim?.('key', 'own', 5)).toBe('kept')
    expect(await store.lease?.('own', 7, signal)).toBe(giveBack)
    expect(calls).toEqual([
      ['talks:~claim-key', 'own', 5],
      ['talks:~lease-own', 7, signal],
    ])
    await store.close()
    await expect(store.claim?.('key', 'own', 5)).rejects.toThrow('closed')
    await expect(store.lease?.('own', 7, signal)).rejects.toThrow('closed')
    expect(calls).toHaveLength(2)
  })
})

test('claims of two namespaces over one Map are separate, and are not sessions', async () => {
  const map = new Map()
  const [one, two] = ['one', 'two'].map(
    (namespace) => new KeyvSessionStore({ keyv: new Keyv({ store: map, namespace }) }),
  )
  expect(await one?.claim?.('key', 'a', 1_000)).toBe('a')
  expect(await two?.claim?.('key', 'b', 1_000)).toBe('b')
  await one?.create(newSession('~claim-key'))
  expect(await one?.claim?.('key', 'c', 1_000)).toBe('a')
  expect((await one?.load('~claim-key'))?.id).toBe('~claim-key')
})
