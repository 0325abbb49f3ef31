import { expect, test } from 'vitest'
import { documentOf } from '../../../testing/contract/session-bench.js'
import { VirtualClock } from '../../../testing/index.js'
import type { SessionDocument } from '../../index.js'
import { MemorySessionStore } from './memory-store.js'

test('stores over one backing share claims, also over a plain Map', async () => {
  for (const backing of [new MemorySessionStore().backing, new Map<string, SessionDocument>()]) {
    const [one, two] = [new MemorySessionStore({ backing }), new MemorySessionStore({ backing })]
    expect(await one.claim('k', 'a', 1_000)).toBe('a')
    expect(await two.claim('k', 'b', 1_000)).toBe('a')
    expect(await new MemorySessionStore().claim('k', 'b', 1_000)).toBe('b')
    if (backing instanceof Map) expect(backing.size).toBe(0)
  }
})

test('claims end by the clock of the store', async () => {
  const clock = new VirtualClock()
  const store = new MemorySessionStore({ clock })
  await store.claim('k', 'a', 1_000)
  clock.shiftWallTime(5_000)
  await clock.advance(999)
  expect(await store.claim('k', 'b', 1_000)).toBe('a')
  await clock.advance(1)
  expect(await store.claim('k', 'b', 1_000)).toBe('b')
})

test('the limit on claims equals the limit on sessions', async () => {
  const store = new MemorySessionStore({ maxSessions: 2 })
  for (const key of ['a', 'b', 'c']) await store.claim(key, 'first', 1_000)
  expect(await store.claim('b', 'second', 1_000)).toBe('first')
  expect(await store.claim('a', 'second', 1_000)).toBe('second')
})

test('maxSessions does not limit a given backing: neither its sessions nor its claims', async () => {
  const store = new MemorySessionStore({ maxSessions: 1, backing: new Map<string, SessionDocument>() })
  for (const key of ['a', 'b']) await store.claim(key, 'first', 1_000)
  expect(await store.claim('a', 'second', 1_000)).toBe('first')
  for (const id of ['s-1', 's-2']) await store.create(documentOf(id, '1-a'))
  expect(await store.load('s-1')).toMatchObject({ id: 's-1' })
})
