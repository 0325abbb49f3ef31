import fc from 'fast-check'
import { describe, expect, test, vi } from 'vitest'
import { documentOf } from '../../../testing/contract/session-bench.js'
import { VirtualClock } from '../../../testing/virtual-clock/virtual-clock.js'
import type { SessionDocument } from '../../session/session-document.js'
import { heapBytes } from './heap-bytes.js'
import { SessionCache, type SessionCacheOptions } from './session-cache.js'

const unbounded = Number.POSITIVE_INFINITY

function cache(options: Partial<SessionCacheOptions>): {
  sessions: SessionCache
  evicted: string[]
  clock: VirtualClock
} {
  const evicted: string[] = []
  const clock = new VirtualClock()
  const onEvicted = (sessionId: string): void => void evicted.push(sessionId)
  const defaults = {
    maxSessions: unbounded,
    maxBytes: unbounded,
    ttlMs: unbounded,
    absoluteTtlMs: unbounded,
    clock,
    onEvicted,
  }
  return { sessions: new SessionCache({ ...defaults, ...options }), evicted, clock }
}

/** A document that counts as this many bytes more than a document without any text. */
const sized = (more: number): SessionDocument => documentOf('s', '1-a', { bytes: more })
const smallest = heapBytes(sized(0))

describe('the limit on sessions', () => {
  test('evicts the least recently used one', () => {
    const { sessions, evicted } = cache({ maxSessions: 2 })
    sessions.set('a', sized(0))
    sessions.set('b', sized(0))
    sessions.get('a')
    sessions.set('c', sized(0))
    sessions.set('a', sized(0))
    sessions.set('d', sized(0))
    expect(evicted).toEqual(['b', 'c'])
  })

  test('reports no eviction of a session that has expired', () => {
    const { sessions, evicted, clock } = cache({ maxSessions: 1, ttlMs: 100 })
    sessions.set('expired', sized(0))
    clock.jump(100)
    sessions.set('a', sized(0))
    expect(evicted).toEqual([])
    sessions.set('b', sized(0))
    expect(evicted).toEqual(['a'])
  })

  test('counts only unexpired sessions: a write of another session drops the expired ones for good', () => {
    const { sessions, evicted, clock } = cache({ ttlMs: 100 })
    sessions.set('a', sized(0))
    sessions.set('b', sized(0))
    clock.jump(50)
    sessions.set('c', sized(0))
    clock.jump(50)
    sessions.set('d', sized(0))
    // Sessions that were only hidden would reappear at an earlier time.
    vi.spyOn(clock, 'monotonic').mockReturnValue(0)
    expect(['a', 'b', 'c', 'd'].filter((id) => sessions.get(id) !== undefined)).toEqual(['c', 'd'])
    expect(evicted).toEqual([])
  })

  test.each([-3_600_000, 3_600_000])(
    "counts a session's time correctly even if the wall clock jumps by %i ms",
    (ms) => {
      const { sessions, clock } = cache({ ttlMs: 100 })
      sessions.set('a', sized(0))
      clock.shiftWallTime(ms)
      clock.jump(99)
      expect(sessions.get('a')).toBeDefined()
      clock.jump(1)
      expect(sessions.get('a')).toBeUndefined()
    },
  )

  test('excludes held sessions; a released session counts again', () => {
    const { sessions, evicted } = cache({ maxSessions: 1 })
    const releases = [sessions.hold('a'), sessions.hold('b')]
    sessions.set('a', sized(0))
    sessions.set('b', sized(0))
    sessions.set('c', sized(0))
    expect(evicted).toEqual([])
    releases[0]?.()
    expect(evicted).toEqual(['c'])
    expect(sessions.get('a')).toBeDefined()
    releases[1]?.()
    expect(evicted).toEqual(['c', 'a'])
  })

  test('a limit below one keeps the session that was stored last', () => {
    const { sessions, evicted } = cache({ maxSessions: 0.5 })
    sessions.set('a', sized(0))
    sessions.set('b', sized(0))
    expect(evicted).toEqual(['a'])
    expect(sessions.get('b')).toBeDefined()
  })
})

