/** Cases of the marks that deletes leave, for stores with claims. */
import type { SessionStore } from '../../../../src/index.js'
import { describeOutcome, ensure, fail } from '../../cases/failure.js'
import type { CheckedStore } from '../bench/checked-store.js'
import { newRevision, newSession, nextTurn } from '../bench/documents.js'
import { rules } from '../bench/rules.js'
import type { SuiteBench, SuiteCase } from '../bench/suite-case.js'
import { engineOver } from '../operations/talking-flow.js'

const needs = ['claims'] as const

async function openTwo(bench: SuiteBench): Promise<readonly [CheckedStore, CheckedStore]> {
  const first = await bench.open()
  return [first, await bench.another(first)]
}

/** Expects that the ID cannot be used, and that nothing is stored under it. */
async function isMarked(store: CheckedStore, sessionId: string): Promise<void> {
  await store.saysDeleted(sessionId, true)
  await store.refusesCreate(newSession(sessionId))
  await store.holdsNothing(sessionId)
}

/** The first message of a session, under a key. Returns the session's ID. */
async function sendFirst(store: SessionStore, idempotencyKey: string): Promise<string> {
  const { response } = await engineOver(store).execute({ flowName: 'Talking', userMessage: 'one', idempotencyKey })
  if (!response.success) fail('the first message to be answered', `'${response.message}'`)
  return response.session
}

