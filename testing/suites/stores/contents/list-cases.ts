/** Cases of the lists that a document may have beside its history and messages, and of both versions of documents. */
import type { SessionDocument, SessionSaveHint } from '../../../../src/index.js'
import type { CheckedStore } from '../bench/checked-store.js'
import { freezeDeep, newSession, nextTurn } from '../bench/documents.js'
import { rules } from '../bench/rules.js'
import type { SuiteBench, SuiteCase } from '../bench/suite-case.js'

/** The lists of a document, as a store must take them: plain JSON. */
interface Lists {
  readonly attachments?: readonly object[]
  readonly receipts?: readonly object[]
  readonly effects?: Readonly<Record<string, object>>
}

/** The document with its lists replaced by these. */
function withLists(document: SessionDocument, lists: Lists): SessionDocument {
  return { ...document, ...freezeDeep(lists) } as unknown as SessionDocument
}

/** Lists of that many entries each, beginning with a number. */
function listsOf(from: number, count: number): Required<Lists> {
  const numbers = Array.from({ length: count }, (_, index) => from + index)
  return {
    attachments: numbers.map((turn) => ({ id: `photo-${turn}`, turn, data: 'iVBORw0KGgo='.repeat(turn) })),
    receipts: numbers.map((turn) => ({ key: `key-${turn}`, request: `digest-${turn}`, turn })),
    effects: Object.fromEntries(numbers.map((turn) => [`effect ${turn}`, { begunAt: `at ${turn}`, attempts: turn }])),
  }
}

/** Entries of a list of `document` as they are, so that a store can know them, and new ones after them. */
function grown(document: SessionDocument, from: number, removed: number): Lists {
  const { attachments = [], receipts = [], effects = {} } = document as unknown as Lists
  const added = listsOf(from, 1)
  return {
    attachments: [...attachments.slice(removed), ...added.attachments],
    receipts: [...receipts.slice(removed), ...added.receipts],
    effects: { ...Object.fromEntries(Object.entries(effects).slice(removed)), ...added.effects },
  }
}

/**
 * Saves documents one after the other, each with the lists that `lists` makes of the one before, through two handles.
 */
async function saveAll(
  bench: SuiteBench,
  first: Lists,
  ...next: ((stored: SessionDocument) => Lists)[]
): Promise<void> {
  const store = await bench.open()
  const created = withLists(newSession(bench.newId()), first)
  await store.create(created)
  await store.holds(created)
  const other = await bench.another(store)
  for (const [index, lists] of next.entries()) {
    const handle = index % 3 === 2 ? other : store
    const loaded = await handle.load(created.id)
    const { document, expectedRevision, hint } = nextTurn(loaded)
    const saved = withLists(document, lists(loaded))
    await handle.save(saved, expectedRevision, { ...hint, ...hintOf(hint, loaded, saved) })
    for (const each of [store, other, await bench.another(store)]) await each.holds(saved)
  }
}

/** The hint, including the changes of the other lists. */
function hintOf(hint: SessionSaveHint, before: SessionDocument, after: SessionDocument): SessionSaveHint {
  const appended = { ...hint.appended }
  const removed: Record<string, number> = {}
  for (const name of ['attachments', 'receipts'] as const) {
    const [old, now] = [entriesOf(before, name), entriesOf(after, name)]
    const kept = old.filter((entry) => now.includes(entry)).length
    removed[name] = old.length - kept
    appended[name] = now.length - kept
  }
  return { appended, removed }
}

function entriesOf(document: SessionDocument, name: 'attachments' | 'receipts'): readonly object[] {
  return (document as unknown as Lists)[name] ?? []
}

/** Saves a turn whose document has none of the lists. @param hinted - Those that the hint says something of. */
async function loseLists(store: CheckedStore, id: string, hinted: readonly string[]): Promise<SessionDocument> {
  const loaded = await store.load(id)
  const { document, expectedRevision, hint } = nextTurn(loaded)
  const {
    attachments = [],
    receipts = [],
    effects: _,
    ...rest
  } = document as unknown as Lists & Record<string, unknown>
  const all = { attachments: attachments.length, receipts: receipts.length }
  const removed = Object.fromEntries(Object.entries(all).filter(([name]) => hinted.includes(name)))
  const without = rest as unknown as SessionDocument
  await store.save(without, expectedRevision, { ...hint, removed })
  return without
}

