// What the two assertions of the store say when something is wrong, and that they see an engine that is wrong.
import { describe, expect, test } from 'vitest'
import { Flow, FlowEngine, LogicStep, MemorySessionStore, reply } from '../../src/index.js'
import { documentOf } from '../contract/session-bench.js'
import { ExpectationError, FakeSessionStore } from '../index.js'

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

/** Two turns of an engine whose IDs count up. */
async function twoTurns(sessionStore: FakeSessionStore): Promise<void> {
  let count = 0
  const engine = new FlowEngine({ flows: [Hello], sessionStore, generateId: (kind) => `${kind}${++count}` })
  const { session } = await engine.run({ flowName: 'Hello', userMessage: 'Hi' })
  await engine.run({ flowName: 'Hello', userMessage: 'Hi', sessionId: session })
}

/** Writes everything twice. */
class WritesTwice extends FakeSessionStore {
  override async save(...call: Parameters<FakeSessionStore['save']>): Promise<void> {
    await super.save(...call)
    await super.save(...call)
  }
}

/** Says that it saved, and did not. */
class NeverSaves extends FakeSessionStore {
  override async save(): Promise<void> {}
}

describe('expectJournal', () => {
  test('is content with what happened', async () => {
    const store = new FakeSessionStore()
    store.expectJournal([])
    store.failNext('save')
    await twoTurns(store)
    store.expectJournal(['create', 'load', 'save failed', 'load', 'save'])
    store.expectJournal(['create', { operation: 'load', outcome: 'done' }, 'save failed', {}, 'save'])
    store.clearJournal()
    store.expectJournal([])
  })

  test.each<readonly [unknown, string]>([
    ['save', '"save"'],
    [undefined, 'undefined'],
    [['save', undefined], '["save",null]'],
  ])('refuses what is not a list of calls: %j', (expected, shown) => {
    expect(() => new FakeSessionStore().expectJournal(expected as never)).toThrow(
      new ExpectationError(`expectJournal needs a list of calls, as in ['load', 'save failed']; got ${shown}.`),
    )
  })

  test('shows a store that writes twice', async () => {
    const store = new WritesTwice()
    await twoTurns(store)
    expect(() => store.expectJournal(['create', 'load', 'save'])).toThrowErrorMatchingInlineSnapshot(`
      [ExpectationError: The store's journal is not the expected one: call 4 was not expected; got save.

           operation  outcome  session   revision     expected revision  fault
        1  create     done     session2  1-revision3
        2  load       done     session2
        3  save       done     session2  2-revision5  1-revision3
      > 4  save       done     session2  2-revision5  1-revision3

      Expected: create, load, save
      Got:      create, load, save, save

      Stored last: session 'session2' of flow 'Hello', step 'Greet', turn 2]
    `)
  })

  test('shows a call that is missing', async () => {
    const store = new NeverSaves()
    await twoTurns(store)
    expect(() => store.expectJournal(['create', 'load', 'save'])).toThrowErrorMatchingInlineSnapshot(`
      [ExpectationError: The store's journal is not the expected one: call 3 is missing; expected save.

           operation  outcome  session   revision     expected revision  fault
        1  create     done     session2  1-revision3
        2  load       done     session2

      Expected: create, load, save
      Got:      create, load

      Stored last: session 'session2' of flow 'Hello', step 'Greet', turn 1]
    `)
  })

  test('shows how a call ended, and what struck it', async () => {
    const store = new FakeSessionStore()
    store.failNext('save', { after: true })
    await twoTurns(store)
    expect(() => store.expectJournal(['create', 'load', 'save'])).toThrowErrorMatchingInlineSnapshot(`
      [ExpectationError: The store's journal is not the expected one: call 3 should be save, and is save failed.

           operation  outcome  session   revision     expected revision  fault
        1  create     done     session2  1-revision3
        2  load       done     session2
      > 3  save       failed   session2  2-revision5  1-revision3        fail-after
        4  load       done     session2

      Expected: create, load, save
      Got:      create, load, save failed, load

      Stored last: session 'session2' of flow 'Hello', step 'Greet', turn 2]
    `)
  })

  test('shows the fields that differ, and an empty journal', async () => {
    const store = new FakeSessionStore()
    await store.load('b')
    expect(() =>
      store.expectJournal([{ operation: 'load', sessionId: 'a', revision: undefined }]),
    ).toThrowErrorMatchingInlineSnapshot(`
      [ExpectationError: The store's journal is not the expected one: call 1 is not as expected (sessionId: expected "a", got "b").

           operation  outcome  session  revision  expected revision  fault
      > 1  load       done     b

      Expected: {"operation":"load","sessionId":"a"}
      Got:      load]
    `)
    store.clearJournal()
    expect(() => store.expectJournal([{ operation: 'load', sessionId: 'a' }])).toThrowErrorMatchingInlineSnapshot(`
      [ExpectationError: The store's journal is not the expected one: call 1 is missing; expected {"operation":"load","sessionId":"a"}.

        (the store was not called)

      Expected: {"operation":"load","sessionId":"a"}
      Got:      no call]
    `)
  })

  test('aligns the calls if there are ten or more', async () => {
    const store = new FakeSessionStore()
    for (let index = 0; index < 10; index++) await store.load(`session-${index}`)
    expect(() => store.expectJournal(['save'])).toThrowErrorMatchingInlineSnapshot(`
      [ExpectationError: The store's journal is not the expected one: call 1 should be save, and is load.

            operation  outcome  session    revision  expected revision  fault
      >  1  load       done     session-0
         2  load       done     session-1
         3  load       done     session-2
         4  load       done     session-3
         5  load       done     session-4
         6  load       done     session-5
         7  load       done     session-6
         8  load       done     session-7
         9  load       done     session-8
        10  load       done     session-9

      Expected: save
      Got:      load, load, load, load, load, load, load, load, load, load]
    `)
  })
})

