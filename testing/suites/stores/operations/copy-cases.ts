/** Cases of sharing: a store and its callers share nothing that can change. */
import type { SessionDocument } from '../../../../src/index.js'
import { fail } from '../../cases/failure.js'
import { findDifference, throughJson } from '../../cases/same-json.js'
import { freezeDeep, newSession, nextTurn, withContext } from '../bench/documents.js'
import { rules } from '../bench/rules.js'
import type { SuiteCase } from '../bench/suite-case.js'

/** A session with something to change at each depth. */
function richSession(id: string): SessionDocument {
  const document = withContext(newSession(id), { config: { list: [1, { deep: true }], text: 'text' } })
  const steps = { Plan: { state: { seats: [1, 2, { row: 3 }] }, model: { provider: 'openai', name: 'small' } } }
  return { ...document, error: ['The first failure.'], flow: { ...document.flow, steps } }
}

/** Changes everything that can be changed: frozen lists may be shared, and do not change. */
function spoil(value: unknown): void {
  if (typeof value !== 'object' || value === null) return
  for (const key of Object.keys(value)) spoil((value as Record<string, unknown>)[key])
  if (Object.isFrozen(value)) return
  if (Array.isArray(value)) {
    value.reverse()
    value.push('spoilt')
    return
  }
  const object = value as Record<string, unknown>
  for (const key of Object.keys(object)) object[key] = 'spoilt'
  object.spoilt = true
}

/** The cases, in the order in which they are registered. */
export const copyCases: readonly SuiteCase[] = [
  {
    name: 'a loaded document is safe to change',
    rule: rules.copies,
    async run(bench) {
      const store = await bench.open()
      const document = richSession(bench.newId())
      await store.create(document)
      const expected = throughJson(document)
      for (let count = 0; count < 3; count++) {
        spoil(await store.load(document.id))
        await store.holds(expected)
      }
    },
  },
  {
    name: 'a document loaded after a save is safe to change',
    rule: rules.copies,
    async run(bench) {
      const store = await bench.open()
      const first = richSession(bench.newId())
      await store.create(first)
      const turn = nextTurn(await store.load(first.id))
      const expected = throughJson(turn.document)
      await store.save(turn.document, turn.expectedRevision, turn.hint)
      spoil(await store.load(first.id))
      await store.holds(expected)
    },
  },
  {
    name: 'two loads give documents that can be changed apart',
    rule: rules.copies,
    async run(bench) {
      const store = await bench.open()
      const document = richSession(bench.newId())
      await store.create(document)
      const [left, right] = [await store.load(document.id), await store.load(document.id)]
      spoil(left)
      const difference = findDifference(right, throughJson(document))
      if (difference !== undefined) fail('the second document as it was', `it but ${difference}`)
    },
  },
  {
    name: 'what was passed to create is safe to change after it',
    rule: rules.copies,
    async run(bench) {
      const store = await bench.open()
      const document = richSession(bench.newId())
      const expected = throughJson(document)
      await store.create(document)
      spoil(document)
      await store.holds(expected)
    },
  },
  {
    name: 'what was passed to save is safe to change after it',
    rule: rules.copies,
    async run(bench) {
      const store = await bench.open()
      const first = richSession(bench.newId())
      await store.create(first)
      const { document, expectedRevision, hint } = nextTurn(first)
      const expected = throughJson(document)
      await store.save(document, expectedRevision, hint)
      spoil(document)
      await store.holds(expected)
    },
  },
  {
    name: 'a save leaves what it was given as it was',
    rule: rules.copies,
    async run(bench) {
      const store = await bench.open()
      const first = richSession(bench.newId())
      const before = throughJson(first)
      await store.create(first)
      const turn = nextTurn(first)
      const saved = throughJson(turn.document)
      await store.save(turn.document, turn.expectedRevision, turn.hint)
      const difference = findDifference(first, before) ?? findDifference(turn.document, saved)
      if (difference !== undefined) fail('the documents that were passed in, as they were', `them but ${difference}`)
    },
  },
  {
    name: 'a document that is frozen to the last value is stored',
    rule: rules.copies,
    async run(bench) {
      const store = await bench.open()
      const first = freezeDeep(richSession(bench.newId()))
      await store.create(first)
      const turn = nextTurn(first)
      await store.save(freezeDeep(turn.document), turn.expectedRevision, freezeDeep(turn.hint))
      await store.holds(turn.document)
    },
  },
  {
    name: 'a document that was refused leaves nothing behind, whatever becomes of it',
    rule: rules.copies,
    async run(bench) {
      const store = await bench.open()
      const first = richSession(bench.newId())
      await store.create(first)
      const late = nextTurn(first, { message: 'Too late' })
      const { document: second, hint } = nextTurn(first)
      await store.save(second, first.revision, hint)
      const expected = throughJson(second)
      await store.refusesSave(late.document, late.expectedRevision, late.hint)
      spoil(late.document)
      await store.holds(expected)
    },
  },
]
