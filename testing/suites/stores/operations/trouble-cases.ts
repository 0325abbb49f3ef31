/** Cases of a backend that is down, and of a stored session that cannot be read. */

import { describeOutcome, fail, type Outcome } from '../../cases/failure.js'
import type { CheckedStore } from '../bench/checked-store.js'
import { newRevision, newSession, nextTurn } from '../bench/documents.js'
import { rules } from '../bench/rules.js'
import type { SuiteBench, SuiteCase } from '../bench/suite-case.js'

type Call = (store: CheckedStore, sessionId: string) => Promise<Outcome>

/** Expects a rejection that says something about the backend, and nothing about the session. */
function expectTrouble(what: string, outcome: Outcome): void {
  if (outcome.kind === 'trouble') return
  fail(`${what} of a store that is down to reject with an error of the backend`, describeOutcome(outcome))
}

/**
 * A case in which one operation meets a backend that is down: it rejects, each time, in time, with an error of the
 * backend.
 */
function outageCase(what: string, call: Call): SuiteCase {
  return {
    name: `outage: ${what} rejects in time, and neither as missing nor as a conflict`,
    rule: rules.outage,
    needs: ['createUnreachable'],
    async run(bench) {
      const store = await bench.openUnreachable()
      for (let count = 0; count < 2; count++) expectTrouble(what, await call(store, bench.newId()))
    },
  }
}

/** A session that was made unreadable, and a handle that never saw it readable. */
async function openUnreadable(bench: SuiteBench) {
  const writer = await bench.open()
  const document = newSession(bench.newId())
  await writer.create(document)
  const neighbour = newSession(bench.newId())
  await writer.create(neighbour)
  await bench.corrupt(document.id, writer)
  const store = await bench.another(writer)
  return { store, document, neighbour }
}

async function expectUnreadable(store: CheckedStore, sessionId: string): Promise<void> {
  const outcome = await store.tryLoad(sessionId)
  if (outcome.kind === 'invariant') return
  fail('load of an unreadable session to reject with the code SESSION_FLOW_INVARIANT', describeOutcome(outcome))
}

/** The cases, in the order in which they are registered. */
export const troubleCases: readonly SuiteCase[] = [
  outageCase('load', (store, sessionId) => store.tryLoad(sessionId)),
  outageCase('create', (store, sessionId) => store.tryCreate(newSession(sessionId))),
  outageCase('save', (store, sessionId) => {
    const turn = nextTurn(newSession(sessionId))
    return store.trySave(turn.document, turn.expectedRevision, turn.hint)
  }),
  outageCase('delete', (store, sessionId) => store.tryDelete(sessionId)),
  outageCase('delete with a revision', (store, sessionId) => store.tryDelete(sessionId, newRevision(1))),
  {
    name: 'outage: many calls at once all reject in time',
    rule: rules.outage,
    needs: ['createUnreachable'],
    async run(bench) {
      const store = await bench.openUnreachable()
      const outcomes = await Promise.all(Array.from({ length: 10 }, () => store.tryLoad(bench.newId())))
      for (const outcome of outcomes) expectTrouble('each load', outcome)
    },
  },
  {
    name: 'outage: close settles in time, and calls after it reject',
    rule: rules.outage,
    needs: ['createUnreachable'],
    async run(bench) {
      const store = await bench.openUnreachable()
      expectTrouble('load', await store.tryLoad(bench.newId()))
      await store.tryClose()
      expectTrouble('load after close()', await store.tryLoad(bench.newId()))
    },
  },
  {
    name: 'unreadable: load rejects with the code SESSION_FLOW_INVARIANT, each time',
    rule: rules.unreadable,
    needs: ['corrupt'],
    async run(bench) {
      const { store, document } = await openUnreadable(bench)
      for (let count = 0; count < 2; count++) await expectUnreadable(store, document.id)
    },
  },
  {
    name: 'unreadable: a create does not overwrite it',
    rule: rules.unreadable,
    needs: ['corrupt'],
    async run(bench) {
      const { store, document } = await openUnreadable(bench)
      const outcome = await store.tryCreate(newSession(document.id))
      if (outcome.kind === 'done') fail('create over an unreadable session to reject', 'success')
      await expectUnreadable(store, document.id)
    },
  },
  {
    name: 'unreadable: a save under a revision that never was does not overwrite it',
    rule: rules.unreadable,
    needs: ['corrupt'],
    async run(bench) {
      const { store, document } = await openUnreadable(bench)
      const { document: late, hint } = nextTurn(document)
      const outcome = await store.trySave(late, newRevision(1), hint)
      if (outcome.kind === 'done') fail('save over an unreadable session to reject', 'success')
      await expectUnreadable(store, document.id)
    },
  },
  {
    name: 'unreadable: a delete without a revision removes it, and a create works again',
    rule: rules.unreadable,
    needs: ['corrupt'],
    async run(bench) {
      const { store, document } = await openUnreadable(bench)
      await store.delete(document.id)
      await store.holdsNothing(document.id)
      const recreated = newSession(document.id, { message: 'A new beginning' })
      if (!(await store.recreates(recreated))) return
      const turn = nextTurn(recreated)
      await store.save(turn.document, turn.expectedRevision, turn.hint)
      await store.holds(turn.document)
    },
  },
  {
    name: 'unreadable: other sessions are not affected',
    rule: rules.unreadable,
    needs: ['corrupt'],
    async run(bench) {
      const { store, document, neighbour } = await openUnreadable(bench)
      await expectUnreadable(store, document.id)
      await store.holds(neighbour)
      const turn = nextTurn(neighbour)
      await store.save(turn.document, turn.expectedRevision, turn.hint)
      await store.holds(turn.document)
    },
  },
]
