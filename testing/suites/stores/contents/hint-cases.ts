/** Cases of the append hint: it may save work, and never changes what is stored. */
import type { SessionDocument } from '../../../../src/index.js'
import { describeOutcome, ensure, outcomeOf } from '../../cases/failure.js'
import type { CheckedStore } from '../bench/checked-store.js'
import { longSession, type NextTurn, nextTurn, textMessage, withMemory } from '../bench/documents.js'
import { rules } from '../bench/rules.js'
import type { SuiteBench, SuiteCase } from '../bench/suite-case.js'

async function openWithTurns(bench: SuiteBench, turns = 5) {
  const store = await bench.open()
  const first = longSession(bench.newId(), turns)
  await store.create(first)
  await store.holds(first)
  return { store, first: await store.load(first.id) }
}

/** The document with the texts of its lists rewritten, and as many entries as before. */
function rewritten(document: SessionDocument): SessionDocument {
  const history = Object.freeze(document.history.map((entry) => Object.freeze({ ...entry, reply: 'Rewritten.' })))
  const messages = (document.flow.memory.Ask?.messages ?? []).map(({ turn }) => textMessage('user', 'Rewritten.', turn))
  return { ...withMemory(document, { ...document.flow.memory, Ask: { messages } }), history }
}

/** The document with only the last entries of its lists. */
function shortened(document: SessionDocument, kept: number): SessionDocument {
  const messages = document.flow.memory.Ask?.messages ?? []
  const memory = { ...document.flow.memory, Ask: { messages: messages.slice(-kept) } }
  return { ...withMemory(document, memory), history: Object.freeze(document.history.slice(-kept)) }
}

/** The same turn with the first entries of `Ask` cut off, and something in their place; the hint says so. */
function cutAsk({ document, expectedRevision, hint }: NextTurn): NextTurn {
  const { Ask, ...rest } = document.flow.memory
  const messages = [textMessage('user', 'What was said before.', 1), ...(Ask?.messages ?? []).slice(-2)]
  const { 'memory:Ask': _, ...appended } = hint.appended
  return {
    document: withMemory(document, { ...rest, Ask: { messages } }),
    expectedRevision,
    hint: { appended, rewritten: ['memory:Ask'] },
  }
}

/** The same document, to be saved once more. */
function nextRevisionOf(document: SessionDocument): SessionDocument {
  return { ...document, revision: nextTurn(document).document.revision }
}

/** Saves a turn that both namespaces get. */
async function saveTurn(store: CheckedStore, sessionId: string): Promise<SessionDocument> {
  const turn = nextTurn(await store.load(sessionId), { namespaces: ['Ask', 'Plan'] })
  await store.save(turn.document, turn.expectedRevision, turn.hint)
  return turn.document
}

