import { describe, expect, test } from 'vitest'
import { FakeDriver } from '../../../testing/contract/stores/fake-driver.js'
import { load, processOver, save, warm } from '../../../testing/contract/stores/processes.js'
import { newSession, turnOn } from '../../../testing/contract/stores/turns.js'
import { isSharedList } from '../../session/lists/shared-lists.js'

describe('a warm session', () => {
  test('is read by its head, and returns the very same lists', async () => {
    const driver = new FakeDriver()
    const [store, document] = await warm(driver)
    const loaded = await load(store)
    expect(driver.takeCalls()).toEqual(['read history#2 memory:Ask#2'])
    expect(loaded).toEqual(document)
    expect(loaded.history).toBe(document.history)
    expect(loaded.flow.memory.Ask?.messages).toBe(document.flow.memory.Ask?.messages)
    expect(loaded.flow.steps).not.toBe(document.flow.steps)
  })

  test('is saved by its head and the appended entries', async () => {
    const driver = new FakeDriver()
    const [store, document] = await warm(driver)
    await save(store, turnOn(document, '4-a', 'third'))
    expect(driver.takeCalls()).toEqual(['append history#2 memory:Ask#2'])
    const [[, text] = []] = driver.swaps.at(-1)?.chunks ?? []
    expect(JSON.parse(text as string)).toMatchObject({
      previous: '3-a',
      revision: '4-a',
      entries: [{ message: 'third' }],
    })
    expect(driver.swaps.at(-1)?.head).not.toContain('third')
  })

  test('costs the same bytes after a hundred turns as after two', async () => {
    const bytes = async (turns: number): Promise<number> => {
      const driver = new FakeDriver()
      const [store, document] = await warm(driver, turns)
      await save(store, turnOn(document, '999-a', 'the same text'))
      const { head = '', chunks = [] } = driver.swaps.at(-1) ?? {}
      return [head, ...chunks.flat()].reduce((sum, text) => sum + text.length, 0)
    }
    expect(await bytes(100)).toBeLessThan((await bytes(2)) * 1.05)
  })

  test('treats a new namespace as an appended list', async () => {
    const driver = new FakeDriver()
    const [store, document] = await warm(driver)
    const turn = turnOn(document, '4-a', 'another memory', '__proto__')
    await save(store, turn)
    expect(driver.takeCalls()).toEqual(['append history#2 memory:__proto__#0'])
    for (const reader of [store, processOver(driver)]) {
      expect(JSON.stringify(await load(reader))).toBe(JSON.stringify(turn.document))
    }
  })

  test.each(['a\ud800', 'a\ud801', '"', '#0', '\0'])(
    'keeps the namespace %j separate from others',
    async (namespace) => {
      const driver = new FakeDriver()
      const [store, document] = await warm(driver)
      const turn = turnOn(document, '4-a', 'one', namespace)
      const second = turnOn(turn.document, '5-a', 'two', `${namespace}\ud802`)
      await save(store, turn)
      await save(store, second)
      for (const name of driver.records.get('keyv:s')?.chunks.keys() ?? []) {
        expect(Buffer.from(name, 'utf8').toString('utf8')).toBe(name)
      }
      expect(await load(processOver(driver))).toEqual(second.document)
    },
  )

  test('writes only the head if a save appends nothing', async () => {
    const driver = new FakeDriver()
    const [store, document] = await warm(driver)
    const checkpoint = { ...document, revision: '4-a' }
    await store.save(checkpoint, '3-a', { appended: {} })
    await save(store, turnOn(checkpoint, '5-a'))
    expect(driver.takeCalls()).toEqual(['append', 'append history#2 memory:Ask#2'])
    expect((await load(processOver(driver))).history).toHaveLength(3)
  })

  test('stays warm after a load as long as the stored revision is the same', async () => {
    const driver = new FakeDriver()
    const [store] = await warm(driver)
    const first = await load(store)
    expect(isSharedList(first.history)).toBe(true)
    expect((await load(store)).history).toBe(first.history)
  })
})

describe('the stored form', () => {
  test('has the layout that later releases can read', async () => {
    const driver = new FakeDriver()
    const store = processOver(driver)
    const { flow, ...head } = newSession('s')
    await store.create(newSession('s'))
    await save(store, turnOn(newSession('s'), '2-a', 'hello'))
    const record = driver.records.get('keyv:s')
    expect(JSON.parse(record?.head ?? '')).toEqual({
      layout: 2,
      document: {
        ...head,
        revision: '2-a',
        history: null,
        flow: { ...flow, memory: { Ask: { messages: null } } },
      },
      lists: [
        { name: 'history', first: 0, skip: 0, chunks: 1, entries: 1, tip: '2-a' },
        { name: 'memory:Ask', first: 0, skip: 0, chunks: 1, entries: 2, tip: '2-a' },
      ],
    })
    expect([...(record?.chunks.keys() ?? [])]).toEqual(['history#0', 'memory:Ask#0'])
    expect(JSON.parse(record?.chunks.get('history#0') ?? '')).toEqual({
      previous: '',
      revision: '2-a',
      entries: [
        {
          turn: 1,
          at: '2026-01-01T00:00:00.000Z',
          message: 'hello',
          reply: 'Re: hello',
          contentType: 'text/plain',
          step: 'Ask',
        },
      ],
    })
  })
})

