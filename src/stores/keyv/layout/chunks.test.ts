import { describe, expect, test } from 'vitest'
import { shareList } from '../../../session/lists/shared-lists.js'
import {
  type ChunkSizes,
  continuedLists,
  cutList,
  emptyList,
  followChunks,
  type KnownList,
  missingChunks,
  withSizes,
} from './chunks.js'
import type { ListHead } from './head.js'

const chunk = { previous: '', revision: '1-a', entries: ['one'] }
const next = { previous: '1-a', revision: '2-b', entries: ['two'] }
const head: ListHead = { name: 'history', first: 0, skip: 0, chunks: 2, entries: 2, tip: '2-b' }

/** Three chunks with two entries each. */
const known: KnownList = {
  entries: shareList([1, 2, 3, 4, 5, 6]),
  first: 4,
  skip: 0,
  chunks: 7,
  sizes: [[2, 3]],
  tip: '7-a',
  bytes: 60,
}

describe('following chunks', () => {
  test("that end at the head's tip makes the list", () => {
    expect(followChunks(undefined, head, [chunk, next], 20)).toEqual({
      entries: ['one', 'two'],
      first: 0,
      skip: 0,
      chunks: 2,
      sizes: [[1, 2]],
      tip: '2-b',
      bytes: 20,
    })
  })

  test.each([
    ['another tip than the head names', { ...head, tip: '2-c' }, [chunk, next]],
    ['fewer chunks', head, [chunk]],
    ['another number of entries', { ...head, entries: 3 }, [chunk, next]],
    ['a chunk of another list', head, [chunk, { ...next, previous: '1-z' }]],
    ['a first chunk that another one was before', head, [{ ...chunk, previous: '0-z' }, next]],
    ['more entries skipped than there are', { ...head, skip: 3 }, [chunk, next]],
  ])('with %s does not make the list', (_what, described, chunks) => {
    expect(followChunks(undefined, described, chunks, 20)).toBeUndefined()
  })

  test('of a list whose first chunks were removed begins with any chunk', () => {
    const cut = { ...head, first: 5, chunks: 7, skip: 1, entries: 2 }
    const chunks = [{ ...chunk, previous: '0-z', entries: ['gone', 'one'] }, next]
    expect(followChunks(undefined, cut, chunks, 20)).toMatchObject({ entries: ['one', 'two'], first: 5, skip: 1 })
    expect(followChunks(undefined, cut, [next, chunk], 20)).toBeUndefined()
  })

  test('of a list whose every chunk was removed needs none', () => {
    const empty = { ...head, first: 5, chunks: 5, entries: 0 }
    expect(followChunks(undefined, empty, [], 0)).toMatchObject({ entries: [], first: 5, sizes: [], tip: '2-b' })
  })

  test('returns the very same entries if nothing changed', () => {
    const same = { ...head, first: 4, chunks: 7, entries: 6, tip: '7-a' }
    expect(followChunks(known, same, [], 0)?.entries).toBe(known.entries)
  })

  test('of a known list drops what the head no longer has, and adds what is new', () => {
    const added = { previous: '7-a', revision: '8-b', entries: [7, 8] }
    const cut = { ...head, first: 5, skip: 1, chunks: 8, entries: 5, tip: '8-b' }
    expect(followChunks(known, cut, [added], 20)).toMatchObject({ entries: [4, 5, 6, 7, 8], sizes: [[2, 3]] })
    expect(followChunks(known, { ...cut, entries: 6 }, [added], 20)).toBeUndefined()
    const rewritten = { ...head, first: 7, chunks: 8, entries: 2, tip: '8-b' }
    expect(followChunks(known, rewritten, [added], 20)).toEqual({
      entries: [7, 8],
      first: 7,
      skip: 0,
      chunks: 8,
      sizes: [[2, 1]],
      tip: '8-b',
      bytes: 20,
    })
  })

  test('of a known list that skips fewer entries than before does not make the list', () => {
    const skipping = cutList(known, 1)
    const back = { ...head, first: 4, chunks: 7, entries: 6, tip: '7-a' }
    expect(followChunks(skipping, back, [], 0)).toBeUndefined()
  })
})

describe('a cut', () => {
  test.each<[removed: number, first: number, skip: number, sizes: ChunkSizes, bytes: number]>([
    [1, 4, 1, [[2, 3]], 60],
    [2, 5, 0, [[2, 2]], 40],
    [5, 6, 1, [[2, 1]], 20],
    [6, 7, 0, [], 0],
  ])('of %i entries', (removed, first, skip, sizes, bytes) => {
    const entries = known.entries.slice(removed)
    expect(cutList(known, removed)).toEqual({ entries, first, skip, chunks: 7, sizes, tip: '7-a', bytes })
  })

  test('in two steps equals a cut in one step', () => {
    const once = cutList(known, 1) as KnownList
    expect(cutList(once, 4)).toEqual(cutList(known, 5))
  })

  test('spans runs of chunks of several sizes', () => {
    const sizes = withSizes(
      [[2, 1]],
      [3, 3, 1].map((size) => ({ ...chunk, entries: Array.from({ length: size }, () => 'x') })),
    )
    expect(sizes).toEqual([
      [2, 1],
      [3, 2],
      [1, 1],
    ])
    const list = { ...known, entries: shareList([1, 2, 3, 4, 5, 6, 7, 8, 9]), first: 0, chunks: 4, sizes }
    expect(cutList(list, 4)).toMatchObject({
      first: 1,
      skip: 2,
      sizes: [
        [3, 2],
        [1, 1],
      ],
    })
    expect(cutList(list, 6)).toMatchObject({
      first: 2,
      skip: 1,
      sizes: [
        [3, 1],
        [1, 1],
      ],
    })
    expect(cutList(list, 8)).toMatchObject({ first: 3, skip: 0, sizes: [[1, 1]] })
  })

  test('of nothing is the very same list', () => {
    expect(cutList(known, 0)).toBe(known)
    expect(cutList(emptyList, 0)).toBe(emptyList)
  })

  test.each([-1, 7, 0.5, Number.NaN])('of %d entries is refused', (removed) => {
    expect(cutList(known, removed)).toBeUndefined()
  })
})

describe('the known lists that a head continues', () => {
  const lists = new Map([['history', known]])

  test.each<[string, Partial<ListHead>, number | undefined, number[]]>([
    ['one that grew', { first: 4, chunks: 9 }, 6, [7, 8]],
    ['one that was cut', { first: 6, chunks: 8 }, 6, [7]],
    ['one that was cut to its end', { first: 7, chunks: 8 }, 6, [7]],
    ['one that was cut beyond what is known', { first: 8, chunks: 9 }, undefined, [8]],
  ])('%s', (_what, change, entries, missing) => {
    const described = { ...head, ...change }
    const found = continuedLists(lists, [described])?.get('history')
    expect(found?.entries.length).toBe(entries)
    expect([...missingChunks(found, described)]).toEqual(missing)
  })

  test.each<[string, Partial<ListHead>]>([
    ['begins before what is known', { first: 3, chunks: 7 }],
    ['ends before what is known', { first: 4, chunks: 6 }],
  ])('a list that %s is that of another session', (_what, change) => {
    expect(continuedLists(lists, [{ ...head, ...change }])).toBeUndefined()
  })
})
