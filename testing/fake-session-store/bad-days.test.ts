// Each way to prepare a fault, as a flow author writes it; through an engine if that shows more.
import { describe, expect, test } from 'vitest'
import { Flow, FlowEngine, LogicStep, MemorySessionStore, reply, type SessionDocument } from '../../src/index.js'
import { documentOf, revisions } from '../contract/session-bench.js'
import { FakeSessionStore, VirtualClock } from '../index.js'

class Greet extends LogicStep {
  static override readonly id = 'Greet'
  override run() {
    return reply('Hello.')
  }
}
class Hello extends Flow {
  static override readonly id = 'Hello'
  override steps() {
    return [Greet]
  }
}

/** A session of the flow `Hello` with one turn behind it, and a store whose journal is empty. */
async function started() {
  const clock = new VirtualClock()
  const inner = new MemorySessionStore()
  const store = new FakeSessionStore({ inner, clock })
  const engine = new FlowEngine({ flows: [Hello], sessionStore: store, clock })
  const { session } = await engine.run({ flowName: 'Hello', userMessage: 'Hi' })
  store.clearJournal()
  const say = () => engine.execute({ flowName: 'Hello', userMessage: 'Hi again', sessionId: session })
  return { clock, inner, store, engine, session, say }
}

/** A store over the session 'a', written three times through it. */
async function written() {
  const inner = new MemorySessionStore()
  const store = new FakeSessionStore({ inner })
  await store.create(documentOf('a', '1-a'))
  await store.save(documentOf('a', '2-b'), '1-a')
  await store.save(documentOf('a', '3-c'), '2-b')
  return { inner, store }
}

describe('failNext', () => {
  test('fails the next call and leaves the data alone', async () => {
    const { store, inner } = await written()
    store.failNext('save')
    await expect(store.save(documentOf('a', '4-d'), '3-c')).rejects.toThrow(
      'Injected: save fails before it takes effect.',
    )
    expect(await revisions(inner, 'a')).toEqual(['3-c'])
  })

  test('after: fails when it has happened, and the engine finds out', async () => {
    const { store, say } = await started()
    store.failNext('save', { after: true })
    expect((await say()).response.success).toBe(true)
    store.expectJournal(['load', 'save failed', 'load'])
    store.assertFaultsUsed()
  })

  test('throws the error it was given, at the call that its predicate picks', async () => {
    const { store } = await written()
    store.failNext('save', { error: 'a text', when: ({ revision }) => revision === '5-e' })
    await store.save(documentOf('a', '4-d'), '3-c')
    await expect(store.save(documentOf('a', '5-e'), '4-d')).rejects.toBe('a text')
    expect(store.journal.at(-1)).toMatchObject({ fault: 'fail-before', outcome: 'failed' })
  })
})

describe('failNext, atOnce', () => {
  test('throws in place of a promise that rejects, and the engine handles it', async () => {
    const { store } = await written()
    store.failNext('load', { atOnce: true, error: 'a text' })
    expect(() => store.load('a')).toThrow('a text')
    store.failNext('load', { atOnce: true })
    expect(() => store.load('a')).toThrow('Injected: load throws instead of rejecting.')
    expect(store.journal.at(-1)).toEqual({ operation: 'load', sessionId: 'a', outcome: 'failed', fault: 'throw' })
    expect(await revisions(store, 'a')).toEqual(['3-c'])
  })
})

test.each([undefined, null, 0])('failNext: throws even %s, if that is its error', async (error) => {
  const { store } = await written()
  store.failNext('load', { error })
  expect(await store.load('a').catch((reason: unknown) => ({ reason }))).toEqual({ reason: error })
})

test('answerNext: load answers the given value, whatever is stored', async () => {
  const { store, session, say } = await started()
  store.answerNext('half a docu')
  expect((await say()).error?.code).toBe('SESSION_FLOW_INVARIANT')
  store.answerNext(undefined, { times: 2, sessionId: session })
  expect(await revisions(store, session, session)).toEqual([undefined, undefined])
  expect(store.journal.at(-1)?.fault).toBe('answer')
})

test('the journal keeps the hint of a save', async () => {
  const { store, say } = await started()
  await say()
  store.expectJournal(['load', { operation: 'save', hint: { appended: { history: 1 } } }])
})

test('hangNext: the engine stops waiting for the call, by its clock', async () => {
  const { store, clock, say } = await started()
  store.hangNext('load')
  const turn = say()
  await clock.advance(5_000)
  expect((await turn).error?.code).toBe('SESSION_STORE_ERROR')
  store.expectJournal(['load pending'])
})

test('delayNext: the call comes through late', async () => {
  const { store, clock, say } = await started()
  store.delayNext('save', 300)
  const turn = say()
  await clock.advance(299)
  store.expectJournal(['load', 'save pending'])
  await clock.advance(1)
  expect((await turn).response.success).toBe(true)
})

