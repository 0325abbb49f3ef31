import { describe, expect, test } from 'vitest'
import { FakeDriver } from '../../../testing/contract/stores/fake-driver.js'
import { load, processOver, save, warm } from '../../../testing/contract/stores/processes.js'
import { type Turn, turnOn } from '../../../testing/contract/stores/turns.js'
import type { StoredMessage } from '../../model/message.js'
import { shareList } from '../../session/lists/shared-lists.js'
import type { SessionDocument } from '../../session/session-document.js'

function messagesOf({ flow }: SessionDocument): readonly StoredMessage[] {
  return flow.memory.Ask?.messages ?? []
}

/** The turn. Its own save removes all messages of `Ask` except the last two. */
function cut(turn: Turn): Turn {
  const { document, expectedRevision } = turn
  const messages = shareList(messagesOf(document).slice(-2))
  const memory = { ...document.flow.memory, Ask: { messages } }
  return {
    document: { ...document, flow: { ...document.flow, memory } },
    expectedRevision,
    hint: { appended: { history: 1 }, rewritten: ['memory:Ask'] },
  }
}

/** The texts that a driver has stored, by chunk. */
function chunksOf(driver: FakeDriver): Record<string, string> {
  const [record] = driver.records.values()
  return Object.fromEntries([...(record?.chunks ?? [])].sort())
}

describe('a list that was rewritten', () => {
  test('is written whole in one chunk, other lists get an appended chunk, and no old text stays', async () => {
    const driver = new FakeDriver()
    const [store, document] = await warm(driver, 3)
    const turn = cut(turnOn(document, '5-a'))
    await save(store, turn)
    const removed = '-memory:Ask#0 -memory:Ask#1 -memory:Ask#2'
    expect(driver.takeCalls()).toEqual([`append history#3 memory:Ask#3 ${removed}`])
    const chunks = chunksOf(driver)
    expect(Object.keys(chunks)).toEqual(['history#0', 'history#1', 'history#2', 'history#3', 'memory:Ask#3'])
    expect(JSON.stringify(chunks)).not.toContain('turn 4-a"}],"turn"')
    expect(await load(store)).toEqual(turn.document)
    expect(await load(processOver(driver))).toEqual(turn.document)
    driver.takeCalls()
  })

  test('continues after its new chunk', async () => {
    const driver = new FakeDriver()
    const [store, document] = await warm(driver, 3)
    let turn = cut(turnOn(document, '5-a'))
    await save(store, turn)
    driver.takeCalls()
    for (const revision of ['6-a', '7-a', '8-a']) {
      turn = turnOn(turn.document, revision)
      await save(store, turn)
    }
    expect(driver.takeCalls()).toEqual([
      'append history#4 memory:Ask#4',
      'append history#5 memory:Ask#5',
      'append history#6 memory:Ask#6',
    ])
    for (const handle of [store, processOver(driver)]) expect(await load(handle)).toEqual(turn.document)
  })

  test('is the only list that another process, which has the old one cached, reads again', async () => {
    const driver = new FakeDriver()
    const [store, document] = await warm(driver, 3)
    const other = processOver(driver)
    await load(other)
    const turn = cut(turnOn(document, '5-a'))
    await save(store, turn)
    driver.takeCalls()
    const loaded = await load(other)
    expect(driver.takeCalls()).toEqual(['read history#3 memory:Ask#3'])
    expect(loaded).toEqual(turn.document)
    await save(other, turnOn(loaded, '6-b'))
    expect(driver.takeCalls()).toEqual(['append history#4 memory:Ask#4'])
    expect(await load(store)).toEqual(await load(processOver(driver)))
  })

  test('twice since another process read it is read by name, without the other lists', async () => {
    const driver = new FakeDriver()
    const [store, document] = await warm(driver, 3)
    const other = processOver(driver)
    await load(other)
    let turn = cut(turnOn(document, '5-a'))
    await save(store, turn)
    turn = cut(turnOn(turn.document, '6-a'))
    await save(store, turn)
    driver.takeCalls()
    expect(await load(other)).toEqual(turn.document)
    expect(driver.takeCalls()).toEqual(['read history#3 memory:Ask#3', 'read history#4 memory:Ask#4'])
  })

  test('and grew until it has more chunks than the old one is not mistaken for the old one', async () => {
    const driver = new FakeDriver()
    const [store, document] = await warm(driver, 2)
    const other = processOver(driver)
    await load(other)
    let turn = cut(turnOn(document, '4-a'))
    await save(store, turn)
    for (const revision of ['5-a', '6-a', '7-a']) {
      turn = turnOn(turn.document, revision)
      await save(store, turn)
    }
    expect(await load(other)).toEqual(turn.document)
    expect(messagesOf(turn.document)).toHaveLength(8)
  })

  test('is written with all other lists if its process has none of them cached', async () => {
    const driver = new FakeDriver()
    const [, document] = await warm(driver, 3)
    const turn = cut(turnOn(document, '5-a'))
    await save(processOver(driver), turn)
    expect(driver.takeCalls()).toEqual(['replace history#0 memory:Ask#0'])
    expect(await load(processOver(driver))).toEqual(turn.document)
  })

  test('by a save whose answer was lost is stored once, by either attempt', async () => {
    for (const when of ['before', 'after'] as const) {
      const driver = new FakeDriver()
      const [store, document] = await warm(driver, 3)
      const turn = cut(turnOn(document, '5-a'))
      driver.failNext(when)
      await expect(save(store, turn)).rejects.toThrow('Injected')
      await save(store, turn)
      for (const handle of [store, processOver(driver)]) expect(await load(handle)).toEqual(turn.document)
      const next = turnOn(turn.document, '6-a')
      await save(store, next)
      for (const handle of [store, processOver(driver)]) expect(await load(handle)).toEqual(next.document)
    }
  })

  test('does not fill the cache: a session that is cut again and again stays known', async () => {
    const driver = new FakeDriver()
    const [store, first] = await warm(driver, 2, { cacheBytes: 64 * 1024 })
    let document = first
    // 8 000 characters of messages each time: if the counts added up, they would soon be too many.
    for (let round = 0; round < 30; round++) {
      const { document: made, ...turn } = turnOn(document, `${round}-cut`, 'x'.repeat(4_000))
      const history = shareList([...document.history, Object.freeze({ ...made.history[0], message: '', reply: '' })])
      const saved = cut({ ...turn, document: { ...made, history: history as SessionDocument['history'] } })
      await save(store, saved)
      document = saved.document
      driver.takeCalls()
      await load(store)
      expect([round, driver.takeCalls().map((call) => call.split(' ')[0])]).toEqual([round, ['read']])
    }
  })
})
