import { describe, expect, test } from 'vitest'
import { FakeDriver } from '../../../testing/contract/stores/fake-driver.js'
import { load, processOver, save, warm } from '../../../testing/contract/stores/processes.js'
import { newSession, type Turn, turnOn } from '../../../testing/contract/stores/turns.js'
import type { SessionDocument } from '../../session/session-document.js'

describe('changes by another process', () => {
  test('one turn: its chunk is read with the head, and only that chunk is checked', async () => {
    const driver = new FakeDriver()
    const [store, document] = await warm(driver)
    const other = processOver(driver)
    const turn = turnOn(await load(other), '4-b', 'from another process')
    await save(other, turn)
    driver.takeCalls()
    const loaded = await load(store)
    expect(driver.takeCalls()).toEqual(['read history#2 memory:Ask#2'])
    expect(loaded).toEqual(turn.document)
    expect(loaded.history[0]).toBe(document.history[0])
    await save(store, turnOn(loaded, '5-a'))
    expect(driver.takeCalls()).toEqual(['append history#3 memory:Ask#3'])
  })

  test('the head is requested while others write, and no longer when they stop', async () => {
    const driver = new FakeDriver()
    const [store] = await warm(driver)
    const other = processOver(driver)
    driver.knownRevisions.length = 0
    await save(other, turnOn(await load(other), '4-b'))
    await save(store, turnOn(await load(store), '5-a'))
    await save(other, turnOn(await load(other), '6-b'))
    await save(store, turnOn(await load(store), '7-a'))
    await save(store, turnOn(await load(store), '8-a'))
    await load(store)
    expect(driver.knownRevisions).toEqual(['3-a', '4-b', undefined, undefined, '8-a'])
  })

  test('a malformed entry in its chunk is found', async () => {
    const driver = new FakeDriver()
    const [store] = await warm(driver)
    const other = processOver(driver)
    const { document, ...turn } = turnOn(await load(other), '4-b')
    const history = [...document.history.slice(0, 2), { turn: 'three' }] as unknown as SessionDocument['history']
    await save(other, { ...turn, document: { ...document, history } })
    await expect(load(store)).rejects.toThrow("Session 's' is malformed: history[2].turn is a string and not a count.")
  })

  test('several turns: the chunks between are read by name', async () => {
    const driver = new FakeDriver()
    const [store] = await warm(driver)
    const other = processOver(driver)
    for (const revision of ['4-b', '5-b', '6-b']) await save(other, turnOn(await load(other), revision))
    driver.takeCalls()
    const loaded = await load(store)
    expect(driver.takeCalls()).toEqual([
      'read history#2 memory:Ask#2',
      'read history#3 history#4 memory:Ask#3 memory:Ask#4',
    ])
    expect(loaded).toEqual(await load(processOver(driver)))
    expect(loaded.history).toHaveLength(5)
  })

  test('a turn between the two reads makes it read everything', async () => {
    const driver = new FakeDriver()
    const [store] = await warm(driver)
    const other = processOver(driver)
    for (const revision of ['4-b', '5-b']) await save(other, turnOn(await load(other), revision))
    const read = driver.read.bind(driver)
    let reads = 0
    driver.read = async (key, chunks) => {
      if (++reads === 2) await save(other, turnOn(await load(other), '6-b'))
      return read(key, chunks)
    }
    expect((await load(store)).revision).toBe('6-b')
  })

  test('expired and created again with as many turns: nothing of the old session is left', async () => {
    const driver = new FakeDriver()
    const [store] = await warm(driver)
    const other = processOver(driver)
    driver.records.clear()
    await other.create(newSession('s', '1-b'))
    for (const revision of ['2-b', '3-b']) await save(other, turnOn(await load(other), revision, `anew ${revision}`))
    driver.takeCalls()
    expect((await load(store)).history.map(({ message }) => message)).toEqual(['anew 2-b', 'anew 3-b'])
    expect(driver.takeCalls()).toEqual(['read history#2 memory:Ask#2', 'readAll'])
  })

  test('expired and created again with more turns: nothing of the old session is left', async () => {
    const driver = new FakeDriver()
    const [store] = await warm(driver)
    const other = processOver(driver)
    driver.records.clear()
    await other.create(newSession('s', '1-b'))
    for (const revision of ['2-b', '3-b', '4-b']) await save(other, turnOn(await load(other), revision, 'anew'))
    expect((await load(store)).history.map(({ message }) => message)).toEqual(['anew', 'anew', 'anew'])
  })

  test('a save that a failover lost, and that another save replaced', async () => {
    const driver = new FakeDriver()
    const [store, document] = await warm(driver)
    const before = structuredClone(driver.records)
    await save(store, turnOn(document, '4-a', 'lost'))
    for (const [key, record] of before) driver.records.set(key, record)
    expect((await load(store)).history).toHaveLength(2)
    const other = processOver(driver)
    await save(other, turnOn(await load(other), '4-b', 'kept'))
    const loaded = await load(store)
    expect(loaded.history.map(({ message }) => message)).toEqual(['turn 2-a', 'turn 3-a', 'kept'])
    await save(store, turnOn(loaded, '5-a'))
    expect((await load(processOver(driver))).history).toHaveLength(4)
  })

  test('lists that were cut are read again', async () => {
    const driver = new FakeDriver()
    const [store] = await warm(driver)
    const other = processOver(driver)
    const { document } = turnOn(await load(other), '4-b')
    await other.save({ ...document, history: document.history.slice(1) }, '3-a')
    expect((await load(store)).history.map(({ turn }) => turn)).toEqual([2, 3])
  })

  test('a session that it deleted is gone, and so is a namespace that it dropped', async () => {
    const driver = new FakeDriver()
    const [store] = await warm(driver)
    const other = processOver(driver)
    const { flow, ...document } = await load(other)
    await other.save({ ...document, revision: '4-b', flow: { ...flow, memory: {} } }, '3-a', { appended: {} })
    expect((await load(store)).flow.memory).toEqual({})
    await other.delete('s')
    expect(await store.load('s')).toBeUndefined()
  })
})