describe('failures', () => {
  test.each(['before', 'after'] as const)('a save that fails %s it took effect can be tried again', async (when) => {
    const driver = new FakeDriver()
    const [store, base] = await warm(driver)
    const turn = turnOn(base, '4-a')
    driver.failNext(when)
    await expect(save(store, turn)).rejects.toThrow('Injected')
    await save(store, turn)
    expect(driver.takeCalls()).toEqual(['append history#2 memory:Ask#2', 'replace history#0 memory:Ask#0'])
    // The second attempt may have found the first one's chunks: the next save must fit the stored chunks.
    await save(store, turnOn(turn.document, '5-a'))
    expect((await load(processOver(driver))).history.map(({ turn: number }) => number)).toEqual([1, 2, 3, 4])
    expect((await load(store)).history).toHaveLength(4)
  })

  test('a save that takes effect after its caller stopped waiting conflicts with the next one', async () => {
    const driver = new FakeDriver()
    const [store, base] = await warm(driver)
    const swap = driver.swap.bind(driver)
    let happen: () => void = () => undefined
    driver.swap = (change) => {
      driver.swap = swap
      return new Promise((resolve, reject) => {
        happen = () => void swap(change).then(resolve, reject)
      })
    }
    const turn = turnOn(base, '4-a')
    const late = save(store, turn)
    await new Promise((resolve) => setImmediate(resolve))
    happen()
    await save(store, turn)
    await late
    await save(store, turnOn(turn.document, '5-a'))
    expect((await load(processOver(driver))).history.map(({ turn: number }) => number)).toEqual([1, 2, 3, 4])
  })

  test('a conflict is reported, and the stored session is loaded afterwards', async () => {
    const driver = new FakeDriver()
    const [store, base] = await warm(driver)
    const other = processOver(driver)
    await save(other, turnOn(await load(other), '4-b', 'theirs'))
    await expect(save(store, turnOn(base, '4-a', 'ours'))).rejects.toMatchObject({ code: 'SESSION_CONFLICT' })
    await expect(store.create(newSession('s', '1-c'))).rejects.toMatchObject({ code: 'SESSION_CONFLICT' })
    await expect(store.delete('s', '3-a')).rejects.toMatchObject({ code: 'SESSION_CONFLICT' })
    expect((await load(store)).history.at(-1)?.message).toBe('theirs')
  })

  test("an outage rejects with the driver's error, and is never a missing session", async () => {
    const driver = new FakeDriver()
    const [store] = await warm(driver)
    driver.failNext('before')
    await expect(store.load('s')).rejects.toThrow('Injected: nothing happened.')
    expect((await load(store)).history).toHaveLength(2)
  })

  test('too few replicas are reported to every listener that was not removed', async () => {
    const driver = new FakeDriver()
    const store = processOver(driver)
    const reports: unknown[] = []
    const stop = store.onUnderReplicated((report) => reports.push(report))
    driver.replicas = 1
    await store.create(newSession('s'))
    stop()
    await save(store, turnOn(newSession('s'), '2-a'))
    expect(reports).toEqual([{ sessionId: 's', replicas: 1, wanted: 2 }])
  })
})

describe('the cache', () => {
  test('with 0 bytes caches nothing', async () => {
    const driver = new FakeDriver()
    const [store, document] = await warm(driver, 2, { cacheBytes: 0 })
    expect(await load(store)).toEqual(document)
    expect(driver.takeCalls()).toEqual(['readAll'])
  })

  test('drops the least recently used session', async () => {
    const driver = new FakeDriver()
    const store = processOver(driver, { cacheBytes: 4_000 })
    const loads = async (id: string): Promise<string[]> => {
      driver.takeCalls()
      await store.load(id)
      return driver.takeCalls()
    }
    for (const id of ['a', 'b', 'c']) await store.create(turnOn(newSession(id), '1-a', 'x'.repeat(400)).document)
    expect(await loads('c')).toEqual(['read history#1 memory:Ask#1'])
    expect(await loads('a')).toEqual(['readAll'])
    expect(await loads('a')).toEqual(['read history#1 memory:Ask#1'])
  })

  test.each([
    [-1, '-1'],
    [Number.NaN, 'NaN'],
    [Number.POSITIVE_INFINITY, 'Infinity'],
    ['1', "the text '1'"],
  ])('refuses %j bytes', (cacheBytes, shown) => {
    expect(() => processOver(new FakeDriver(), { cacheBytes: cacheBytes as number })).toThrow(
      `KeyvSessionStore: cacheBytes must be a number of at least 0; got ${shown}.`,
    )
  })
})

describe('purging', () => {
  test('calls the driver, if the driver needs it', async () => {
    const driver = Object.assign(new FakeDriver(), { purgeExpired: async () => 3 })
    expect(await processOver(driver).purgeExpired()).toBe(3)
    expect(await processOver(new FakeDriver()).purgeExpired()).toBe(0)
  })

  test('rejects after closing', async () => {
    const store = processOver(new FakeDriver())
    await store.close()
    await expect(store.purgeExpired()).rejects.toThrow('The Keyv session store is closed.')
  })
})

describe('closing', () => {
  test('closes the driver once, and later calls reject', async () => {
    const driver = new FakeDriver()
    const store = processOver(driver)
    await Promise.all([store.close(), store.close()])
    expect(driver.closed).toBe(1)
    await expect(store.load('s')).rejects.toThrow('The Keyv session store is closed.')
    await expect(store.create(newSession('s'))).rejects.toThrow('The Keyv session store is closed.')
    await expect(store.delete('s')).rejects.toThrow('The Keyv session store is closed.')
    expect(driver.takeCalls()).toEqual([])
  })

  test('does not disconnect the Keyv with closeKeyv: false', async () => {
    const driver = new FakeDriver()
    const store = processOver(driver, { closeKeyv: false })
    await store.close()
    expect(driver.closed).toBe(0)
    await expect(store.load('s')).rejects.toThrow('The Keyv session store is closed.')
  })
})