describe('the limit on bytes', () => {
  test('evicts the least recently used ones until the others fit', () => {
    const { sessions, evicted } = cache({ maxBytes: 3 * smallest })
    for (const id of ['a', 'b', 'c']) sessions.set(id, sized(0))
    expect(evicted).toEqual([])
    sessions.get('a')
    sessions.set('d', sized(0.5 * smallest))
    expect(evicted).toEqual(['b', 'c'])
    expect(['a', 'd'].map((id) => sessions.get(id)?.bytes)).toEqual([0, 0.5 * smallest])
  })

  test('counts a session again with each save', () => {
    const { sessions, evicted } = cache({ maxBytes: 3 * smallest })
    for (const id of ['a', 'b', 'c']) sessions.set(id, sized(0))
    sessions.set('c', sized(10))
    expect(evicted).toEqual(['a'])
    sessions.set('c', sized(0))
    sessions.set('d', sized(0))
    expect(evicted).toEqual(['a'])
  })

  test('excludes held sessions', () => {
    const { sessions, evicted } = cache({ maxBytes: 2 * smallest })
    const release = sessions.hold('a')
    sessions.set('a', sized(0))
    sessions.set('b', sized(0))
    sessions.set('c', sized(0))
    expect(evicted).toEqual([])
    release()
    expect(evicted).toEqual(['b'])
  })

  test('a session that is larger than the limit is kept until the next one is stored', () => {
    const { sessions, evicted } = cache({ maxBytes: 2 * smallest })
    sessions.set('a', sized(0))
    sessions.set('large', sized(10 * smallest))
    expect(evicted).toEqual(['a'])
    sessions.set('large', sized(20 * smallest))
    const release = sessions.hold('large')
    release()
    expect(evicted).toEqual(['a'])
    expect(sessions.get('large')?.bytes).toBe(20 * smallest)
    sessions.set('b', sized(0))
    expect(evicted).toEqual(['a', 'large'])
    expect(sessions.get('large')).toBeUndefined()
    expect(sessions.get('b')).toBeDefined()
  })

  test('accepts a fractional limit, and sizes that are not numbers', () => {
    const { sessions, evicted } = cache({ maxBytes: 0.5 })
    const odd = { ...documentOf('s', '1-a'), bytes: 'many', flow: undefined } as unknown as SessionDocument
    sessions.set('a', odd)
    expect(sessions.get('a')).toBe(odd)
    sessions.set('b', sized(-(10 ** 9)))
    expect(evicted).toEqual(['a'])
    expect(sessions.get('b')).toBeDefined()
  })
})

describe('a held session', () => {
  test('is gone after it was deleted, and can be set again', () => {
    const { sessions, evicted } = cache({ maxSessions: 1 })
    sessions.set('a', sized(0))
    const release = sessions.hold('a')
    expect(sessions.delete('a')).toBe(true)
    expect(sessions.delete('a')).toBe(false)
    expect(sessions.get('a')).toBeUndefined()
    sessions.set('a', sized(2))
    expect(sessions.get('a')?.bytes).toBe(2)
    release()
    expect(sessions.get('a')?.bytes).toBe(2)
    expect(evicted).toEqual([])
  })

  test('a listener of evictions may use the cache', () => {
    const seen: unknown[] = []
    const { sessions } = cache({
      maxSessions: 1,
      onEvicted: (id) => void seen.push(id, sessions.get(id), sessions.get('b')),
    })
    sessions.set('a', sized(1))
    sessions.set('b', sized(2))
    expect(seen).toEqual(['a', undefined, sized(2)])
  })
})

test('behaves like a list in order of use, for random calls', async () => {
  const command = fc.record({
    action: fc.constantFrom('get', 'set', 'set', 'delete', 'hold', 'release', 'wait'),
    id: fc.constantFrom('a', 'b', 'c', 'd'),
    choice: fc.nat(10),
  })
  await fc.assert(
    fc.asyncProperty(fc.array(command, { maxLength: 60 }), async (commands) => {
      const [maxSessions, maxBytes, ttlMs] = [2, 2.5 * smallest, 20]
      const { sessions, evicted, clock } = cache({ maxSessions, maxBytes, ttlMs })
      // The model: a Map in the order of use, simple and slow.
      const model = new Map<string, { readonly document: SessionDocument; readonly expiresAt: number }>()
      const held: { readonly id: string; readonly release: () => void }[] = []
      const expected: string[] = []
      const isHeld = (id: string): boolean => held.some((hold) => hold.id === id)
      const use = (id: string): void => {
        const known = model.get(id)
        if (known === undefined) return
        model.delete(id)
        model.set(id, known)
      }
      const expire = (id: string): void => {
        if ((model.get(id)?.expiresAt ?? unbounded) <= clock.now() && !isHeld(id)) model.delete(id)
      }
      const trim = (): void => {
        const counted = [...model].filter(([id]) => !isHeld(id))
        const bytes = (): number =>
          counted.reduce((sum, [, { document }]) => sum + Math.min(maxBytes, heapBytes(document)), 0)
        while (counted.length > maxSessions || bytes() > maxBytes) {
          const [id, { expiresAt }] = counted.shift() as (typeof counted)[number]
          model.delete(id)
          // An expired session is missing anyway, so nothing is reported.
          if (expiresAt > clock.now()) expected.push(id)
        }
      }
      for (const { action, id, choice } of commands) {
        if (action === 'get') {
          expire(id)
          use(id)
          expect(sessions.get(id)).toBe(model.get(id)?.document)
        } else if (action === 'set') {
          const document = sized(choice * 0.4 * smallest)
          model.delete(id)
          model.set(id, { document, expiresAt: clock.now() + ttlMs })
          if (!isHeld(id)) trim()
          sessions.set(id, document)
        } else if (action === 'delete') {
          expect(sessions.delete(id)).toBe(model.delete(id))
        } else if (action === 'hold') {
          expire(id)
          held.push({ id, release: sessions.hold(id) })
        } else if (action === 'release') {
          const [chosen] = held.splice(choice % Math.max(1, held.length), 1)
          if (chosen === undefined) continue
          if (!isHeld(chosen.id)) {
            use(chosen.id)
            trim()
          }
          chosen.release()
          chosen.release()
        } else {
          await clock.advance(choice)
        }
        expect(evicted).toEqual(expected)
      }
      for (const id of ['a', 'b', 'c', 'd']) {
        expire(id)
        expect(sessions.get(id)).toBe(model.get(id)?.document)
      }
    }),
  )
})