describe('assertFaultsUsed', () => {
  test('passes without faults, and if all faults were used', async () => {
    const store = new FakeSessionStore()
    store.assertFaultsUsed()
    store.failNext('save', { times: 2 })
    store.outage({ sessionId: 'a' })
    await twoTurns(store)
    await store.load('a').catch(() => undefined)
    store.assertFaultsUsed()
  })

  test('shows a fault that a store which never saves did not meet', async () => {
    const store = new NeverSaves()
    store.failNext('save')
    await twoTurns(store)
    expect(() => store.assertFaultsUsed()).toThrowErrorMatchingInlineSnapshot(`
      [ExpectationError: A fault of the store did not strike as often as prepared:
        - save fails before it takes effect (0 calls matched, 0 struck)

      The store's journal:
           operation  outcome  session   revision     expected revision  fault
        1  create     done     session2  1-revision3
        2  load       done     session2

      Let the conversation come that far, or take the fault out of the test.]
    `)
  })

  test('shows every kind of fault in words', () => {
    const store = new FakeSessionStore({ inner: new MemorySessionStore() })
    store.failNext('create', { nth: 2, times: 3 })
    store.failNext('save', { after: true, sessionId: 's-1' })
    store.hangNext('load', { when: () => false })
    store.hangNext('delete', { after: true, times: Number.POSITIVE_INFINITY })
    store.delayNext('save', 50)
    store.rivalWrites()
    store.rivalDeletes({ before: 'delete' })
    store.staleRead()
    store.answerNext({ id: 's-1' })
    store.failNext('load', { atOnce: true })
    store.outage()
    store.inject({ effect: 'latency' })
    expect(() => store.assertFaultsUsed()).toThrowErrorMatchingInlineSnapshot(`
      [ExpectationError: 12 faults of the store did not strike as often as prepared:
        - create fails before it takes effect, from call 2 on, 3 times (0 calls matched, 0 struck)
        - save fails after it took effect, for session 's-1' (0 calls matched, 0 struck)
        - load never answers and takes no effect, where its predicate says so (0 calls matched, 0 struck)
        - delete takes effect and never answers, until healed (0 calls matched, 0 struck)
        - save takes 50 ms (0 calls matched, 0 struck)
        - a rival writes just before save (0 calls matched, 0 struck)
        - a rival deletes just before delete (0 calls matched, 0 struck)
        - load answers an older document (0 calls matched, 0 struck)
        - load answers {"id":"s-1"} (0 calls matched, 0 struck)
        - load throws instead of rejecting (0 calls matched, 0 struck)
        - any operation fails before it takes effect, until healed (0 calls matched, 0 struck)
        - any operation takes 0 ms (0 calls matched, 0 struck)

      The store's journal:
        (the store was not called)

      Let the conversation come that far, or take the fault out of the test.]
    `)
  })

  test('wants each time that was asked for, unless the store was healed', async () => {
    const store = new FakeSessionStore()
    store.failNext('load', { times: 2 })
    await store.load('a').catch(() => undefined)
    expect(() => store.assertFaultsUsed()).toThrow(
      'load fails before it takes effect, 2 times (1 call matched, 1 struck)',
    )
    store.heal()
    store.assertFaultsUsed()
  })

  test('healing hides no fault that never struck', async () => {
    const store = new FakeSessionStore()
    store.outage()
    store.heal()
    await store.create(documentOf('a', '1-a'))
    expect(() => store.assertFaultsUsed()).toThrow(
      'any operation fails before it takes effect, until healed (0 calls matched',
    )
  })
})
