/** Cases of `list`, for stores that have it. Each case uses its own owners, because others may use the same backend. */
import type { SessionDocument, SessionListQuery, SessionSummary } from '../../../../src/index.js'
import { describeOutcome, ensure, fail } from '../../cases/failure.js'
import type { CheckedStore } from '../bench/checked-store.js'
import { newSession, nextTurn, randomToken, rowOf } from '../bench/documents.js'
import { hostileIds } from '../bench/hostile-ids.js'
import { rules } from '../bench/rules.js'
import type { SuiteBench, SuiteCase } from '../bench/suite-case.js'

const needs = ['lists'] as const

type Four = readonly [SessionDocument, SessionDocument, SessionDocument, SessionDocument]

function newOwner(): string {
  return `user-${randomToken()}`
}

/** Stores new sessions. */
async function createAll(
  bench: SuiteBench,
  store: CheckedStore,
  count: number,
  fields: Partial<SessionDocument>,
): Promise<SessionDocument[]> {
  const documents: SessionDocument[] = []
  while (documents.length < count) {
    const document = { ...newSession(bench.newId()), ...fields }
    await store.create(document)
    documents.push(document)
  }
  return documents
}

/** Sessions whose owners are as hostile as their IDs. A case before may have deleted an ID that cannot be random. */
async function createHostile(store: CheckedStore, ids: readonly string[]): Promise<SessionDocument[]> {
  const created: SessionDocument[] = []
  for (const [index, id] of ids.entries()) {
    const document = { ...newSession(id), owner: `${ids[ids.length - 1 - index]} owner` }
    if (await store.recreates(document)) created.push(document)
  }
  return created
}

function withoutOwner(document: SessionDocument): SessionDocument {
  const { owner: _owner, ...rest } = document
  return rest
}

function idsOf(sessions: readonly { readonly id: string }[]): string[] {
  return sessions.map(({ id }) => id).sort()
}

function expectSame(what: string, got: readonly string[], expected: readonly string[]): void {
  ensure(got.join() === expected.join(), `${what} to be ${expected.length} sessions, each once`, got)
}

