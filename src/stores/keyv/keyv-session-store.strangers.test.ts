// What a load reads if the caller is not the session's owner.
import { describe, expect, test } from 'vitest'
import { FakeDriver } from '../../../testing/contract/stores/fake-driver.js'
import { processOver, save } from '../../../testing/contract/stores/processes.js'
import { newSession, turnOn } from '../../../testing/contract/stores/turns.js'
import type { SessionDocument } from '../../session/session-document.js'
import type { KeyvSessionStore } from './keyv-session-store.js'

/** A store that created a session of Ada's with two turns, and has it in its cache. */
async function adas() {
  const driver = new FakeDriver()
  const store = processOver(driver)
  let document: SessionDocument = { ...newSession('s'), owner: 'ada' }
  await store.create(document)
  for (const revision of ['2-a', '3-a']) {
    const turn = turnOn(document, revision)
    await save(store, turn)
    document = turn.document
  }
  driver.takeCalls()
  return { driver, store, cold: processOver(driver) }
}

interface Head {
  readonly document: object
  readonly lists: readonly { readonly name: string }[]
}

const changed =
  (change: (list: Head['lists'][number]) => object) =>
  (head: Head): object => ({ ...head, lists: head.lists.map(change) })

const ownerIn = async (store: KeyvSessionStore, caller: { owner?: string }): Promise<unknown> =>
  (await store.load('s', caller))?.owner

describe('a session of another owner', () => {
  test('is recognised by its head, cached or not, with the same command as an unknown ID', async () => {
    const { driver, store, cold } = await adas()
    for (const one of [store, cold, cold]) expect(await ownerIn(one, { owner: 'bob' })).toBe('ada')
    expect(await store.load('unknown', { owner: 'bob' })).toBeUndefined()
    expect(driver.takeCalls()).toEqual(['read', 'read', 'read', 'read'])
    // A caller without an owner is usually in an application without owners. Reading the head first would cost it a
    // command.
    for (const one of [store, cold]) expect(await ownerIn(one, {})).toBe('ada')
    expect(await store.load('unknown', {})).toBeUndefined()
    expect(driver.takeCalls()).toEqual(['readAll', 'readAll', 'readAll'])
  })

  test('has a summary, which reads the head alone, cached or not', async () => {
    const { driver, store, cold } = await adas()
    for (const one of [store, cold]) {
      for (const caller of [{ owner: 'ada' }, { owner: 'bob' }, {}, undefined]) {
        expect(await one.summary('s', caller)).toMatchObject({ id: 's', owner: 'ada' })
      }
      expect(await one.summary('unknown')).toBeUndefined()
    }
    expect(new Set(driver.takeCalls())).toEqual(new Set(['read']))
    const record = [...driver.records.values()][0] as { head: string }
    record.head = JSON.stringify({ ...JSON.parse(record.head), document: { owner: 'ada' } })
    await expect(cold.summary('s')).rejects.toMatchObject({ code: 'SESSION_FLOW_INVARIANT', owner: 'ada' })
    record.head = 'garbage'
    await expect(cold.summary('s')).rejects.toMatchObject({ code: 'SESSION_FLOW_INVARIANT' })
  })

  test('may have unreadable lists, and the failure names the owner', async () => {
    const { driver, cold } = await adas()
    const record = [...driver.records.values()][0]
    for (const name of record?.chunks.keys() ?? []) record?.chunks.set(name, 'garbage')
    for (const caller of [{ owner: 'bob' }, {}]) expect(await ownerIn(cold, caller)).toBe('ada')
    for (const caller of [{ owner: 'ada' }, undefined]) {
      await expect(cold.load('s', caller)).rejects.toMatchObject({ code: 'SESSION_FLOW_INVARIANT', owner: 'ada' })
    }
  })

  test.each([
    ['lists that are not listed', (head: Head) => ({ ...head, lists: 5 })],
    ['a later layout', (head: Head) => ({ ...head, layout: 99 })],
    ['a list without its chunks', changed((list) => ({ ...list, chunks: 9 }))],
    ['a list without a place', changed((list) => ({ ...list, name: list.name === 'history' ? 'gone' : list.name }))],
    ['another revision', (head: Head) => ({ ...head, document: { ...head.document, revision: '9-z' } })],
  ])('has a head with %s: the failure names the owner', async (_what, change) => {
    const { driver, cold } = await adas()
    const record = [...driver.records.values()][0] as { head: string; chunks: Map<string, string> }
    record.head = JSON.stringify(change(JSON.parse(record.head)))
    for (const [name, text] of [...record.chunks]) record.chunks.set(name.replace('history', 'gone'), text)
    await expect(cold.load('s', { owner: 'ada' })).rejects.toMatchObject({ owner: 'ada' })
  })

  test('cannot be read at all: the backend knows the owner, who gets the failure; a stranger learns nothing', async () => {
    const { driver, cold } = await adas()
    const owners: string[] = []
    const known = Object.assign(driver, {
      isOwnedBy: async (_key: string, ownerKey: string) => owners.push(ownerKey) === 1,
    })
    const record = [...known.records.values()][0] as { head: string }
    record.head = 'garbage'
    await expect(cold.load('s', { owner: 'ada' })).rejects.toMatchObject({ owner: 'ada' })
    await expect(cold.load('s', { owner: 'bob' })).rejects.toMatchObject({ owner: undefined })
    await expect(cold.load('s', {})).rejects.toMatchObject({ owner: undefined })
    expect(new Set(owners).size).toBe(2)
    expect(owners.every((owner) => /~owner-[\da-f]{64}$/.test(owner))).toBe(true)
  })

  test('stays in the cache unchanged, whatever another caller finds', async () => {
    const { driver, store } = await adas()
    const record = [...driver.records.values()][0] as { head: string }
    const { head } = record
    record.head = 'garbage'
    await expect(store.load('s', { owner: 'bob' })).rejects.toMatchObject({ owner: undefined })
    record.head = head
    driver.takeCalls()
    await store.load('s', { owner: 'ada' })
    expect(driver.takeCalls()).toEqual(['read history#2 memory:Ask#2'])
  })

  test('is read whole for its owner: after the head, if it is not cached', async () => {
    const { driver, cold } = await adas()
    expect((await cold.load('s', { owner: 'ada' }))?.history).toHaveLength(2)
    expect(driver.takeCalls()).toEqual(['read', 'readAll'])
  })

  test('is recognised by a process whose cache has an earlier session with the same ID', async () => {
    const { driver, store, cold } = await adas()
    driver.records.clear()
    await cold.create({ ...newSession('s', '1-b'), owner: 'bob' })
    driver.takeCalls()
    expect(await ownerIn(store, { owner: 'ada' })).toBe('bob')
    expect(driver.takeCalls()).toEqual(['read history#2 memory:Ask#2'])
  })
})