describe('a save that does more than append', () => {
  test.each<[string, (turn: Turn, base: SessionDocument) => Turn]>([
    ['no hint', ({ document, expectedRevision }) => ({ document, expectedRevision }) as Turn],
    ['a hint that counts too few', (turn) => ({ ...turn, hint: { appended: {} } })],
    ['a hint that counts too many', (turn) => ({ ...turn, hint: { appended: { history: 2, 'memory:Ask': 2 } } })],
    [
      'another first entry',
      (turn) => {
        const [first, ...rest] = turn.document.history
        return { ...turn, document: { ...turn.document, history: [{ ...first, reply: 'changed' }, ...rest] } } as Turn
      },
    ],
    [
      'another last entry',
      (turn, base) => {
        const last = base.history.length - 1
        const history = turn.document.history.map((entry, at) => (at === last ? { ...entry, reply: 'changed' } : entry))
        return { ...turn, document: { ...turn.document, history } }
      },
    ],
  ])('%s: everything is replaced, and read back as it was given', async (_name, change) => {
    const driver = new FakeDriver()
    const [store, base] = await warm(driver)
    const turn = change(turnOn(base, '4-a'), base)
    await save(store, turn)
    expect(driver.takeCalls()).toEqual(['replace history#0 memory:Ask#0'])
    expect(await load(store)).toEqual(turn.document)
    expect(await load(processOver(driver))).toEqual(turn.document)
  })

  test('lists that are not frozen are not cached', async () => {
    const driver = new FakeDriver()
    const [store, base] = await warm(driver)
    const turn = turnOn(base, '4-a')
    const history = [...turn.document.history]
    await save(store, { ...turn, document: { ...turn.document, history } })
    history.length = 0
    driver.takeCalls()
    expect((await load(store)).history).toHaveLength(3)
    expect(driver.takeCalls()).toEqual(['readAll'])
  })

  test('a very long list is written in several chunks', async () => {
    const driver = new FakeDriver()
    const store = processOver(driver)
    const { document } = turnOn(newSession('s'), '1-a')
    const [entry] = document.history
    const long = { ...document, history: Array.from({ length: 2_001 }, (_, turn) => ({ ...entry, turn })) }
    await store.create(long as SessionDocument)
    expect(driver.takeCalls()).toEqual(['replace history#0 history#1 history#2 memory:Ask#0'])
    const loaded = await load(store)
    expect(loaded).toEqual(long)
    await save(store, turnOn(loaded, '2-a'))
    expect(driver.takeCalls()).toEqual(['readAll', 'append history#3 memory:Ask#1'])
    expect((await load(processOver(driver))).history).toHaveLength(2_002)
  })
})