/** The cases, in the order in which they are registered. */
export const deletedCases: readonly SuiteCase[] = [
  {
    name: 'deleted: the ID cannot be used again, over any handle',
    rule: rules.deleted,
    needs,
    async run(bench) {
      const [ours, theirs] = await openTwo(bench)
      const [first, second, other] = [newSession(bench.newId()), newSession(bench.newId()), newSession(bench.newId())]
      for (const document of [first, second, other]) await ours.create(document)
      await theirs.holds(first)
      await ours.delete(first.id, first.revision)
      await ours.delete(second.id)
      for (const store of [ours, theirs]) {
        for (const { id } of [first, second]) await isMarked(store, id)
        await store.refusesCreate(first)
        await store.saysDeleted(other.id, false)
        await store.saysDeleted(bench.newId(), false)
      }
      await theirs.holds(other)
    },
  },
  {
    name: 'deleted: an ID without a session cannot be used either, with a revision or without',
    rule: rules.deleted,
    needs,
    async run(bench) {
      const [ours, theirs] = await openTwo(bench)
      const [plain, revised] = [bench.newId(), bench.newId()]
      await ours.delete(plain)
      await ours.delete(revised, newRevision(1))
      for (const id of [plain, revised]) await isMarked(theirs, id)
    },
  },
  {
    name: 'deleted: every further delete succeeds, and a save stays a conflict',
    rule: rules.deleted,
    needs,
    async run(bench) {
      const store = await bench.open()
      const document = newSession(bench.newId())
      await store.create(document)
      const late = nextTurn(document)
      await store.delete(document.id, document.revision)
      for (const revision of [undefined, document.revision, newRevision(9), '']) {
        await store.delete(document.id, revision)
        await store.refusesSave(late.document, late.expectedRevision, late.hint)
        await store.refusesSave(late.document, '')
        await isMarked(store, document.id)
      }
    },
  },
  {
    name: 'deleted: a refused delete leaves no mark',
    rule: rules.deleted,
    needs,
    async run(bench) {
      const store = await bench.open()
      const document = newSession(bench.newId())
      await store.create(document)
      for (const revision of [newRevision(1), '']) await store.refusesDelete(document.id, revision)
      await store.saysDeleted(document.id, false)
      const turn = nextTurn(document)
      await store.save(turn.document, turn.expectedRevision, turn.hint)
      await store.holds(turn.document)
    },
  },
  {
    name: 'deleted: of a create and a delete at once, a delete that succeeds leaves no session',
    rule: rules.deleted,
    needs,
    async run(bench) {
      const [ours, theirs] = await openTwo(bench)
      for (let round = 0; round < 30; round++) {
        const document = newSession(bench.newId())
        const revision = round % 2 === 0 ? newRevision(9) : undefined
        const [created, deleted] = await Promise.all([
          ours.tryCreate(document),
          theirs.tryDelete(document.id, revision),
        ])
        if (deleted.kind === 'done') {
          await isMarked(ours, document.id)
          if (revision === undefined) continue
          ensure(created.kind === 'conflict', 'the create to be a conflict', describeOutcome(created))
          continue
        }
        ensure(deleted.kind === 'conflict', 'the delete to be a conflict', describeOutcome(deleted))
        ensure(created.kind === 'done', 'the create to succeed', describeOutcome(created))
        await theirs.holds(document)
      }
    },
  },
  {
    name: 'deleted: no listing shows the mark',
    rule: rules.deleted,
    needs: ['claims', 'lists'],
    async run(bench) {
      const store = await bench.open()
      const owner = `owner-${bench.newId()}`
      const [deleted, kept] = [bench.newId(), bench.newId()].map((id) => ({ ...newSession(id), owner }))
      for (const document of [deleted, kept]) if (document !== undefined) await store.create(document)
      await store.delete(deleted?.id as string)
      await store.delete(bench.newId())
      for (const query of [{ owner }, {}]) {
        const ids = (await store.listsAll(query)).map(({ id }) => id)
        const isRight = !ids.includes(deleted?.id as string) && ids.includes(kept?.id as string)
        ensure(isRight, 'the sessions that were not deleted', ids.length)
      }
    },
  },
  {
    name: 'deleted: the mark survives a restart',
    rule: rules.deleted,
    needs,
    async run(bench) {
      const [ours, theirs] = await openTwo(bench)
      const document = newSession(bench.newId())
      await ours.create(document)
      await ours.delete(document.id, document.revision)
      await ours.close()
      await isMarked(theirs, document.id)
    },
  },
  {
    name: 'deleted: a claim of the ID stays, and leads to no session',
    rule: rules.deleted,
    needs,
    async run(bench) {
      const store = await bench.open()
      const [key, id] = [bench.newId(), bench.newId()]
      await store.claims(key, id, 3_600_000, id)
      await store.saysDeleted(id, false)
      await store.delete(id)
      await store.claims(key, bench.newId(), 3_600_000, id)
      await isMarked(store, id)
    },
  },
  {
    name: 'deleted: a first message that is sent again starts a session with a new ID',
    rule: rules.deleted,
    needs,
    async run(bench) {
      const [ours, theirs] = await openTwo(bench)
      const key = bench.newId()
      const first = await sendFirst(ours.store, key)
      const { success } = await engineOver(ours.store).deleteSession(first)
      ensure(success, 'the delete to succeed', success)
      const second = await sendFirst(theirs.store, key)
      ensure(second !== first, 'a session with another ID', 'the deleted one')
      ensure((await sendFirst(ours.store, key)) === second, 'the same session for a further repeat', 'another one')
      await isMarked(theirs, first)
    },
  },
  {
    name: 'deleted: a session that is deleted before its first turn ends does not come back',
    rule: rules.deleted,
    needs,
    async run(bench) {
      const [ours, theirs] = await openTwo(bench)
      const document = newSession(bench.newId())
      // Another process ends the session while the turn that creates it is under way.
      const { success } = await engineOver(theirs.store).deleteSession(document.id)
      ensure(success, 'the delete to succeed', success)
      await ours.refusesCreate(document)
      await isMarked(ours, document.id)
    },
  },
  {
    name: 'deleted: after close it rejects',
    rule: rules.close,
    needs,
    async run(bench) {
      const store = await bench.open()
      await store.close()
      const outcome = await store.tryIsDeleted(bench.newId())
      if (outcome.kind !== 'trouble') fail('isDeleted after close() to reject', describeOutcome(outcome))
    },
  },
  {
    name: 'deleted: on a store that is down it rejects in time',
    rule: rules.outage,
    needs: ['claims', 'createUnreachable'],
    async run(bench) {
      const store = await bench.openUnreachable()
      const outcome = await store.tryIsDeleted(bench.newId())
      if (outcome.kind !== 'trouble') fail('isDeleted of a store that is down to reject', describeOutcome(outcome))
    },
  },
]