/** The cases, in the order in which they are registered. */
export const listCases: readonly SuiteCase[] = [
  {
    name: 'lists: attachments, receipts and effects come back as they were given',
    rule: rules.json,
    run: (bench) => saveAll(bench, listsOf(1, 3), (document) => document as unknown as Lists),
  },
  {
    name: 'lists: they grow, and lose their first entries',
    rule: rules.hint,
    run: (bench) =>
      saveAll(
        bench,
        listsOf(1, 2),
        ...Array.from(
          { length: 8 },
          (_, index) => (document: SessionDocument) => grown(document, index + 3, index % 3),
        ),
      ),
  },
  {
    name: 'lists: those that are absent stay absent, those that are empty stay empty',
    rule: rules.json,
    async run(bench) {
      await saveAll(bench, {}, () => ({}))
      await saveAll(bench, { attachments: [], receipts: [], effects: {} }, () => ({ attachments: [], effects: {} }))
    },
  },
  {
    name: 'lists: they come with a later turn, and lose everything',
    rule: rules.hint,
    run: (bench) =>
      saveAll(
        bench,
        {},
        () => listsOf(1, 2),
        () => ({ attachments: [], receipts: [], effects: {} }),
        (document) => grown(document, 5, 0),
        (document) => grown(document, 6, 0),
      ),
  },
  {
    name: 'lists: one that a document no longer has is gone, and may come again',
    rule: rules.json,
    async run(bench) {
      const store = await bench.open()
      const first = withLists(newSession(bench.newId()), listsOf(1, 3))
      await store.create(first)
      for (const hinted of [['attachments', 'receipts'], ['attachments']]) {
        const gone = await loseLists(store, first.id, hinted)
        for (const handle of [store, await bench.another(store)]) await handle.holds(gone)
        const { document, expectedRevision, hint } = nextTurn(await store.load(first.id))
        const again = withLists(document, listsOf(5, 2))
        const appended = { ...hint.appended, attachments: 2, receipts: 2 }
        await store.save(again, expectedRevision, { appended })
        for (const handle of [store, await bench.another(store)]) await handle.holds(again)
      }
    },
  },
  {
    name: 'lists: an effect that changed between two that did not, and names that a record may have',
    rule: rules.hint,
    run: (bench) => {
      const names = { 7: { n: 1 }, 'a b': { n: 2 }, constructor: { n: 3 }, ['__proto__']: { n: 4 }, '': { n: 5 } }
      const effects = Object.fromEntries(Object.entries(names))
      return saveAll(
        bench,
        { effects },
        () => ({ effects: { ...effects, 'a b': { n: 9, deep: [{ list: [1, null] }] } } }),
        () => ({ effects: { ...effects, z: { n: 6 } } }),
        () => ({ effects: { ...effects, z: { n: 6 }, y: {} } }),
      )
    },
  },
  {
    name: 'lists: a document of either version',
    rule: rules.json,
    async run(bench) {
      for (const version of [1, 2]) {
        const store = await bench.open()
        const { document } = nextTurn(newSession(bench.newId()))
        const history = document.history.map((entry, index) => ({ ...entry, id: `turn-${index}` }))
        const flow = { ...document.flow, contentType: 'text/markdown' }
        const fields = version === 1 ? { version } : { version, turns: 40, history: freezeDeep(history), flow }
        const given = { ...document, ...fields } as SessionDocument
        await store.create(given)
        await store.holds(given)
        const turn = nextTurn(await store.load(given.id))
        await store.save(turn.document, turn.expectedRevision, turn.hint)
        for (const handle of [store, await bench.another(store)]) await handle.holds(turn.document)
      }
    },
  },
]