describe('rivalWrites', () => {
  test('makes the engine lose its swap', async () => {
    const { store, inner, session, say } = await started()
    store.rivalWrites()
    expect((await say()).error?.code).toBe('SESSION_CONFLICT')
    expect(await revisions(inner, session)).toEqual(['2-rival'])
    store.expectJournal(['load', { operation: 'save', outcome: 'failed', fault: 'rival-write' }, 'load'])
  })

  test('stores what its function makes of a copy', async () => {
    const { store, inner } = await written()
    const seen: SessionDocument[] = []
    store.rivalWrites({
      change: (stored) => {
        seen.push(stored)
        return { ...stored, revision: '4-mine', owner: 'somebody else' }
      },
    })
    await expect(store.save(documentOf('a', '4-d'), '3-c')).rejects.toMatchObject({ code: 'SESSION_CONFLICT' })
    expect(await inner.load('a')).toEqual(documentOf('a', '4-mine', { owner: 'somebody else' }))
    expect(seen).toEqual([documentOf('a', '3-c')])
  })

  test('may be quicker than a delete', async () => {
    const { store, inner } = await written()
    store.rivalWrites({ before: 'delete' })
    await expect(store.delete('a', '3-c')).rejects.toMatchObject({ code: 'SESSION_CONFLICT' })
    expect(await revisions(inner, 'a')).toEqual(['4-rival'])
  })

  test('needs something to write over', async () => {
    const store = new FakeSessionStore()
    store.rivalWrites()
    await expect(store.save(documentOf('a', '2-b'), '1-a')).rejects.toThrow(
      "rivalWrites(): nothing is stored under 'a' to write over.",
    )
  })
})

test('rivalDeletes: the engine finds its session gone', async () => {
  const { store, inner, session, say } = await started()
  store.rivalDeletes()
  expect((await say()).error?.code).toBe('SESSION_CONFLICT')
  expect(await revisions(inner, session)).toEqual([undefined])
})

describe('staleRead', () => {
  test('answers what was stored before the last write, once', async () => {
    const { store } = await written()
    store.staleRead()
    expect(await revisions(store, 'a', 'a')).toEqual(['2-b', '3-c'])
  })

  test('makes the engine lose its swap', async () => {
    const { store, inner, session, say } = await started()
    await say()
    const [before] = await revisions(inner, session)
    store.staleRead()
    expect((await say()).error?.code).toBe('SESSION_CONFLICT')
    expect(await revisions(inner, session)).toEqual([before])
  })

  test('of a session that was only created is nothing, of a deleted one the last document', async () => {
    const store = new FakeSessionStore()
    await store.create(documentOf('new', '1-a'))
    await store.create(documentOf('gone', '1-a'))
    await store.delete('gone')
    store.staleRead({ times: 2 })
    expect(await revisions(store, 'new', 'gone', 'gone')).toEqual([undefined, '1-a', undefined])
  })

  test('counts a write that is tried again once, and a rival’s too', async () => {
    const { store } = await written()
    await store.save(documentOf('a', '3-c'), '2-b')
    store.staleRead({ times: 2 })
    expect(await revisions(store, 'a')).toEqual(['2-b'])
    store.rivalWrites()
    await store.save(documentOf('a', '4-d'), '3-c').catch(() => undefined)
    expect(await revisions(store, 'a')).toEqual(['3-c'])
    store.rivalDeletes()
    await store.save(documentOf('a', '5-e'), '4-rival').catch(() => undefined)
    store.staleRead()
    expect(await revisions(store, 'a')).toEqual(['4-rival'])
  })

  test('answers a copy', async () => {
    const { store } = await written()
    store.staleRead({ times: 2 })
    const first = (await store.load('a')) as { owner: string }
    first.owner = 'changed'
    expect((await store.load('a'))?.owner).toBe('user-7')
  })

  test('of a session that never went through the store says so', async () => {
    const inner = new MemorySessionStore()
    await inner.create(documentOf('a', '1-a'))
    const store = new FakeSessionStore({ inner })
    store.staleRead()
    await expect(store.load('a')).rejects.toThrowErrorMatchingInlineSnapshot(
      `[Error: staleRead(): no write of session 'a' went through this FakeSessionStore, so that it knows no older document. Create the session through it.]`,
    )
  })
})

describe('outage', () => {
  test('fails everything until it is healed, but releases a hold', async () => {
    const { store } = await written()
    store.outage({ error: new Error('down') })
    await expect(store.load('a')).rejects.toThrow('down')
    await expect(store.create(documentOf('b', '1-a'))).rejects.toThrow('down')
    await expect(store.save(documentOf('a', '4-d'), '3-c')).rejects.toThrow('down')
    await expect(store.delete('a')).rejects.toThrow('down')
    store.heal()
    expect(await revisions(store, 'a', 'b')).toEqual(['3-c', undefined])
    store.outage()
    await expect(store.close()).resolves.toBeUndefined()
  })

  test('may be silence, and of one session alone', async () => {
    const { store } = await written()
    await store.create(documentOf('b', '1-b'))
    store.outage({ hang: true, sessionId: 'a' })
    void store.load('a')
    expect(await revisions(store, 'b')).toEqual(['1-b'])
    expect(store.journal.at(-2)).toMatchObject({ sessionId: 'a', outcome: 'pending', fault: 'hang-before' })
  })
})
