/** Cases of several handles on the same data, as several processes have them, or one process after a restart. */
import type { SessionDocument } from '../../../../src/index.js'
import { ensure } from '../../cases/failure.js'
import type { CheckedStore } from '../bench/checked-store.js'
import { newSession, nextTurn } from '../bench/documents.js'
import { rules } from '../bench/rules.js'
import type { SuiteBench, SuiteCase } from '../bench/suite-case.js'

/** Two handles, both of which have loaded a session. */
async function openTwo(bench: SuiteBench) {
  const ours = await bench.open()
  const theirs = await bench.another(ours)
  const first = newSession(bench.newId())
  await ours.create(first)
  for (const handle of [ours, theirs]) await handle.holds(first)
  return { ours, theirs, first }
}

/** One more turn over a handle, from a fresh load. */
async function addTurn(handle: CheckedStore, sessionId: string, message: string): Promise<SessionDocument> {
  const turn = nextTurn(await handle.load(sessionId), { message })
  await handle.save(turn.document, turn.expectedRevision, turn.hint)
  return turn.document
}

/** The cases, in the order in which they are registered. */
export const handleCases: readonly SuiteCase[] = [
  {
    name: 'handles: what one stores the other loads, saves and deletes',
    rule: rules.handles,
    async run(bench) {
      const { ours, theirs, first } = await openTwo(bench)
      await ours.holds(await addTurn(theirs, first.id, 'Theirs'))
      const last = await addTurn(ours, first.id, 'Ours')
      await theirs.holds(last)
      await theirs.delete(first.id, last.revision)
      await ours.holdsNothing(first.id)
      await ours.delete(first.id, last.revision)
    },
  },
  {
    name: 'handles: sessions survive a restart',
    rule: rules.handles,
    async run(bench) {
      const { ours, theirs, first } = await openTwo(bench)
      const second = await addTurn(ours, first.id, 'Before the restart')
      await ours.close()
      await theirs.holds(second)
      await theirs.holds(await addTurn(theirs, first.id, 'After the restart'))
    },
  },
  {
    name: 'handles: one that never saw a session does not take it for missing',
    rule: rules.handles,
    async run(bench) {
      const ours = await bench.open()
      const theirs = await bench.another(ours)
      const sessionId = bench.newId()
      await theirs.holdsNothing(sessionId)
      const first = newSession(sessionId)
      await ours.create(first)
      await theirs.holds(first)
      await theirs.refusesCreate(newSession(sessionId))
    },
  },
  {
    name: 'handles: one that loaded before the other saved is stale, and its save a conflict',
    rule: rules.handles,
    async run(bench) {
      const { ours, theirs, first } = await openTwo(bench)
      const stale = nextTurn(await theirs.load(first.id), { message: 'Too late' })
      const second = await addTurn(ours, first.id, 'Ours')
      await theirs.refusesSave(stale.document, stale.expectedRevision, stale.hint)
      await theirs.refusesDelete(first.id, first.revision)
      for (const handle of [ours, theirs]) await handle.holds(second)
    },
  },
  {
    name: 'handles: one that saved last is stale after the other saved',
    rule: rules.handles,
    async run(bench) {
      const { ours, theirs, first } = await openTwo(bench)
      const second = await addTurn(ours, first.id, 'Ours')
      const third = await addTurn(theirs, first.id, 'Theirs')
      const stale = nextTurn(second, { message: 'Too late' })
      await ours.refusesSave(stale.document, stale.expectedRevision, stale.hint)
      for (const handle of [ours, theirs]) await handle.holds(third)
    },
  },
  {
    name: 'handles: one that knows a session sees that the other deleted it',
    rule: rules.handles,
    async run(bench) {
      const { ours, theirs, first } = await openTwo(bench)
      const stale = nextTurn(await theirs.load(first.id))
      await ours.delete(first.id, first.revision)
      await theirs.holdsNothing(first.id)
      await theirs.refusesSave(stale.document, stale.expectedRevision, stale.hint)
      for (const handle of [ours, theirs]) await handle.holdsNothing(first.id)
    },
  },
  {
    name: 'handles: one that knows a session sees the one that the other made in its place',
    rule: rules.handles,
    async run(bench) {
      const { ours, theirs, first } = await openTwo(bench)
      const longer = await addTurn(theirs, first.id, 'Before')
      await theirs.holds(longer)
      const stale = nextTurn(longer, { message: 'Too late' })
      await ours.delete(first.id, longer.revision)
      const recreated = newSession(first.id, { message: 'A new beginning', namespaces: ['Ask', 'Plan'] })
      if (!(await ours.recreates(recreated))) return
      await theirs.refusesSave(stale.document, stale.expectedRevision, stale.hint)
      await theirs.holds(recreated)
      const last = await addTurn(theirs, first.id, 'After')
      for (const handle of [ours, theirs]) await handle.holds(last)
    },
  },
  {
    name: 'handles: one that knows a session sees a new one as long as the old',
    rule: rules.handles,
    async run(bench) {
      const { ours, theirs, first } = await openTwo(bench)
      const old = await addTurn(theirs, first.id, 'Old')
      await theirs.holds(old)
      await ours.delete(first.id)
      const recreated = nextTurn(newSession(first.id, { message: 'New' }), { message: 'New, too' }).document
      if (!(await ours.recreates(recreated))) return
      await theirs.holds(recreated)
      const last = await addTurn(theirs, first.id, 'Newer')
      for (const handle of [ours, theirs, await bench.another(ours)]) await handle.holds(last)
    },
  },
  {
    name: 'handles: fifty turns over two in turn read the same from both',
    rule: rules.handles,
    async run(bench) {
      const { ours, theirs, first } = await openTwo(bench)
      let last = first
      for (let count = 0; count < 50; count++) {
        const [writer, reader] = count % 2 === 0 ? [ours, theirs] : [theirs, ours]
        last = await addTurn(writer, first.id, `Turn ${count}`)
        if (count % 5 === 0) await reader.holds(last)
      }
      for (const handle of [ours, theirs, await bench.another(ours)]) await handle.holds(last)
      ensure(last.history.length === 51, '51 turns', last.history.length)
    },
  },
  {
    name: 'handles: one that is far behind catches up',
    rule: rules.handles,
    async run(bench) {
      const { ours, theirs, first } = await openTwo(bench)
      let last = first
      for (let count = 0; count < 40; count++) last = await addTurn(ours, first.id, `Turn ${count}`)
      await theirs.holds(last)
      last = await addTurn(theirs, first.id, 'Theirs')
      await ours.holds(last)
    },
  },
]
