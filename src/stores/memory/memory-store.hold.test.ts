import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { documentOf, revisions } from '../../../testing/contract/session-bench.js'
import { SessionConflictError } from '../../errors/session-errors.js'
import { MemorySessionStore } from './memory-store.js'

describe('hold', () => {
  test('a session that a turn holds is not evicted, so the turn can save it', async () => {
    const store = new MemorySessionStore({ maxSessions: 1 })
    const evicted: string[] = []
    store.onEvicted((id) => evicted.push(id))
    await store.create(documentOf('a', '1-a'))
    const release = store.hold('a')
    await store.create(documentOf('b', '1-a'))
    expect(evicted).toEqual([])
    expect(await store.load('a')).toEqual(documentOf('a', '1-a'))
    await store.save(documentOf('a', '2-b'), '1-a')
    release()
    expect(await revisions(store, 'a', 'b')).toEqual(['2-b', undefined])
    expect(evicted).toEqual(['b'])
  })

  test('a session that its turn only read can be evicted after the turn', async () => {
    const store = new MemorySessionStore({ maxSessions: 1 })
    const evicted: string[] = []
    store.onEvicted((id) => evicted.push(id))
    await store.create(documentOf('a', '1-a'))
    const release = store.hold('a')
    await store.create(documentOf('b', '1-a'))
    release()
    expect(evicted).toEqual(['b'])
    expect(await revisions(store, 'a')).toEqual(['1-a'])
    await store.create(documentOf('c', '1-a'))
    expect(evicted).toEqual(['b', 'a'])
  })

  test('a session that is created while it is held is kept too', async () => {
    const store = new MemorySessionStore({ maxSessions: 1 })
    store.hold('a')
    await store.create(documentOf('a', '1-a'))
    await store.create(documentOf('b', '1-a'))
    expect(await revisions(store, 'a')).toEqual(['1-a'])
  })

  test('a held session swaps, conflicts and is deleted like any other', async () => {
    const store = new MemorySessionStore({ maxSessions: 1 })
    await store.create(documentOf('a', '1-a'))
    const release = store.hold('a')
    await store.create(documentOf('b', '1-a'))
    await expect(store.create(documentOf('a', '1-x'))).rejects.toBeInstanceOf(SessionConflictError)
    await expect(store.save(documentOf('a', '2-x'), '1-x')).rejects.toBeInstanceOf(SessionConflictError)
    await expect(store.delete('a', '1-x')).rejects.toBeInstanceOf(SessionConflictError)
    await store.delete('a', '1-a')
    expect(await store.load('a')).toBeUndefined()
    release()
    expect(await revisions(store, 'a', 'b')).toEqual([undefined, '1-a'])
  })

  test('is kept until the last of its holders has released it', async () => {
    const store = new MemorySessionStore({ maxSessions: 1 })
    await store.create(documentOf('a', '1-a'))
    const first = store.hold('a')
    const second = store.hold('a')
    await store.create(documentOf('b', '1-a'))
    first()
    await store.create(documentOf('c', '1-a'))
    expect(await revisions(store, 'a')).toEqual(['1-a'])
    second()
    await store.create(documentOf('d', '1-a'))
    expect(await revisions(store, 'a')).toEqual([undefined])
  })

  test('releasing it twice does not release it for another holder', async () => {
    const store = new MemorySessionStore({ maxSessions: 1 })
    await store.create(documentOf('a', '1-a'))
    const first = store.hold('a')
    store.hold('a')
    first()
    first()
    await store.create(documentOf('b', '1-a'))
    await store.create(documentOf('c', '1-a'))
    expect(await revisions(store, 'a')).toEqual(['1-a'])
  })

  test('a session that one store holds is not evicted by another store over the same data', async () => {
    const one = new MemorySessionStore({ maxSessions: 1 })
    const other = new MemorySessionStore({ backing: one.backing })
    await one.create(documentOf('a', '1-a'))
    const release = other.hold('a')
    await one.create(documentOf('b', '1-a'))
    expect(await revisions(one, 'a')).toEqual(['1-a'])
    release()
    expect(await revisions(one, 'a', 'b')).toEqual(['1-a', undefined])
  })

  test('over a Map, which evicts nothing, holding does nothing', async () => {
    const store = new MemorySessionStore({ backing: new Map() })
    await store.create(documentOf('a', '1-a'))
    expect(store.hold('a')).not.toThrow()
    expect(await revisions(store, 'a')).toEqual(['1-a'])
  })

  test('after random holds, uses and releases, keeps the held sessions and the most recently used others', async () => {
    const command = fc.record({
      action: fc.constantFrom('store', 'store', 'load', 'hold', 'release'),
      id: fc.constantFrom('a', 'b', 'c', 'd', 'e'),
    })
    await fc.assert(
      fc.asyncProperty(fc.array(command, { maxLength: 30 }), fc.integer({ min: 1, max: 3 }), async (commands, max) => {
        const store = new MemorySessionStore({ maxSessions: max })
        const evicted: string[] = []
        store.onEvicted((id) => evicted.push(id))
        // The model: IDs, least recently used first, and how often each is held.
        let kept: string[] = []
        const gone: string[] = []
        const held: string[] = []
        const releasers = new Map<string, (() => void)[]>()
        const use = (id: string): void => {
          kept = [...kept.filter((other) => other !== id), id]
        }
        const trim = (): void => {
          for (const id of kept.filter((other) => !held.includes(other))) {
            if (kept.filter((other) => !held.includes(other)).length <= max) return
            kept = kept.filter((other) => other !== id)
            gone.push(id)
          }
        }
        for (const { action, id } of commands) {
          if (action === 'store') {
            const stored = await store.load(id)
            if (stored === undefined) await store.create(documentOf(id, '1-a'))
            else await store.save(documentOf(id, stored.revision === '1-a' ? '2-b' : '1-a'), stored.revision)
            use(id)
            trim()
          } else if (action === 'load') {
            expect((await store.load(id)) !== undefined).toBe(kept.includes(id))
            if (kept.includes(id)) use(id)
          } else if (action === 'hold') {
            releasers.set(id, [...(releasers.get(id) ?? []), store.hold(id)])
            held.push(id)
          } else {
            const release = releasers.get(id)?.pop()
            if (release === undefined) continue
            release()
            held.splice(held.indexOf(id), 1)
            if (held.includes(id)) continue
            if (kept.includes(id)) use(id)
            trim()
          }
          expect(evicted).toEqual(gone)
        }
        for (const id of ['a', 'b', 'c', 'd', 'e']) {
          expect((await store.load(id)) !== undefined).toBe(kept.includes(id))
        }
      }),
    )
  })

  test('a missing session can be held and released', async () => {
    const store = new MemorySessionStore({ maxSessions: 1 })
    store.hold('nobody')()
    expect(await store.load('nobody')).toBeUndefined()
  })
})
