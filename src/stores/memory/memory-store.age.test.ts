import { describe, expect, test, vi } from 'vitest'
import { documentOf, revisions } from '../../../testing/contract/session-bench.js'
import { VirtualClock } from '../../../testing/virtual-clock/virtual-clock.js'
import { SessionConflictError } from '../../errors/session-errors.js'
import { MemorySessionStore } from './memory-store.js'

describe('absoluteTtlMs', () => {
  function aging(ttlMs?: number) {
    const clock = new VirtualClock()
    const evicted: string[] = []
    const store = new MemorySessionStore({ absoluteTtlMs: 1_000, clock, ...(ttlMs === undefined ? {} : { ttlMs }) })
    store.onEvicted((id) => evicted.push(id))
    return { clock, store, evicted }
  }

  test('expires a session that its turn holds: the turn can no longer load or save it', async () => {
    const { clock, store, evicted } = aging()
    await store.create(documentOf('a', '1-a'))
    await clock.advance(600)
    const release = store.hold('a')
    await store.save(documentOf('a', '2-b'), '1-a')
    await clock.advance(399)
    expect(await revisions(store, 'a')).toEqual(['2-b'])
    await clock.advance(1)
    await expect(store.save(documentOf('a', '3-c'), '2-b')).rejects.toBeInstanceOf(SessionConflictError)
    expect(await store.load('a')).toBeUndefined()
    release()
    expect(await store.load('a')).toBeUndefined()
    expect(evicted).toEqual([])
  })

  test('a session that expired while it was held does not come back when it is released', async () => {
    const { clock, store } = aging()
    await store.create(documentOf('a', '1-a'))
    const release = store.hold('a')
    await clock.advance(1_000)
    release()
    // A session that was only hidden would reappear at an earlier time.
    vi.spyOn(clock, 'monotonic').mockReturnValue(0)
    expect(await store.load('a')).toBeUndefined()
  })

  test('a delete of a session that expired while it was held does nothing', async () => {
    const { clock, store } = aging()
    await store.create(documentOf('a', '1-a'))
    const release = store.hold('a')
    await clock.advance(1_000)
    await store.delete('a', '1-x')
    release()
    expect(await store.load('a')).toBeUndefined()
  })

  test('a later write drops expired sessions, even without ttlMs', async () => {
    const { clock, store, evicted } = aging()
    await store.create(documentOf('a', '1-a'))
    await clock.advance(1_000)
    await store.create(documentOf('b', '1-a'))
    vi.spyOn(clock, 'monotonic').mockReturnValue(0)
    expect(await revisions(store, 'a', 'b')).toEqual([undefined, '1-a'])
    expect(evicted).toEqual([])
  })

  test('a new session that replaces another one gets its full time', async () => {
    const { clock, store } = aging()
    await store.create(documentOf('a', '1-a'))
    await clock.advance(999)
    const createdAt = '2026-05-05T05:05:05.000Z'
    await store.save(documentOf('a', '2-b', { createdAt }), '1-a')
    await clock.advance(999)
    expect(await revisions(store, 'a')).toEqual(['2-b'])
    await clock.advance(1)
    expect(await store.load('a')).toBeUndefined()
  })
})
