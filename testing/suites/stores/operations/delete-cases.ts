/** Cases of `delete`: one handle, one thing after the other. */

import { describeOutcome, ensure, outcomeOf } from '../../cases/failure.js'
import { newRevision, newSession, nextTurn } from '../bench/documents.js'
import { rules } from '../bench/rules.js'
import type { SuiteCase } from '../bench/suite-case.js'

/** The cases, in the order in which they are registered. */
export const deleteCases: readonly SuiteCase[] = [
  {
    name: 'delete with the stored revision removes the session',
    rule: rules.delete,
    async run(bench) {
      const store = await bench.open()
      const document = newSession(bench.newId())
      await store.create(document)
      await store.delete(document.id, document.revision)
      await store.holdsNothing(document.id)
    },
  },
  {
    name: 'delete without a revision removes whatever is stored',
    rule: rules.delete,
    async run(bench) {
      const store = await bench.open()
      const document = newSession(bench.newId())
      await store.create(document)
      await store.save(nextTurn(document).document, document.revision)
      await store.delete(document.id)
      await store.holdsNothing(document.id)
    },
  },
  {
    name: 'delete under a stale revision is a conflict and leaves every byte',
    rule: rules.delete,
    async run(bench) {
      const store = await bench.open()
      const document = newSession(bench.newId())
      await store.create(document)
      const { document: saved } = nextTurn(document)
      await store.save(saved, document.revision)
      await store.refusesDelete(document.id, document.revision)
      await store.refusesDelete(document.id, newRevision(2))
      await store.holds(saved)
    },
  },
  {
    name: 'delete under an empty revision is a conflict: empty is not absent',
    rule: rules.delete,
    async run(bench) {
      const store = await bench.open()
      const document = newSession(bench.newId())
      await store.create(document)
      await store.refusesDelete(document.id, '')
      await store.holds(document)
    },
  },
  {
    name: 'delete with undefined for a revision is one without',
    rule: rules.delete,
    async run(bench) {
      const store = await bench.open()
      const document = newSession(bench.newId())
      await store.create(document)
      // As the engine calls it: the argument is passed, and is undefined.
      const outcome = await outcomeOf(() => store.store.delete(document.id, undefined))
      ensure(outcome.kind === 'done', 'delete(id, undefined) to succeed', describeOutcome(outcome))
      await store.holdsNothing(document.id)
    },
  },
  {
    name: 'delete of a missing session succeeds without a revision',
    rule: rules.delete,
    async run(bench) {
      const store = await bench.open()
      const sessionId = bench.newId()
      await store.delete(sessionId)
      await store.holdsNothing(sessionId)
    },
  },
  {
    name: 'delete of a missing session succeeds with a revision',
    rule: rules.delete,
    async run(bench) {
      const store = await bench.open()
      const sessionId = bench.newId()
      await store.delete(sessionId, newRevision(1))
      await store.holdsNothing(sessionId)
    },
  },
  {
    name: 'delete twice with one revision succeeds twice',
    rule: rules.delete,
    async run(bench) {
      const store = await bench.open()
      const document = newSession(bench.newId())
      await store.create(document)
      await store.delete(document.id, document.revision)
      await store.delete(document.id, document.revision)
      await store.holdsNothing(document.id)
    },
  },
  {
    name: 'a late save does not bring a deleted session back',
    rule: rules.save,
    async run(bench) {
      const store = await bench.open()
      const document = newSession(bench.newId())
      await store.create(document)
      const late = nextTurn(document)
      await store.delete(document.id, document.revision)
      await store.refusesSave(late.document, late.expectedRevision, late.hint)
      await store.refusesSave(late.document, late.expectedRevision)
      await store.holdsNothing(document.id)
    },
  },
  {
    name: 'a repeated save does not bring a deleted session back',
    rule: rules.save,
    async run(bench) {
      const store = await bench.open()
      const document = newSession(bench.newId())
      await store.create(document)
      const turn = nextTurn(document)
      await store.save(turn.document, turn.expectedRevision, turn.hint)
      await store.delete(document.id, turn.document.revision)
      await store.refusesSave(turn.document, turn.expectedRevision, turn.hint)
      await store.refusesSave(turn.document, turn.document.revision)
      await store.holdsNothing(document.id)
    },
  },
  {
    name: 'a save from before a delete does not reach the session created after it',
    rule: rules.revision,
    async run(bench) {
      const store = await bench.open()
      const old = newSession(bench.newId())
      await store.create(old)
      const late = nextTurn(old, { message: 'Too late' })
      await store.delete(old.id, old.revision)
      // The counter starts again: both are the first revision of a session with this ID.
      const recreated = newSession(old.id, { message: 'A new beginning' })
      if (!(await store.recreates(recreated))) return
      await store.refusesSave(late.document, late.expectedRevision, late.hint)
      await store.refusesSave(late.document, late.expectedRevision)
      await store.holds(recreated)
    },
  },
  {
    name: 'a delete from before a delete does not reach the session created after it',
    rule: rules.revision,
    async run(bench) {
      const store = await bench.open()
      const old = newSession(bench.newId())
      await store.create(old)
      await store.delete(old.id, old.revision)
      const recreated = newSession(old.id)
      if (!(await store.recreates(recreated))) return
      await store.refusesDelete(old.id, old.revision)
      await store.holds(recreated)
    },
  },
  {
    name: 'a session that was deleted and created again is read as it is stored now',
    rule: rules.revision,
    async run(bench) {
      const store = await bench.open()
      const old = newSession(bench.newId())
      await store.create(old)
      // A store may keep what it read under this revision.
      await store.holds(old)
      await store.delete(old.id, old.revision)
      // As long as the old one, and the first revision as well: only the random part of the revision differs.
      const recreated = newSession(old.id, { message: 'Again', reply: 'Again' })
      if (!(await store.recreates(recreated))) return
      await store.holds(recreated)
      const turn = nextTurn(recreated)
      await store.save(turn.document, turn.expectedRevision, turn.hint)
      await store.holds(turn.document)
    },
  },
  {
    name: 'a failed delete leaves the session to be saved',
    rule: rules.delete,
    async run(bench) {
      const store = await bench.open()
      const document = newSession(bench.newId())
      await store.create(document)
      await store.refusesDelete(document.id, newRevision(1))
      const turn = nextTurn(document)
      await store.save(turn.document, turn.expectedRevision, turn.hint)
      await store.holds(turn.document)
    },
  },
]
