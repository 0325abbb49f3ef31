/** Cases of lists that lose entries at their start, with hints that are right, missing or wrong. */
import type { SessionDocument } from '../../../../src/index.js'
import type { CheckedStore } from '../bench/checked-store.js'
import { longSession, type NextTurn, nextTurn, withMemory } from '../bench/documents.js'
import { rules } from '../bench/rules.js'
import type { SuiteBench, SuiteCase } from '../bench/suite-case.js'

/** How many entries lists lose, by name: `history` or `memory:<namespace>`. */
type Removed = Readonly<Record<string, number>>

async function openWithTurns(bench: SuiteBench, turns = 6) {
  const store = await bench.open()
  const first = longSession(bench.newId(), turns)
  await store.create(first)
  return { store, first: await store.load(first.id) }
}

function without(document: SessionDocument, removed: Removed): SessionDocument {
  const memory = Object.entries(document.flow.memory).map(([name, { messages }]) => {
    return [name, { messages: messages.slice(removed[`memory:${name}`] ?? 0) }] as const
  })
  const history = Object.freeze(document.history.slice(removed.history ?? 0))
  return { ...withMemory(document, Object.fromEntries(memory)), history }
}

/** The same turn, whose lists lost their first entries before it appended; the hint says so. */
function cut(turn: NextTurn, removed: Removed): NextTurn {
  return { ...turn, document: without(turn.document, removed), hint: { ...turn.hint, removed } }
}

/** The next save of a session, which appends nothing. */
function cutOnly(base: SessionDocument, removed: Removed): NextTurn {
  const { document, expectedRevision } = nextTurn(base)
  return {
    document: without({ ...base, revision: document.revision }, removed),
    expectedRevision,
    hint: { appended: {}, removed },
  }
}

async function save(store: CheckedStore, { document, expectedRevision, hint }: NextTurn): Promise<SessionDocument> {
  await store.save(document, expectedRevision, hint)
  return document
}

/** Takes one more turn, and expects every handle to give the result. */
async function goOn(bench: SuiteBench, store: CheckedStore, sessionId: string): Promise<void> {
  const last = await save(store, nextTurn(await store.load(sessionId)))
  for (const handle of [store, await bench.another(store)]) await handle.holds(last)
}

/** Changes the hint of a save that cuts two messages and two turns, and expects the given document nevertheless. */
function hintCase(what: string, change: (hint: NextTurn['hint']) => NextTurn['hint'] | undefined): SuiteCase {
  return {
    name: `cut: ${what}`,
    rule: rules.hint,
    async run(bench) {
      const { store, first } = await openWithTurns(bench)
      const { document, expectedRevision, hint } = cut(nextTurn(first), { history: 2, 'memory:Ask': 2 })
      await store.save(document, expectedRevision, change(hint))
      for (const handle of [store, await bench.another(store)]) await handle.holds(document)
      await goOn(bench, store, first.id)
    },
  }
}

