import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { GrowingList } from './growing-list.js'
import { isSharedList, shareList } from './shared-lists.js'

const numbers = (length: number): readonly number[] => shareList(Array.from({ length }, (_, index) => index))

/** Both ways of keeping the entries: copied each time, and in an array that grows. */
const lengths = [2, 1_000]

describe.each(lengths)('a list of %i entries', (length) => {
  test('is the one it began with until something is added', () => {
    const start = numbers(length)
    expect(new GrowingList(start).list).toBe(start)
  })

  test('gives a shared list with what was added, the same one until the next entry', () => {
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

  test('what was handed out stays as it was', () => {
    const start = numbers(length)
    const growing = new GrowingList(start)
    growing.push(-1)
    const first = growing.list
    growing.push(-2)
    expect([start.length, first.length, growing.list.length]).toEqual([length, length + 1, length + 2])
  })

  test('goes on from a list that was handed out; a second one that does so shares nothing with it', () => {
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

test('behaves as a copied array, however turns branch off, fail and go on', () => {
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
