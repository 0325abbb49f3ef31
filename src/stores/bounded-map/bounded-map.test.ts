import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { BoundedMap } from './bounded-map.js'

describe('a bounded map', () => {
  test('evicts the least recently used entry, and reports it when it is gone', () => {
    const evicted: unknown[] = []
    const map: BoundedMap<string, number> = new BoundedMap({
      maxEntries: 2,
      onEvicted: (key, value) => evicted.push([key, value, map.peek(key)]),
    })
    map.set('a', 1)
    map.set('b', 2)
    expect(map.get('a')).toBe(1)
    map.set('c', 3)
    expect(evicted).toEqual([['b', 2, undefined]])
    expect([...map]).toEqual([
      ['a', 1],
      ['c', 3],
    ])
  })

  test('counts a read with peek, and a walk, as no use', () => {
    const map = new BoundedMap<string, number>({ maxEntries: 2 })
    map.set('a', 1)
    map.set('b', 2)
    expect(map.peek('a')).toBe(1)
    expect([...map]).toHaveLength(2)
    map.set('c', 3)
    expect(map.peek('a')).toBeUndefined()
  })

  test('does not report what is replaced or deleted', () => {
    const evicted: string[] = []
    const map = new BoundedMap<string, number>({ maxSize: 3, onEvicted: (key) => evicted.push(key) })
    map.set('a', 1, 3)
    map.set('a', 2, 2)
    map.set('b', 3, 1)
    expect(map.delete('a')).toBe(true)
    expect(map.delete('a')).toBe(false)
    map.set('c', 4, 2)
    map.clear()
    expect(evicted).toEqual([])
    expect([...map]).toEqual([])
    map.set('d', 5, 3)
    expect(map.get('d')).toBe(5)
  })

  test('does not keep an entry that is larger than its bound, and evicts no other for it', () => {
    const map = new BoundedMap<string, number>({ maxSize: 3 })
    map.set('a', 1, 2)
    map.set('b', 2, 4)
    expect([...map]).toEqual([['a', 1]])
    map.set('a', 2, 4)
    expect([...map]).toEqual([])
  })

  test('deletes from the least recently used entry up to the first that stays', () => {
    const map = new BoundedMap<string, number>({})
    for (const value of [1, 2, 9, 3]) map.set(`${value}`, value)
    map.deleteOldestWhile((value) => value < 5)
    expect([...map].map(([, value]) => value)).toEqual([9, 3])
    map.deleteOldestWhile(() => true)
    expect([...map]).toEqual([])
  })

  test('behaves as a list in the order of use does', () => {
    const key = fc.constantFrom('a', 'b', 'c', 'd', 'e')
    const step = fc.record({ kind: fc.constantFrom('get', 'set', 'delete'), key, size: fc.nat(10) })
    fc.assert(
      fc.property(fc.array(step), (steps) => {
        const map = new BoundedMap<string, number>({ maxEntries: 3, maxSize: 8 })
        let list: { key: string; size: number }[] = []
        for (const { kind, key, size } of steps) {
          const known = list.find((entry) => entry.key === key)
          expect(map.peek(key)).toBe(known?.size)
          if (kind === 'get') map.get(key)
          else if (kind === 'set') map.set(key, size, size)
          else map.delete(key)
          list = list.filter((entry) => entry !== known)
          if (kind === 'set' && size <= 8) list.push({ key, size })
          if (kind === 'get' && known !== undefined) list.push(known)
          const total = (): number => list.reduce((sum, entry) => sum + entry.size, 0)
          while (list.length > 3 || total() > 8) list.shift()
          expect(new Set([...map].map(([name]) => name))).toEqual(new Set(list.map((entry) => entry.key)))
        }
      }),
    )
  })
})
