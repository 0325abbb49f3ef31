import { Keyv } from 'keyv'
import { describe, expect, test } from 'vitest'
import { FakeDriver } from '../../../testing/contract/stores/fake-driver.js'
import { PlainAdapter } from '../../../testing/contract/stores/plain-adapter.js'
import { load, processOver, save, warm } from '../../../testing/contract/stores/processes.js'
import { checkRandomCuts } from '../../../testing/contract/stores/random-cuts.js'
import { newSession, type Turn, turnOn } from '../../../testing/contract/stores/turns.js'
import { shareList } from '../../session/lists/shared-lists.js'
import type { SessionDocument } from '../../session/session-document.js'
import type { SessionSaveHint } from '../../session/session-store.js'
import { KeyvSessionStore } from './keyv-session-store.js'

/** The turn, with this many entries removed from the start of its lists. */
function cut({ document, expectedRevision, hint }: Turn, history: number, messages: number): Turn {
  const { flow } = document
  const memory = { ...flow.memory, Ask: { messages: shareList((flow.memory.Ask?.messages ?? []).slice(messages)) } }
  return {
    document: { ...document, history: shareList(document.history.slice(history)), flow: { ...flow, memory } },
    expectedRevision,
    hint: { ...hint, removed: { history, 'memory:Ask': messages } },
  }
}

function headOf(driver: FakeDriver): { lists: { name: string }[] } {
  const [record] = driver.records.values()
  return JSON.parse(record?.head ?? '')
}