/** The cases, in the order in which they are registered. */
export const hintCases: readonly SuiteCase[] = [
  {
    name: 'hint: a save with a right hint stores exactly the given document',
    rule: rules.hint,
    async run(bench) {
      const { store, first } = await openWithTurns(bench)
      const turn = nextTurn(first, { namespaces: ['Ask', 'New'] })
      await store.save(turn.document, turn.expectedRevision, turn.hint)
      await store.holds(turn.document)
    },
  },
  {
    name: 'hint: a save without a hint stores exactly the given document',
    rule: rules.hint,
    async run(bench) {
      const { store, first } = await openWithTurns(bench)
      const turn = nextTurn(first, { namespaces: ['Ask', 'New'] })
      await store.save(turn.document, turn.expectedRevision)
      await store.holds(turn.document)
    },
  },
  {
    name: 'hint: undefined is none',
    rule: rules.hint,
    async run(bench) {
      const { store, first } = await openWithTurns(bench)
      const turn = nextTurn(first)
      const save = () => store.store.save(turn.document, turn.expectedRevision, undefined)
      const outcome = await outcomeOf(save)
      ensure(outcome.kind === 'done', 'save(document, revision, undefined) to succeed', describeOutcome(outcome))
      await store.holds(turn.document)
    },
  },
  {
    name: 'hint: saves with and without a hint take turns',
    rule: rules.hint,
    async run(bench) {
      const { store, first } = await openWithTurns(bench)
      let last = first
      for (let count = 0; count < 12; count++) {
        const { document, expectedRevision, hint } = nextTurn(count % 3 === 0 ? await store.load(first.id) : last)
        await store.save(document, expectedRevision, count % 2 === 0 ? hint : undefined)
        await store.holds(document)
        last = document
      }
    },
  },
  {
    name: 'hint: one that names no list, or one that gained nothing',
    rule: rules.hint,
    async run(bench) {
      const { store, first } = await openWithTurns(bench)
      const turn = nextTurn(first, { namespaces: [] })
      // The engine names each namespace that a turn read, also one that does not exist.
      const hint = { appended: { ...turn.hint.appended, 'memory:Ask': 0, 'memory:Unknown': 0 } }
      await store.save(turn.document, turn.expectedRevision, hint)
      await store.holds(turn.document)
      const { revision } = nextTurn(turn.document).document
      const headOnly = { ...turn.document, revision, runStatus: 'aborted' as const, error: ['It failed.'] }
      await store.save(headOnly, turn.document.revision, { appended: {} })
      await store.holds(headOnly)
    },
  },
  {
    name: 'hint: several entries of one list in one save',
    rule: rules.hint,
    async run(bench) {
      const { store, first } = await openWithTurns(bench)
      const second = nextTurn(first)
      const third = nextTurn(second.document)
      const hint = { appended: { history: 2, 'memory:Ask': 4 } }
      await store.save(third.document, first.revision, hint)
      await store.holds(third.document)
    },
  },
  {
    name: 'hint: a save after another handle appended keeps both',
    rule: rules.hint,
    async run(bench) {
      const { store, first } = await openWithTurns(bench)
      const other = await bench.another(store)
      const theirs = nextTurn(await other.load(first.id), { message: 'Theirs', namespaces: ['Ask', 'Theirs'] })
      await other.save(theirs.document, theirs.expectedRevision, theirs.hint)
      const ours = nextTurn(await store.load(first.id), { message: 'Ours', namespaces: ['Ask', 'Theirs'] })
      await store.save(ours.document, ours.expectedRevision, ours.hint)
      for (const handle of [store, other, await bench.another(store)]) await handle.holds(ours.document)
    },
  },
  {
    name: 'hint: a save that was refused leaves no entry for the next one',
    rule: rules.hint,
    async run(bench) {
      const { store, first } = await openWithTurns(bench)
      const other = await bench.another(store)
      const refused = nextTurn(first, { message: 'Refused' })
      const theirs = nextTurn(await other.load(first.id), { message: 'Theirs' })
      await other.save(theirs.document, theirs.expectedRevision, theirs.hint)
      await store.refusesSave(refused.document, refused.expectedRevision, refused.hint)
      await store.holds(theirs.document)
      const ours = nextTurn(await store.load(first.id), { message: 'Ours' })
      await store.save(ours.document, ours.expectedRevision, ours.hint)
      await store.holds(ours.document)
      await other.holds(ours.document)
    },
  },
  {
    name: 'hint: a save that is repeated appends once',
    rule: rules.hint,
    async run(bench) {
      const { store, first } = await openWithTurns(bench)
      const other = await bench.another(store)
      const turn = nextTurn(first)
      for (const handle of [store, other, store]) await handle.save(turn.document, turn.expectedRevision, turn.hint)
      for (const handle of [store, other]) await handle.holds(turn.document)
    },
  },
  {
    name: 'hint: lists that shrank without one are stored as given',
    rule: rules.save,
    async run(bench) {
      const { store, first } = await openWithTurns(bench)
      const document = shortened(nextTurn(first).document, 2)
      await store.save(document, first.revision)
      await store.holds(document)
      const turn = nextTurn(await store.load(first.id))
      await store.save(turn.document, turn.expectedRevision, turn.hint)
      await store.holds(turn.document)
      await (await bench.another(store)).holds(turn.document)
    },
  },
  {
    name: 'hint: lists that were emptied without one are stored as given',
    rule: rules.save,
    async run(bench) {
      const { store, first } = await openWithTurns(bench)
      const document = { ...withMemory(nextTurn(first).document, {}), history: Object.freeze([]) }
      await store.save(document, first.revision)
      await store.holds(document)
      const turn = nextTurn(await store.load(first.id))
      await store.save(turn.document, turn.expectedRevision, turn.hint)
      await store.holds(turn.document)
    },
  },
  {
    name: 'hint: lists that were rewritten without one are stored as given',
    rule: rules.save,
    async run(bench) {
      const { store, first } = await openWithTurns(bench)
      const document = { ...rewritten(first), revision: nextTurn(first).document.revision }
      await store.save(document, first.revision)
      await store.holds(document)
      const turn = nextTurn(await store.load(first.id))
      await store.save(turn.document, turn.expectedRevision, turn.hint)
      await store.holds(turn.document)
    },
  },
  {
    name: 'hint: lists that are copies of the loaded ones are stored as given',
    rule: rules.hint,
    async run(bench) {
      const { store, first } = await openWithTurns(bench)
      let last = first
      for (let count = 0; count < 3; count++) {
        const turn = nextTurn(structuredClone(last))
        await store.save(structuredClone(turn.document), turn.expectedRevision, turn.hint)
        await store.holds(turn.document)
        last = turn.document
      }
      await (await bench.another(store)).holds(last)
    },
  },
  {
    name: 'hint: one that counts too few entries loses none',
    rule: rules.hint,
    async run(bench) {
      const { store, first } = await openWithTurns(bench)
      // This happens if a step was renamed: the namespace is new to the store, and the hint counts only this turn's
      // messages.
      const { Ask, ...rest } = first.flow.memory
      const renamed = withMemory(first, { ...rest, Asking: { messages: Ask?.messages ?? [] } })
      const turn = nextTurn(renamed, { namespaces: ['Asking'] })
      await store.save(turn.document, first.revision, turn.hint)
      await store.holds(turn.document)
      await (await bench.another(store)).holds(turn.document)
    },
  },
  {
    name: 'hint: one beside lists that were cut or rewritten is not believed',
    rule: rules.hint,
    async run(bench) {
      // This happens if a flow's onRestore changed what was loaded, before the turn appended.
      const changes = [rewritten, (document: SessionDocument) => shortened(document, 2)]
      for (const change of changes) {
        const { store, first } = await openWithTurns(bench)
        const turn = nextTurn(change(first))
        await store.save(turn.document, first.revision, turn.hint)
        await store.holds(turn.document)
        await (await bench.another(store)).holds(turn.document)
      }
    },
  },
  {
    name: 'hint: a list that was cut and is named is stored as given, and the others go on',
    rule: rules.hint,
    async run(bench) {
      const { store, first } = await openWithTurns(bench)
      const other = await bench.another(store)
      let last = first
      // Longer than before, and cut again: what is left of the first list must not come back.
      for (const turns of [1, 6, 3]) {
        for (let count = 0; count < turns; count++) last = await saveTurn(count % 2 === 0 ? store : other, first.id)
        const cut = cutAsk(nextTurn(last, { namespaces: ['Plan'] }))
        await store.save(cut.document, cut.expectedRevision, cut.hint)
        last = cut.document
        for (const handle of [store, other, await bench.another(store)]) await handle.holds(last)
      }
    },
  },
  {
    name: 'hint: a save that only cuts a list stores it once, or not at all',
    rule: rules.hint,
    async run(bench) {
      const { store, first } = await openWithTurns(bench)
      const other = await bench.another(store)
      const late = cutAsk(nextTurn(first))
      const theirs = await saveTurn(other, first.id)
      await store.refusesSave(late.document, late.expectedRevision, late.hint)
      await store.holds(theirs)
      const { document, expectedRevision } = cutAsk({ ...nextTurn(theirs), document: nextRevisionOf(theirs) })
      const hint = { appended: {}, rewritten: ['memory:Ask'] }
      for (const handle of [other, store, other]) await handle.save(document, expectedRevision, hint)
      for (const handle of [other, store]) await handle.holds(document)
      await store.holds(await saveTurn(store, first.id))
    },
  },
  {
    name: 'hint: a list that is named and was not there, or is as it was',
    rule: rules.hint,
    async run(bench) {
      const { store, first } = await openWithTurns(bench)
      const turn = nextTurn(first, { namespaces: ['New'] })
      const hint = { appended: { history: 1 }, rewritten: ['memory:Ask', 'memory:New', 'memory:Unknown'] }
      await store.save(turn.document, turn.expectedRevision, hint)
      await store.holds(turn.document)
      const last = await saveTurn(store, first.id)
      for (const handle of [store, await bench.another(store)]) await handle.holds(last)
    },
  },
  {
    name: 'hint: a save by a handle that never loaded the session',
    rule: rules.hint,
    async run(bench) {
      const { store, first } = await openWithTurns(bench)
      const other = await bench.another(store)
      const turn = nextTurn(first)
      await other.save(turn.document, turn.expectedRevision, turn.hint)
      await store.holds(turn.document)
      await other.holds(turn.document)
    },
  },
]
