import { describe, expect, test } from 'vitest'
import { documentOf } from '../../../testing/contract/session-bench.js'
import { MemorySessionStore } from './memory-store.js'

describe('close', () => {
  test('makes every later operation reject', async () => {
    const store = new MemorySessionStore()
    await store.create(documentOf('s', '1-a'))
    await store.close()
    const message = 'The memory session store is closed.'
    await expect(store.load('s')).rejects.toThrow(message)
    await expect(store.create(documentOf('t', '1-a'))).rejects.toThrow(message)
    await expect(store.save(documentOf('s', '2-b'), '1-a')).rejects.toThrow(message)
    await expect(store.delete('s')).rejects.toThrow(message)
    expect(() => store.backing).toThrow(message)
  })

  test('can be called twice', async () => {
    const store = new MemorySessionStore()
    await store.close()
    await expect(store.close()).resolves.toBeUndefined()
  })

  test('does not affect another store over the same data', async () => {
    const one = new MemorySessionStore()
    const other = new MemorySessionStore({ backing: one.backing })
    await one.create(documentOf('s', '1-a'))
    await one.close()
    expect(await other.load('s')).toEqual(documentOf('s', '1-a'))
  })

  test('allows a later release of a session', async () => {
    const store = new MemorySessionStore({ maxSessions: 1 })
    await store.create(documentOf('s', '1-a'))
    const release = store.hold('s')
    await store.create(documentOf('t', '1-a'))
    await store.close()
    expect(release).not.toThrow()
    expect(store.hold('s')).not.toThrow()
  })

  test('stops calling listeners', async () => {
    const one = new MemorySessionStore({ maxSessions: 1 })
    const evicted: string[] = []
    one.onEvicted((id) => evicted.push(id))
    const other = new MemorySessionStore({ backing: one.backing })
    await one.close()
    await other.create(documentOf('s', '1-a'))
    await other.create(documentOf('t', '1-a'))
    expect(evicted).toEqual([])
  })
})