describe('a list that was cut', () => {
  test('loses its first chunks, skips the cut part of the next, and gains what was appended', async () => {
    const driver = new FakeDriver()
    const [store, document] = await warm(driver, 4)
    const turn = cut(turnOn(document, '6-a'), 2, 3)
    await save(store, turn)
    expect(driver.takeCalls()).toEqual(['append history#4 memory:Ask#4 -history#0 -history#1 -memory:Ask#0'])
    expect(headOf(driver).lists).toEqual([
      { name: 'history', first: 2, skip: 0, chunks: 5, entries: 3, tip: '6-a' },
      { name: 'memory:Ask', first: 1, skip: 1, chunks: 5, entries: 7, tip: '6-a' },
    ])
    expect(await load(store)).toEqual(turn.document)
    driver.takeCalls()
    expect(await load(processOver(driver))).toEqual(turn.document)
  })

  test('by another process needs the same read as a list that grew, and no chunk before its first is requested', async () => {
    const driver = new FakeDriver()
    const [store, document] = await warm(driver, 4)
    const other = processOver(driver)
    const turn = cut(turnOn(await load(other), '6-b'), 3, 5)
    await save(other, turn)
    driver.takeCalls()
    const loaded = await load(store)
    expect(driver.takeCalls()).toEqual(['read history#4 memory:Ask#4'])
    expect(loaded).toEqual(turn.document)
    expect(loaded.history[0]).toBe(document.history[3])
    await save(store, turnOn(loaded, '7-a'))
    expect(driver.takeCalls()).toEqual(['append history#5 memory:Ask#5'])
  })

  test('to its end keeps its place: the next chunk has a new name', async () => {
    const driver = new FakeDriver()
    const [store, document] = await warm(driver, 2)
    const { flow } = document
    const empty: SessionDocument = {
      ...document,
      revision: '4-a',
      history: shareList([]),
      flow: { ...flow, memory: { Ask: { messages: shareList([]) } } },
    }
    await store.save(empty, '3-a', { appended: {}, removed: { history: 2, 'memory:Ask': 4 } })
    expect(driver.takeCalls()).toEqual(['append -history#0 -history#1 -memory:Ask#0 -memory:Ask#1'])
    await save(store, turnOn(await load(store), '5-a'))
    for (const handle of [store, processOver(driver)]) expect((await load(handle)).history).toHaveLength(1)
    expect(driver.takeCalls().at(1)).toBe('append history#2 memory:Ask#2')
  })

  test('is read correctly over a driver that ignores removed chunks', async () => {
    const driver = new FakeDriver()
    const { swap } = driver
    driver.swap = (change) => swap.call(driver, { ...change, removed: [] })
    const [store, document] = await warm(driver, 4)
    const turn = cut(turnOn(document, '6-a'), 3, 6)
    await save(store, turn)
    for (const handle of [store, processOver(driver)]) expect(await load(handle)).toEqual(turn.document)
    const next = turnOn(await load(store), '7-a')
    await save(store, next)
    for (const handle of [store, processOver(driver)]) expect(await load(handle)).toEqual(next.document)
  })

  test('until the document lost it keeps its place too', async () => {
    const driver = new FakeDriver()
    const [store] = await warm(driver, 1)
    const receipts = [{ key: 'a', request: 'b' }]
    const saveWith = async (revision: string, more: object, hint: SessionSaveHint): Promise<void> => {
      const { receipts: _, ...base } = (await load(store)) as SessionDocument & { receipts?: unknown }
      const document = { ...base, ...more, revision } as unknown as SessionDocument
      await store.save(document, base.revision, hint)
      for (const handle of [store, processOver(driver)]) expect(await handle.load('s')).toEqual(document)
    }
    await saveWith('3-a', { receipts }, { appended: { receipts: 1 } })
    await saveWith('4-a', {}, { appended: {}, removed: { receipts: 1 } })
    await saveWith('5-a', { receipts }, { appended: { receipts: 1 } })
    const writes = driver.takeCalls().filter((call) => call.startsWith('append'))
    expect(writes).toEqual(['append receipts#0', 'append -receipts#0', 'append receipts#1'])
  })

  test('by a save whose answer was lost is cut once, by either attempt', async () => {
    for (const when of ['before', 'after'] as const) {
      const driver = new FakeDriver()
      const [store, document] = await warm(driver, 4)
      const turn = cut(turnOn(document, '6-a'), 2, 3)
      driver.failNext(when)
      await expect(save(store, turn)).rejects.toThrow('Injected')
      await save(store, turn)
      for (const handle of [store, processOver(driver)]) expect(await load(handle)).toEqual(turn.document)
      const next = cut(turnOn(turn.document, '7-a'), 1, 1)
      await save(store, next)
      for (const handle of [store, processOver(driver)]) expect(await load(handle)).toEqual(next.document)
    }
  })

  test('does not fill the cache, no matter how long the conversation is', async () => {
    const driver = new FakeDriver()
    const [store, first] = await warm(driver, 2, { cacheBytes: 64 * 1024 })
    let document = first
    for (let round = 0; round < 60; round++) {
      const turn = cut(turnOn(document, `${round}-cut`, 'x'.repeat(1_000)), 1, 2)
      await save(store, turn)
      document = turn.document
      driver.takeCalls()
      await load(store)
      expect([round, driver.takeCalls().map((call) => call.split(' ')[0])]).toEqual([round, ['read']])
    }
    expect([...(driver.records.values().next().value?.chunks.keys() ?? [])]).toHaveLength(4)
  })
})

