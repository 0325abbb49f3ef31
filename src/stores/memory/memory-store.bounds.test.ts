import { describe, expect, test } from 'vitest'
import { documentOf, revisions } from '../../../testing/contract/session-bench.js'
import { VirtualClock } from '../../../testing/virtual-clock/virtual-clock.js'
import { InvalidInputError } from '../../errors/engine-errors.js'
import { SessionConflictError } from '../../errors/session-errors.js'
import { MemorySessionStore, type MemorySessionStoreOptions } from './memory-store.js'

describe('maxSessions', () => {
  test('evicts the least recently used session, and reports it', async () => {
    const store = new MemorySessionStore({ maxSessions: 2 })
    const evicted: string[] = []
    store.onEvicted((id) => evicted.push(id))
    await store.create(documentOf('a', '1-a'))
    await store.create(documentOf('b', '1-a'))
    await store.load('a')
    await store.create(documentOf('c', '1-a'))
    expect(evicted).toEqual(['b'])
    expect(await revisions(store, 'b', 'a', 'c')).toEqual([undefined, '1-a', '1-a'])
  })

  test('a save of a stored session evicts none', async () => {
    const store = new MemorySessionStore({ maxSessions: 2 })
    await store.create(documentOf('a', '1-a'))
    await store.create(documentOf('b', '1-a'))
    await store.save(documentOf('b', '2-b'), '1-a')
    expect(await revisions(store, 'a', 'b')).toEqual(['1-a', '2-b'])
  })

  test('keeps ten thousand by default', async () => {
    const store = new MemorySessionStore()
    const evicted: string[] = []
    store.onEvicted((id) => evicted.push(id))
    for (let count = 0; count < 10_000; count++) await store.create(documentOf(`s-${count}`, '1-a'))
    expect(evicted).toEqual([])
    await store.create(documentOf('one more', '1-a'))
    expect(evicted).toEqual(['s-0'])
  })

  test('deleting a session is not an eviction', async () => {
    const store = new MemorySessionStore({ maxSessions: 2 })
    const evicted: string[] = []
    store.onEvicted((id) => evicted.push(id))
    await store.create(documentOf('a', '1-a'))
    await store.delete('a')
    expect(evicted).toEqual([])
  })

  test('a listener that was removed is not called; the others still are', async () => {
    const store = new MemorySessionStore({ maxSessions: 1 })
    const evicted: string[] = []
    const stop = store.onEvicted((id) => evicted.push(`first ${id}`))
    store.onEvicted((id) => evicted.push(`second ${id}`))
    await store.create(documentOf('a', '1-a'))
    stop()
    await store.create(documentOf('b', '1-a'))
    expect(evicted).toEqual(['second a'])
  })
})

describe('the options', () => {
  test.each<[string, unknown, string]>([
    ['maxSessions', 0, '0'],
    ['maxSessions', -1, '-1'],
    ['maxSessions', Number.NaN, 'NaN'],
    ['maxSessions', '5', "the text '5'"],
    ['maxBytes', 0, '0'],
    ['maxBytes', -1, '-1'],
    ['ttlMs', 0, '0'],
    ['ttlMs', -1_000, '-1000'],
    ['absoluteTtlMs', 0, '0'],
  ])('%s must be a number above 0, which %j is not', (name, value, shown) => {
    const options = { [name]: value } as MemorySessionStoreOptions
    expect(() => new MemorySessionStore(options)).toThrow(
      new InvalidInputError({
        message: `MemorySessionStore: ${name} must be a number above 0, or Infinity for no bound; got ${shown}.`,
      }),
    )
  })

  test('Infinity switches a limit off', async () => {
    const clock = new VirtualClock()
    const off = Number.POSITIVE_INFINITY
    const store = new MemorySessionStore({ maxSessions: off, maxBytes: off, ttlMs: off, clock })
    await store.create(documentOf('a', '1-a'))
    await clock.advance(10 ** 12)
    for (let count = 0; count < 10_001; count++) await store.create(documentOf(`s-${count}`, '1-a'))
    expect(await revisions(store, 'a', 's-0')).toEqual(['1-a', '1-a'])
  })
})

describe('ttlMs', () => {
  test('keeps a session that long after its last save; reading does not count, and its end is not an eviction', async () => {
    const clock = new VirtualClock()
    const store = new MemorySessionStore({ ttlMs: 1_000, clock })
    const evicted: string[] = []
    store.onEvicted((id) => evicted.push(id))
    await store.create(documentOf('a', '1-a'))
    await clock.advance(999)
    await store.save(documentOf('a', '2-b'), '1-a')
    await clock.advance(600)
    expect(await revisions(store, 'a')).toEqual(['2-b'])
    await clock.advance(401)
    expect(await store.load('a')).toBeUndefined()
    expect(evicted).toEqual([])
  })

  test('an expired session is gone for every operation', async () => {
    const clock = new VirtualClock()
    const store = new MemorySessionStore({ ttlMs: 1_000, clock })
    for (const id of ['a', 'b', 'c']) await store.create(documentOf(id, '1-a'))
    await clock.advance(1_001)
    await expect(store.save(documentOf('a', '2-b'), '1-a')).rejects.toBeInstanceOf(SessionConflictError)
    await store.delete('b', '1-x')
    await store.create(documentOf('c', '1-c'))
    expect(await revisions(store, 'a', 'b', 'c')).toEqual([undefined, undefined, '1-c'])
  })

  test('uses only the clock, at any start time, and sets no timer', async () => {
    const clock = new VirtualClock(0)
    const store = new MemorySessionStore({ ttlMs: 1_000, clock })
    await store.create(documentOf('a', '1-a'))
    expect(clock.pending).toBe(0)
    await clock.advance(1_001)
    expect(await store.load('a')).toBeUndefined()
  })

  test('a session does not expire in the middle of its turn', async () => {
    const clock = new VirtualClock()
    const store = new MemorySessionStore({ ttlMs: 1_000, clock })
    await store.create(documentOf('a', '1-a'))
    await store.create(documentOf('b', '1-a'))
    const release = store.hold('a')
    const saved = store.hold('b')
    await clock.advance(1_001)
    expect(await revisions(store, 'a', 'b')).toEqual(['1-a', '1-a'])
    await store.save(documentOf('b', '2-b'), '1-a')
    release()
    saved()
    expect(await revisions(store, 'b')).toEqual(['2-b'])
  })

  test('holding an expired session does not bring it back', async () => {
    const clock = new VirtualClock()
    const store = new MemorySessionStore({ ttlMs: 1_000, clock })
    const evicted: string[] = []
    store.onEvicted((id) => evicted.push(id))
    await store.create(documentOf('a', '1-a'))
    await clock.advance(1_001)
    const release = store.hold('a')
    expect(await store.load('a')).toBeUndefined()
    release()
    expect(await store.load('a')).toBeUndefined()
    expect(evicted).toEqual([])
  })

  test('without it, a session is kept for ever', async () => {
    const clock = new VirtualClock()
    const store = new MemorySessionStore({ clock })
    await store.create(documentOf('a', '1-a'))
    await clock.advance(10 ** 12)
    expect(await revisions(store, 'a')).toEqual(['1-a'])
  })
})

test('an unknown option is refused', () => {
  expect(() => new MemorySessionStore({ maxSession: 5 } as object)).toThrow(
    "MemorySessionStore: there is no option 'maxSession'. The options are maxSessions, maxBytes, ttlMs, absoluteTtlMs, clock, backing.",
  )
})