/** The cases, in the order in which they are registered. */
export const listingCases: readonly SuiteCase[] = [
  {
    name: 'listing: a session is shown by these fields and no others',
    rule: rules.list,
    needs,
    async run(bench) {
      const store = await bench.open()
      const owner = newOwner()
      const [document] = (await createAll(bench, store, 1, { owner })) as [SessionDocument]
      const rows = await store.listsAll({ owner })
      const sorted = rows.map((row) => Object.entries(row).sort())
      const expected = [Object.entries(rowOf(document)).sort()]
      ensure(JSON.stringify(sorted) === JSON.stringify(expected), 'a row with the fields of the session', rows)
    },
  },
  {
    name: 'listing: an owner has its sessions and no others',
    rule: rules.list,
    needs,
    async run(bench) {
      const store = await bench.open()
      const [owner, other] = [newOwner(), newOwner()]
      const own = await createAll(bench, store, 3, { owner })
      await createAll(bench, store, 2, { owner: other })
      for (const nobody of [newOwner(), `${owner}x`, owner.slice(0, -1), owner.toUpperCase()]) {
        expectSame('the listing of another owner', idsOf(await store.listsAll({ owner: nobody })), [])
      }
      expectSame('the listing of an owner', idsOf(await store.listsAll({ owner })), idsOf(own))
    },
  },
  {
    name: 'listing: pages have at most as many sessions as the limit, and miss none',
    rule: rules.list,
    needs,
    async run(bench) {
      const store = await bench.open()
      const owner = newOwner()
      const own = await createAll(bench, store, 10, { owner })
      for (const limit of [1, 3, 10, 1_000]) {
        expectSame('all pages together', idsOf(await store.listsAll({ owner, limit })), idsOf(own))
      }
    },
  },
  {
    name: 'listing: without an owner it has all sessions, owned or not',
    rule: rules.list,
    needs,
    async run(bench) {
      const store = await bench.open()
      const own = await createAll(bench, store, 2, { owner: newOwner() })
      const ownerless = withoutOwner(newSession(bench.newId()))
      await store.create(ownerless)
      const expected = idsOf([...own, ownerless])
      const rows = await store.listsAll({ limit: 1_000 })
      const found = [...new Set(idsOf(rows).filter((id) => expected.includes(id)))]
      expectSame('those that were stored', found, expected)
      const shown = rows.find(({ id }) => id === ownerless.id)
      ensure(shown !== undefined && !('owner' in shown), 'a row without an owner', shown)
    },
  },
  {
    name: 'listing: it goes by flow, state and time of the last save',
    rule: rules.list,
    needs,
    async run(bench) {
      const store = await bench.open()
      const owner = newOwner()
      const [first] = (await createAll(bench, store, 1, { owner })) as [SessionDocument]
      const flow = { ...first.flow, name: 'Refund', currentStep: 'Pay' }
      const savedAt = '2020-01-01T00:00:00.000Z'
      const variants = [{ flow }, { runStatus: 'completed' as const }, { savedAt }, { flow, savedAt }]
      const documents: SessionDocument[] = []
      for (const fields of variants) documents.push(...(await createAll(bench, store, 1, { owner, ...fields })))
      const [ofFlow, ended, old, oldOfFlow] = documents as [...Four]
      const expectations: readonly [Partial<SessionListQuery>, readonly SessionDocument[]][] = [
        [{ flowName: 'Refund' }, [ofFlow, oldOfFlow]],
        [{ step: 'Pay' }, [ofFlow, oldOfFlow]],
        [{ step: 'Ask', flowName: 'Refund' }, []],
        [{ step: 'Pay', flowName: 'Refund', savedBefore: '2021-01-01T00:00:00.000Z' }, [oldOfFlow]],
        [{ runStatus: 'completed' }, [ended]],
        [{ runStatus: 'aborted' }, []],
        [{ savedBefore: '2020-01-01T00:00:00.001Z' }, [old, oldOfFlow]],
        [{ savedBefore: savedAt }, []],
        [{ savedBefore: '2021-01-01T00:00:00.000Z', flowName: 'Refund' }, [oldOfFlow]],
      ]
      for (const [query, expected] of expectations) {
        const rows = await store.listsAll({ owner, ...query })
        expectSame(`the listing of ${JSON.stringify(query)}`, idsOf(rows), idsOf(expected))
      }
    },
  },
  {
    name: 'listing: it shows what the last save made of a session',
    rule: rules.list,
    needs,
    async run(bench) {
      const store = await bench.open()
      const owner = newOwner()
      const [document] = (await createAll(bench, store, 1, { owner })) as [SessionDocument]
      await store.listsAll({ owner })
      const turn = nextTurn(document)
      const saved = { ...turn.document, runStatus: 'completed' as const, savedAt: '2030-01-01T00:00:00.000Z' }
      await store.save(saved, turn.expectedRevision, turn.hint)
      const [row] = await store.listsAll({ owner })
      const { runStatus, savedAt, turns } = row ?? {}
      const isSaved = runStatus === 'completed' && savedAt === saved.savedAt && turns === 2
      ensure(isSaved, 'the state, time and turns of the last save', row)
    },
  },
  {
    name: 'listing: a deleted session is gone, and one in its place is shown once',
    rule: rules.list,
    needs,
    async run(bench) {
      const store = await bench.open()
      const owner = newOwner()
      const own = await createAll(bench, store, 4, { owner })
      const [first, second, ...rest] = own as [SessionDocument, SessionDocument, ...SessionDocument[]]
      await store.delete(first.id, first.revision)
      await store.delete(second.id)
      expectSame('what was not deleted', idsOf(await store.listsAll({ owner })), idsOf(rest))
      const again = { ...newSession(first.id), owner, createdAt: '2030-01-01T00:00:00.000Z' }
      if (!(await store.recreates(again))) return
      expectSame('with one created again', idsOf(await store.listsAll({ owner })), idsOf([again, ...rest]))
    },
  },
  {
    name: 'listing: an ID of another owner is shown for that owner alone',
    rule: rules.list,
    needs,
    async run(bench) {
      const store = await bench.open()
      const [owner, other] = [newOwner(), newOwner()]
      const [document] = (await createAll(bench, store, 1, { owner })) as [SessionDocument]
      await store.refusesCreate({ ...newSession(document.id), owner: other })
      expectSame('after a creation that was refused', idsOf(await store.listsAll({ owner: other })), [])
      await store.delete(document.id)
      if (!(await store.recreates({ ...newSession(document.id), owner: other }))) return
      expectSame('of the owner before', idsOf(await store.listsAll({ owner })), [])
      expectSame('of the owner now', idsOf(await store.listsAll({ owner: other })), [document.id])
    },
  },
  {
    name: 'listing: what is there from the first page to the last is shown, whatever comes and goes',
    rule: rules.list,
    needs,
    async run(bench) {
      const store = await bench.open()
      const owner = newOwner()
      const staying = await createAll(bench, store, 20, { owner })
      const leaving = new Set(idsOf(await createAll(bench, store, 20, { owner })))
      let created = 0
      // What was shown goes, so that the others move up; one comes, and one is saved.
      const between = async (page: readonly SessionSummary[]): Promise<void> => {
        for (const { id } of page) if (leaving.delete(id)) await store.delete(id)
        if (created++ < 10) await createAll(bench, store, 1, { owner })
        const [saved, ...rest] = staying.splice(0) as [SessionDocument, ...SessionDocument[]]
        const turn = nextTurn(saved)
        await store.save(turn.document, turn.expectedRevision, turn.hint)
        staying.push(...rest, turn.document)
      }
      for (const query of [{ owner, limit: 3 }, { limit: 200 }]) {
        const rows = await store.listsAll(query, between)
        const shown = new Set(rows.map(({ id }) => id))
        const missed = staying.filter(({ id }) => !shown.has(id))
        ensure(missed.length === 0, 'every session that stayed to be shown', idsOf(missed))
      }
    },
  },
  {
    name: 'listing: every handle shows the same',
    rule: rules.list,
    needs,
    async run(bench) {
      const ours = await bench.open()
      const theirs = await bench.another(ours)
      const owner = newOwner()
      const own = [...(await createAll(bench, ours, 2, { owner })), ...(await createAll(bench, theirs, 2, { owner }))]
      for (const store of [ours, theirs]) {
        expectSame('the listing of a handle', idsOf(await store.listsAll({ owner })), idsOf(own))
      }
      const first = await ours.lists({ owner, limit: 3 })
      const { cursor } = first
      const rest = cursor === undefined ? [] : await theirs.listsAll({ owner, limit: 3, cursor })
      expectSame('a listing that another handle goes on with', idsOf([...first.sessions, ...rest]), idsOf(own))
      await ours.close()
      expectSame('after a restart', idsOf(await theirs.listsAll({ owner })), idsOf(own))
    },
  },
  {
    name: 'listing: hostile IDs and owners are shown as they are',
    rule: rules.list,
    needs,
    async run(bench) {
      const store = await bench.open()
      for (const { make } of hostileIds) {
        const ids = await make(randomToken())
        for (const { id, owner } of await createHostile(store, ids)) {
          const [row] = await store.listsAll({ owner: owner as string, limit: 1 })
          ensure(row?.id === id && row.owner === owner, 'the hostile ID of its owner', row?.id ?? 'nothing')
          await store.delete(id)
        }
      }
    },
  },
  {
    name: 'listing: an invalid cursor is refused',
    rule: rules.list,
    needs,
    async run(bench) {
      const store = await bench.open()
      const owner = newOwner()
      await createAll(bench, store, 2, { owner })
      for (const cursor of ['', 'x', '0', '{}', '%', '[]', '%5B%5D', '%5B1%2C2%2C3%5D', '\0', '[null]']) {
        const outcome = await store.tryList({ owner, limit: 1, cursor })
        if (outcome.kind !== 'trouble')
          fail(`the cursor ${JSON.stringify(cursor)} to be refused`, describeOutcome(outcome))
        const { code } = Object(outcome.error) as { code?: unknown }
        ensure(code === 'INVALID_INPUT', 'a rejection with the code INVALID_INPUT', describeOutcome(outcome))
      }
    },
  },
  {
    name: 'listing: what cannot be read is left out, and hides no other',
    rule: rules.list,
    needs: ['lists', 'corrupt'],
    async run(bench) {
      const store = await bench.open()
      const owner = newOwner()
      const own = await createAll(bench, store, 5, { owner })
      const [broken, ...rest] = own as [SessionDocument, ...SessionDocument[]]
      await bench.corrupt(broken.id, store)
      const reader = await bench.another(store)
      const rows = await reader.listsAll({ owner, limit: 2 })
      const others = rows.filter(({ id }) => id !== broken.id)
      expectSame('the others', idsOf(others), idsOf(rest))
      await reader.delete(broken.id)
      expectSame('after its removal', idsOf(await reader.listsAll({ owner })), idsOf(rest))
    },
  },
  {
    name: 'listing: after close it rejects',
    rule: rules.close,
    needs,
    async run(bench) {
      const store = await bench.open()
      await store.close()
      const outcome = await store.tryList({ limit: 1 })
      if (outcome.kind !== 'trouble') fail('list after close() to reject', describeOutcome(outcome))
    },
  },
  {
    name: 'listing: on a store that is down it rejects in time',
    rule: rules.outage,
    needs: ['lists', 'createUnreachable'],
    async run(bench) {
      const store = await bench.openUnreachable()
      for (const query of [{ limit: 1 }, { limit: 1, owner: newOwner() }]) {
        const outcome = await store.tryList(query)
        if (outcome.kind !== 'trouble') fail('list of a store that is down to reject', describeOutcome(outcome))
      }
    },
  },
]
