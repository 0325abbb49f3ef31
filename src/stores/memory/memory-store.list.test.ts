import { expect, test } from 'vitest'
import { documentOf } from '../../../testing/contract/session-bench.js'
import { type MemorySessionBacking, MemorySessionStore, type SessionDocument } from '../../index.js'

test.each([
  ['of its own', undefined],
  ['of a Map', new Map<string, SessionDocument>()],
])('lists the sessions that a query asks for, over data %s', async (_name, backing) => {
  const store = new MemorySessionStore(backing === undefined ? {} : { backing })
  for (const [id, owner] of [
    ['s-1', 'ada'],
    ['s-2', 'bob'],
    ['s-3', 'ada'],
  ] as const) {
    await store.create(documentOf(id, '1-a', { owner }))
  }
  const first = await store.list?.({ owner: 'ada', limit: 1 })
  expect(first?.sessions.map(({ id }) => id)).toEqual(['s-1'])
  const second = await store.list?.({ owner: 'ada', limit: 1, cursor: first?.cursor ?? '' })
  expect(second).toMatchObject({ sessions: [{ id: 's-3' }] })
  expect(second?.cursor).toBeUndefined()
  await store.delete('s-1')
  expect((await store.list?.({ limit: 10 }))?.sessions).toHaveLength(2)
})

test('has no list if its data cannot be listed', () => {
  const data = new Map<string, SessionDocument>()
  const backing: MemorySessionBacking = {
    get: (id) => data.get(id),
    set: (id, document) => data.set(id, document),
    delete: (id) => data.delete(id),
  }
  expect(new MemorySessionStore({ backing }).list).toBeUndefined()
})

test('lists nothing once it is closed', async () => {
  const store = new MemorySessionStore()
  const { list } = store
  await store.close()
  await expect(list?.({ limit: 10 })).rejects.toThrow('The memory session store is closed.')
})