describe('effects', () => {
  const withEffects = (document: SessionDocument, effects: object): SessionDocument =>
    ({ ...document, effects }) as unknown as SessionDocument
  const saved = async (driver: FakeDriver, store: KeyvSessionStore, effects: object): Promise<string[]> => {
    const base = await load(store)
    const { document, expectedRevision, hint } = turnOn(base, `${base.revision}*`)
    driver.takeCalls()
    await store.save(withEffects(document, effects), expectedRevision, hint)
    expect(await store.load('s')).toMatchObject({ effects })
    return driver.takeCalls()
  }

  test('that did not change are not written again; if one changed, all are written', async () => {
    const driver = new FakeDriver()
    const [store] = await warm(driver, 1)
    const effect = (attempts: number): object => ({ begunAt: 'now', attempts })
    expect(await saved(driver, store, { one: effect(1) })).toContain('append history#1 effects#0 memory:Ask#1')
    expect(await saved(driver, store, { one: effect(1) })).toContain('append history#2 memory:Ask#2')
    const two = { one: effect(1), two: effect(1) }
    expect(await saved(driver, store, two)).toContain('append history#3 effects#1 memory:Ask#3')
    const changed = { one: effect(2), two: effect(1) }
    expect(await saved(driver, store, changed)).toContain(
      'append history#4 effects#2 memory:Ask#4 -effects#0 -effects#1',
    )
    expect(await processOver(driver).load('s')).toMatchObject({ effects: changed })
  })

  test.each([7, [], [['one', 1]], null, 'text'])('that are not a record stay in the head: %j', async (effects) => {
    const driver = new FakeDriver()
    const store = processOver(driver)
    await store.create(withEffects(newSession('s'), effects as object))
    expect(await processOver(driver).load('s')).toMatchObject({ effects })
    expect([...(driver.records.values().next().value?.chunks.keys() ?? [])]).toEqual([])
  })

  test.each(['7', '["one"]', '[1,2]', '["one",1,2]'])(
    'a stored entry that is not a pair is malformed: %s',
    async (pair) => {
      const driver = new FakeDriver()
      const store = processOver(driver)
      await store.create(withEffects(newSession('s'), { one: 1 }))
      const [record] = driver.records.values()
      record?.chunks.set('effects#0', `{"previous":"","revision":"1-a","entries":[${pair}]}`)
      await expect(processOver(driver).load('s')).rejects.toThrow(
        "Session 's' is malformed: its lists have no place in its head.",
      )
    },
  )
})

describe('a session that a newer release stored', () => {
  const raise = (driver: FakeDriver): string => {
    const [record] = driver.records.values()
    if (record === undefined) throw new Error('Nothing is stored.')
    record.head = record.head.replace('"layout":2', '"layout":3').replace('"lists":', '"groups":')
    record.revision = '9-newer'
    return JSON.stringify([record.head, ...record.chunks])
  }

  test.each(['warm', 'cold'])('is refused by a %s process, and is not changed', async (kind) => {
    const driver = new FakeDriver()
    const [known, document] = await warm(driver)
    const store = kind === 'warm' ? known : processOver(driver)
    const bytes = raise(driver)
    const refusal = {
      code: 'SESSION_FLOW_INVARIANT',
      newerLayout: true,
      message:
        "Session 's' was stored by a newer release of Turnkeeper and cannot be read: its stored layout is 3, and this release reads 2.",
    }
    await expect(store.load('s')).rejects.toMatchObject(refusal)
    await expect(save(store, turnOn(document, '4-a'))).rejects.toMatchObject({ code: 'SESSION_CONFLICT' })
    await expect(store.delete('s', document.revision)).rejects.toMatchObject({ code: 'SESSION_CONFLICT' })
    const [record] = driver.records.values()
    expect(JSON.stringify([record?.head, ...(record?.chunks ?? [])])).toBe(bytes)
    await store.delete('s')
    expect(driver.records.size).toBe(0)
  })

  test('is distinguished from a malformed one', async () => {
    const driver = new FakeDriver()
    await warm(driver)
    const [record] = driver.records.values()
    Object.assign(record ?? {}, { head: record?.head.replace('"layout":2', '"layout":-3') })
    await expect(processOver(driver).load('s')).rejects.toMatchObject({ newerLayout: false })
  })
})

describe('several processes that take turns always see the right entries', () => {
  test('over a driver whose answers get lost', async () => {
    const driver = new FakeDriver()
    const stores = [processOver(driver), processOver(driver), processOver(driver, { cacheBytes: 0 })]
    await checkRandomCuts(stores, { runs: 300, loseAnswer: () => driver.failNext('after') })
  })

  test("over Keyv's Map", async () => {
    const map = new Map()
    await checkRandomCuts(
      [0, 1].map(() => new KeyvSessionStore({ keyv: new Keyv({ store: map }) })),
      { runs: 100 },
    )
  })

  test('over an adapter without a compare-and-swap', async () => {
    const adapter = new PlainAdapter()
    await checkRandomCuts(
      [0, 1].map(() => new KeyvSessionStore({ keyv: new Keyv(adapter), consistency: 'process' })),
      { runs: 100 },
    )
  })
})
