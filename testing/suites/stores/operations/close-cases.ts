/** Cases of `close`, and of the optional `hold` and `onEvicted`. */

import { describeOutcome, ensure, fail, type Outcome } from '../../cases/failure.js'
import type { CheckedStore } from '../bench/checked-store.js'
import { newSession, nextTurn } from '../bench/documents.js'
import { rules } from '../bench/rules.js'
import type { SuiteBench, SuiteCase } from '../bench/suite-case.js'

/** A store that was closed, with a session in its data, and another handle on the same data. */
async function openClosed(bench: SuiteBench) {
  const closed = await bench.open()
  const other = await bench.another(closed)
  const document = newSession(bench.newId())
  await closed.create(document)
  await closed.close()
  return { closed, other, document }
}

/** Expects a rejection that reveals nothing about the session. */
function expectClosed(call: string, outcome: Outcome): void {
  if (outcome.kind === 'trouble') return
  fail(`${call} after close() to reject with an error other than a conflict`, describeOutcome(outcome))
}

/** Does nothing if the store does not hold sessions. */
function hold({ store }: CheckedStore, sessionId: string): () => void {
  const release: unknown = store.hold?.(sessionId) ?? (() => undefined)
  if (typeof release === 'function') return release as () => void
  return fail('hold to return a function', typeof release)
}

/** The cases, in the order in which they are registered. */
export const closeCases: readonly SuiteCase[] = [
  {
    name: 'close: a load after it rejects',
    rule: rules.close,
    async run(bench) {
      const { closed, document } = await openClosed(bench)
      expectClosed('load', await closed.tryLoad(document.id))
      expectClosed('load of a missing session', await closed.tryLoad(bench.newId()))
    },
  },
  {
    name: 'close: a create after it rejects and stores nothing',
    rule: rules.close,
    async run(bench) {
      const { closed, other } = await openClosed(bench)
      const late = newSession(bench.newId())
      expectClosed('create', await closed.tryCreate(late))
      await other.holdsNothing(late.id)
    },
  },
  {
    name: 'close: a save after it rejects and changes nothing',
    rule: rules.close,
    async run(bench) {
      const { closed, other, document } = await openClosed(bench)
      const late = nextTurn(document)
      expectClosed('save', await closed.trySave(late.document, late.expectedRevision, late.hint))
      await other.holds(document)
    },
  },
  {
    name: 'close: a delete after it rejects and removes nothing',
    rule: rules.close,
    async run(bench) {
      const { closed, other, document } = await openClosed(bench)
      expectClosed('delete', await closed.tryDelete(document.id))
      expectClosed('delete with a revision', await closed.tryDelete(document.id, document.revision))
      expectClosed('delete of a missing session', await closed.tryDelete(bench.newId()))
      await other.holds(document)
    },
  },
  {
    name: 'close: twice is once, also at the same time',
    rule: rules.close,
    async run(bench) {
      const store = await bench.open()
      await store.create(newSession(bench.newId()))
      await Promise.all([store.close(), store.close()])
      await store.close()
    },
  },
  {
    name: 'close: a save under way settles, and is stored whole or not at all',
    rule: rules.close,
    async run(bench) {
      const store = await bench.open()
      const other = await bench.another(store)
      const document = newSession(bench.newId())
      await store.create(document)
      const turn = nextTurn(document)
      const [saved] = await Promise.all([store.trySave(turn.document, turn.expectedRevision, turn.hint), store.close()])
      if (saved.kind === 'conflict')
        fail('the save to succeed, or to reject with another error', describeOutcome(saved))
      // A save that rejected may have taken effect: its answer was cut off.
      const { revision } = await other.load(document.id)
      const happened = saved.kind === 'done' || revision === turn.document.revision
      await other.holds(happened ? turn.document : document)
    },
  },
  {
    name: 'close: a store that was never used closes, too',
    rule: rules.close,
    async run(bench) {
      const store = await bench.open()
      await store.close()
      expectClosed('load', await store.tryLoad(bench.newId()))
    },
  },
  {
    name: 'close: another handle on the same data is not affected',
    rule: rules.close,
    async run(bench) {
      const { other, document } = await openClosed(bench)
      await other.holds(document)
      const turn = nextTurn(document)
      await other.save(turn.document, turn.expectedRevision, turn.hint)
      await other.holds(turn.document)
      const created = newSession(bench.newId())
      await other.create(created)
      await other.delete(created.id, created.revision)
      await other.holdsNothing(created.id)
    },
  },
  {
    name: 'hold: a held session is loaded, saved and deleted like any other',
    rule: rules.optional,
    async run(bench) {
      const store = await bench.open()
      const sessionId = bench.newId()
      const release = hold(store, sessionId)
      const document = newSession(sessionId)
      await store.create(document)
      await store.refusesCreate(newSession(sessionId))
      const turn = nextTurn(document)
      await store.save(turn.document, turn.expectedRevision, turn.hint)
      await store.refusesSave(nextTurn(document).document, document.revision)
      await store.holds(turn.document)
      await store.delete(sessionId, turn.document.revision)
      release()
      await store.holdsNothing(sessionId)
    },
  },
  {
    name: 'hold: releasing once or twice loses nothing and releases no other hold',
    rule: rules.optional,
    async run(bench) {
      const store = await bench.open()
      const document = newSession(bench.newId())
      await store.create(document)
      const [first, second] = [hold(store, document.id), hold(store, document.id)]
      first()
      first()
      await store.holds(document)
      second()
      second()
      await store.holds(document)
    },
  },
  {
    name: 'onEvicted: saves and deletes are not evictions, and unsubscribing twice is allowed',
    rule: rules.optional,
    async run(bench) {
      const store = await bench.open()
      const evicted: string[] = []
      const unsubscribe: unknown = store.store.onEvicted?.((sessionId) => evicted.push(sessionId)) ?? (() => undefined)
      if (typeof unsubscribe !== 'function') return fail('onEvicted to return a function', typeof unsubscribe)
      const document = newSession(bench.newId())
      await store.create(document)
      const turn = nextTurn(document)
      await store.save(turn.document, turn.expectedRevision, turn.hint)
      await store.delete(document.id, turn.document.revision)
      ensure(!evicted.includes(document.id), 'no eviction of a session that was deleted', evicted)
      unsubscribe()
      unsubscribe()
    },
  },
]
