import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { GrowingList } from './growing-list.js'
import { isSharedList, listBytes, shareList } from './shared-lists.js'

const numbers = (length: number): readonly number[] => shareList(Array.from({ length }, (_, index) => index))

/** Both ways of keeping the entries: copied each time, and in an array that grows. */
const lengths = [2, 1_000]

describe.each(lengths)('a list of %i entries', (length) => {
  test('stays the initial list until something is added', () => {
    const start = numbers(length)
    expect(new GrowingList(start).list).toBe(start)
  })

  test('returns a shared list with the added entries, the same one until the next entry', () => {
    const growing = new GrowingList(numbers(length))
    growing.push(-1)
    growing.push(-2)
    const { list } = growing
    expect(list).toEqual([...numbers(length), -1, -2])
    expect(isSharedList(list)).toBe(true)
    expect(growing.list).toBe(list)
    expect(() => (list as number[]).push(-3)).toThrow(TypeError)
  })

  test('knows the last entry at any time', () => {
    const growing = new GrowingList(numbers(length))
    expect(growing.last).toBe(length - 1)
    growing.push(-1)
    expect(growing.last).toBe(-1)
    expect([growing.list.length, growing.last]).toEqual([length + 1, -1])
    expect(new GrowingList([]).last).toBeUndefined()
  })

  test('a returned list does not change', () => {
    const start = numbers(length)
    const growing = new GrowingList(start)
    growing.push(-1)
    const first = growing.list
    growing.push(-2)
    expect([start.length, first.length, growing.list.length]).toEqual([length, length + 1, length + 2])
  })

  test('continues from a returned list; a second list that does so shares nothing with it', () => {
    const base = new GrowingList(numbers(length))
    base.push(-1)
    const { list } = base
    const [left, right] = [new GrowingList(list), new GrowingList(list)]
    left.push(-2)
    right.push(-3)
    left.push(-4)
    base.push(-5)
    expect(left.list.slice(length)).toEqual([-1, -2, -4])
    expect(right.list.slice(length)).toEqual([-1, -3])
    expect(base.list.slice(length)).toEqual([-1, -5])
    expect(list.slice(length)).toEqual([-1])
  })
})

describe.each(lengths)('of a list of %i entries', (length) => {
  const unchanged = { removed: 0, appended: 0, isRewritten: false }

  test('the change is empty at first, and then counts removed and appended entries', () => {
    const growing = new GrowingList(numbers(length))
    expect(growing.change).toEqual(unchanged)
    growing.push(-1)
    expect(growing.change).toEqual({ ...unchanged, appended: 1 })
    expect(growing.removeOldest(2)).toEqual([0, 1])
    expect(growing.change).toEqual({ ...unchanged, removed: 2, appended: 1 })
    expect([growing.length, growing.list.length, growing.last]).toEqual([length - 1, length - 1, -1])
  })

  test('removed entries that were added since do not change the stored list', () => {
    const growing = new GrowingList(numbers(length))
    for (const entry of [-1, -2, -3]) growing.push(entry)
    expect(growing.removeOldest(length + 1).at(-1)).toBe(-1)
    expect(growing.change).toEqual({ removed: length, appended: 2, isRewritten: false })
    expect(growing.list).toEqual([-2, -3])
    growing.removeOldest(1)
    growing.push(-4)
    expect([growing.change, growing.list]).toEqual([{ removed: length, appended: 2, isRewritten: false }, [-3, -4]])
  })

  test('that loses entries behind its first one must be stored again', () => {
    const growing = new GrowingList(numbers(length))
    growing.push(-1)
    expect(growing.removeOldest(1, 1)).toEqual([1])
    expect(growing.change.isRewritten).toBe(true)
    expect(growing.list.slice(0, 2)).toEqual(length === 2 ? [0, -1] : [0, 2])
  })

  test('the bytes follow every change; the stored list and returned lists do not change', () => {
    const start = numbers(length)
    const growing = new GrowingList(start)
    expect(growing.addedBytes).toBe(0)
    growing.push(-1)
    const grown = growing.list
    growing.removeOldest(1)
    growing.removeOldest(1, 1)
    const { list } = growing
    expect([growing.bytes, listBytes(list)]).toEqual([listBytes([...list]), listBytes([...list])])
    expect(growing.addedBytes).toBe(listBytes([...list]) - listBytes([...start]))
    expect(isSharedList(list)).toBe(true)
    expect([start.length, grown.length, list.length]).toEqual([length, length + 1, length - 1])
    expect(grown[0]).toBe(0)
  })

  test('all entries can be removed', () => {
    const growing = new GrowingList(numbers(length))
    expect(growing.removeOldest(length)).toEqual(numbers(length))
    expect([growing.list, growing.last, growing.bytes]).toEqual([[], undefined, 0])
    expect(growing.change).toEqual({ removed: length, appended: 0, isRewritten: false })
  })
})

test('a list that lost and gained entries matches its change and its bytes', () => {
  const step = fc.oneof(fc.record({ push: fc.nat(1_000) }), fc.record({ remove: fc.nat(4), looks: fc.boolean() }))
  fc.assert(
    fc.property(fc.constantFrom(0, 3, 255, 300), fc.array(step, { maxLength: 30 }), (length, steps) => {
      const start = numbers(length)
      const growing = new GrowingList(start)
      const copy = [...start]
      for (const one of steps) {
        if ('push' in one) {
          growing.push(one.push)
          copy.push(one.push)
        } else {
          expect(growing.removeOldest(one.remove)).toEqual(copy.splice(0, one.remove))
          if (one.looks) expect(growing.list).toEqual(copy)
        }
      }
      const { removed, appended, isRewritten } = growing.change
      expect(isRewritten).toBe(false)
      expect([...start.slice(removed), ...copy.slice(copy.length - appended)]).toEqual(copy)
      expect(growing.list).toEqual(copy)
      expect([growing.length, growing.bytes]).toEqual([copy.length, listBytes(copy)])
    }),
  )
})

test('behaves like a copied array, however turns branch, fail and continue', () => {
  const step = fc.record({ from: fc.nat(), entries: fc.array(fc.nat(), { maxLength: 3 }), looks: fc.boolean() })
  fc.assert(
    fc.property(fc.constantFrom(0, 255, 256, 300), fc.array(step, { maxLength: 20 }), (length, steps) => {
      const lists = [numbers(length)]
      const expected = [[...numbers(length)]]
      for (const { from, entries, looks } of steps) {
        const index = from % lists.length
        const growing = new GrowingList(lists[index] as readonly number[])
        const copy = [...(expected[index] as number[])]
        for (const entry of entries) {
          growing.push(entry)
          copy.push(entry)
          if (looks) expect(growing.list).toEqual(copy)
        }
        lists.push(growing.list)
        expected.push(copy)
      }
      expect(lists).toEqual(expected)
    }),
  )
})