/** The cases, in the order in which they are registered. */
export const cutCases: readonly SuiteCase[] = [
  {
    name: 'cut: lists lose their first entries and gain new ones in one save',
    rule: rules.hint,
    async run(bench) {
      for (const count of [1, 2, 5]) {
        const { store, first } = await openWithTurns(bench)
        const last = await save(store, cut(nextTurn(first), { history: count, 'memory:Ask': count }))
        for (const handle of [store, await bench.another(store)]) await handle.holds(last)
        await goOn(bench, store, first.id)
      }
    },
  },
  {
    name: 'cut: a save that only cuts',
    rule: rules.hint,
    async run(bench) {
      const { store, first } = await openWithTurns(bench)
      let last = await save(store, cutOnly(first, { history: 1 }))
      await store.holds(last)
      last = await save(store, cutOnly(await store.load(first.id), { 'memory:Ask': 3 }))
      for (const handle of [store, await bench.another(store)]) await handle.holds(last)
      await goOn(bench, store, first.id)
    },
  },
  {
    name: 'cut: lists that lose everything stay, and go on',
    rule: rules.hint,
    async run(bench) {
      for (const make of [cutOnly, (base: SessionDocument, removed: Removed) => cut(nextTurn(base), removed)]) {
        const { store, first } = await openWithTurns(bench, 3)
        const last = await save(store, make(first, { history: 3, 'memory:Ask': 6 }))
        for (const handle of [store, await bench.another(store)]) await handle.holds(last)
        await goOn(bench, store, first.id)
      }
    },
  },
  {
    name: 'cut: again and again, by two handles in turn, until nothing of the first list is left',
    rule: rules.hint,
    async run(bench) {
      const { store, first } = await openWithTurns(bench, 3)
      const other = await bench.another(store)
      for (let round = 0; round < 24; round++) {
        const handle = [store, store, other][round % 3] as CheckedStore
        const turn = nextTurn(await handle.load(first.id), { namespaces: round % 4 === 0 ? ['Ask', 'Plan'] : ['Ask'] })
        const removed = { history: round % 2 === 0 ? 2 : 0, 'memory:Ask': round % 5 === 0 ? 7 : round % 2 }
        const last = await save(handle, cut(turn, removed))
        for (const each of [store, other]) await each.holds(last)
      }
      await goOn(bench, store, first.id)
    },
  },
  {
    name: 'cut: what another handle cut and appended is seen by one that knew the list before',
    rule: rules.handles,
    async run(bench) {
      const { store, first } = await openWithTurns(bench)
      const other = await bench.another(store)
      // First a little less than all that the first handle knows, then more than that.
      for (const removed of [
        { history: 5, 'memory:Ask': 11 },
        { history: 4, 'memory:Ask': 5 },
      ]) {
        await other.load(first.id)
        for (let count = 0; count < 3; count++) await save(other, nextTurn(await other.load(first.id)))
        const last = await save(other, cut(nextTurn(await other.load(first.id)), removed))
        await store.holds(last)
        await goOn(bench, store, first.id)
      }
    },
  },
  {
    name: 'cut: a save that is refused cuts nothing, and one that is repeated cuts once',
    rule: rules.save,
    async run(bench) {
      const { store, first } = await openWithTurns(bench)
      const other = await bench.another(store)
      const late = cut(nextTurn(first), { history: 3, 'memory:Ask': 3 })
      const theirs = await save(other, nextTurn(await other.load(first.id)))
      await store.refusesSave(late.document, late.expectedRevision, late.hint)
      for (const handle of [store, other]) await handle.holds(theirs)
      const turn = cut(nextTurn(await store.load(first.id)), { history: 1, 'memory:Ask': 1 })
      for (const handle of [store, other, store]) await save(handle, turn)
      for (const handle of [store, other]) await handle.holds(turn.document)
      await goOn(bench, other, first.id)
    },
  },
  {
    name: 'cut: one list is cut, and another one is rewritten',
    rule: rules.hint,
    async run(bench) {
      const { store, first } = await openWithTurns(bench)
      const { document, expectedRevision, hint } = cut(nextTurn(first), { history: 2, 'memory:Ask': 4 })
      const rewritten = { appended: { history: 1 }, removed: { history: 2 }, rewritten: ['memory:Ask'] }
      await save(store, { document, expectedRevision, hint: rewritten })
      for (const handle of [store, await bench.another(store)]) await handle.holds(document)
      const again = { ...hint, rewritten: ['memory:Ask'], removed: { history: 1, 'memory:Ask': 1 } }
      const turn = { ...cut(nextTurn(await store.load(first.id)), again.removed), hint: again }
      await save(store, turn)
      for (const handle of [store, await bench.another(store)]) await handle.holds(turn.document)
      await goOn(bench, store, first.id)
    },
  },
  hintCase('without a hint', () => undefined),
  hintCase('with a hint that does not mention it', ({ appended }) => ({ appended })),
  hintCase('with a hint that counts too few removed entries', (hint) => ({ ...hint, removed: { history: 1 } })),
  hintCase('with a hint that counts too many removed entries', (hint) => ({
    ...hint,
    removed: { history: 3, 'memory:Ask': 99 },
  })),
  hintCase('with a hint whose counts agree in their sum only', ({ appended }) => ({
    appended: { ...appended, history: 2, 'memory:Ask': 4 },
    removed: { history: 3, 'memory:Ask': 4 },
  })),
  hintCase('with a hint that names lists that are not there', (hint) => ({
    ...hint,
    removed: { ...hint.removed, 'memory:Unknown': 2, attachments: 1, constructor: 1 },
  })),
]
