/** Cases of `save`: the compare-and-swap, one handle, one thing after the other. */
import type { SessionDocument } from '../../../../src/index.js'
import { newRevision, newSession, nextTurn, randomToken } from '../bench/documents.js'
import { rules } from '../bench/rules.js'
import type { SuiteBench, SuiteCase } from '../bench/suite-case.js'

/** A store, and a session in it. */
async function openWithSession(bench: SuiteBench) {
  const store = await bench.open()
  const first = newSession(bench.newId())
  await store.create(first)
  return { store, first }
}

/** Stores a session under one revision, and expects that others do not match it: neither in save nor in delete. */
async function tellsApart(bench: SuiteBench, revision: string, others: readonly string[]): Promise<void> {
  const store = await bench.open()
  const document: SessionDocument = { ...newSession(bench.newId()), revision }
  await store.create(document)
  for (const other of others) {
    await store.refusesSave(nextTurn(document).document, other)
    await store.refusesSave({ ...nextTurn(document).document, revision: other }, `${other}, an older one`)
    await store.refusesCreate({ ...document, revision: other })
    await store.refusesDelete(document.id, other)
  }
  await store.holds(document)
  await store.save(nextTurn(document).document, revision)
}

/** The cases, in the order in which they are registered. */
export const saveCases: readonly SuiteCase[] = [
  {
    name: 'save replaces the document that has the expected revision',
    rule: rules.save,
    async run(bench) {
      const { store, first } = await openWithSession(bench)
      const { document } = nextTurn(first)
      await store.save(document, first.revision)
      await store.holds(document)
    },
  },
  {
    name: 'save after save: each expects the one before',
    rule: rules.save,
    async run(bench) {
      const { store, first } = await openWithSession(bench)
      let last = first
      for (let count = 0; count < 20; count++) {
        const { document, expectedRevision, hint } = nextTurn(last)
        await store.save(document, expectedRevision, hint)
        await store.holds(document)
        last = document
      }
    },
  },
  {
    name: 'save under a stale revision is a conflict and leaves every byte',
    rule: rules.save,
    async run(bench) {
      const { store, first } = await openWithSession(bench)
      const { document: second } = nextTurn(first)
      await store.save(second, first.revision)
      const late = nextTurn(first, { message: 'Too late' })
      await store.refusesSave(late.document, late.expectedRevision)
      await store.refusesSave(late.document, late.expectedRevision, late.hint)
      await store.holds(second)
    },
  },
  {
    name: 'save under a revision that never was is a conflict and leaves every byte',
    rule: rules.save,
    async run(bench) {
      const { store, first } = await openWithSession(bench)
      await store.refusesSave(nextTurn(first).document, newRevision(1))
      await store.refusesSave(nextTurn(first).document, '')
      await store.holds(first)
    },
  },
  {
    name: 'save of a document that was never created is a conflict and stores nothing',
    rule: rules.save,
    async run(bench) {
      const store = await bench.open()
      const never = newSession(bench.newId())
      const { document, expectedRevision, hint } = nextTurn(never)
      await store.refusesSave(document, expectedRevision)
      await store.refusesSave(document, expectedRevision, hint)
      await store.holdsNothing(never.id)
    },
  },
  {
    name: 'save under an empty revision does not create',
    rule: rules.save,
    async run(bench) {
      const store = await bench.open()
      const never = newSession(bench.newId())
      await store.refusesSave(never, '')
      await store.holdsNothing(never.id)
    },
  },
  {
    name: 'save twice with one revision succeeds twice',
    rule: rules.save,
    async run(bench) {
      const { store, first } = await openWithSession(bench)
      const { document, expectedRevision, hint } = nextTurn(first)
      await store.save(document, expectedRevision, hint)
      await store.save(document, expectedRevision, hint)
      await store.save(document, expectedRevision)
      await store.holds(document)
    },
  },
  {
    name: 'save again with the same revision and another content changes nothing',
    rule: rules.save,
    async run(bench) {
      const { store, first } = await openWithSession(bench)
      const { document, expectedRevision, hint } = nextTurn(first)
      await store.save(document, expectedRevision, hint)
      const other = { ...nextTurn(first, { message: 'Something else' }).document, revision: document.revision }
      await store.save(other, expectedRevision, hint)
      await store.save(other, expectedRevision)
      await store.holds(document)
    },
  },
  {
    name: 'save of the stored revision succeeds without a change, whatever it expects',
    rule: rules.save,
    async run(bench) {
      const { store, first } = await openWithSession(bench)
      const { revision } = first
      const other = { ...newSession(first.id, { message: 'Something else' }), revision }
      await store.save(other, newRevision(1))
      await store.save(other, revision)
      await store.holds(first)
    },
  },
  {
    name: 'a save that is repeated after another save is a conflict',
    rule: rules.save,
    async run(bench) {
      const { store, first } = await openWithSession(bench)
      const second = nextTurn(first)
      await store.save(second.document, second.expectedRevision, second.hint)
      const third = nextTurn(second.document)
      await store.save(third.document, third.expectedRevision, third.hint)
      await store.refusesSave(second.document, second.expectedRevision, second.hint)
      await store.holds(third.document)
    },
  },
  {
    name: 'what a save leaves out is gone',
    rule: rules.save,
    async run(bench) {
      const { store, first } = await openWithSession(bench)
      const { owner: _, ...unowned } = nextTurn(first).document
      const { flow } = unowned
      const document = { ...unowned, flow: { ...flow, context: {}, steps: { Other: { state: {} } }, sequence: [] } }
      await store.save(document, first.revision)
      await store.holds(document)
    },
  },
  {
    name: 'after a conflict the session goes on: load, then save',
    rule: rules.save,
    async run(bench) {
      const { store, first } = await openWithSession(bench)
      const { document: second } = nextTurn(first)
      await store.save(second, first.revision)
      const late = nextTurn(first, { message: 'Too late' })
      await store.refusesSave(late.document, late.expectedRevision, late.hint)
      const again = nextTurn(await store.load(first.id), { message: 'Again' })
      await store.save(again.document, again.expectedRevision, again.hint)
      await store.holds(again.document)
    },
  },
  {
    name: 'revisions of one count and another token are different',
    rule: rules.revision,
    run: (bench) => {
      const token = randomToken()
      return tellsApart(bench, `2-${token}a`, [`2-${token}b`, '2', '2-', `2-${token}`, `2-${token}aa`, `3-${token}a`])
    },
  },
  {
    name: 'revisions that differ in case or accents are different',
    rule: rules.revision,
    run: (bench) =>
      tellsApart(bench, '2-Stra\u00dfe\u00e9', ['2-STRASSE\u00e9', '2-stra\u00dfe\u00e9', '2-Stra\u00dfee\u0301']),
  },
  {
    name: 'revisions that differ in spaces at their ends are different',
    rule: rules.revision,
    run: (bench) => tellsApart(bench, '2-abc', ['2-abc ', ' 2-abc', '2-abc\n', '2-abc\t']),
  },
  {
    name: 'revisions that are equal as numbers are different',
    rule: rules.revision,
    run: (bench) => tellsApart(bench, '10', ['1e1', '10.0', '010', '0xa', '+10']),
  },
]
