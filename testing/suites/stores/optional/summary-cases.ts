/** Cases of `summary`. A store without it passes: the engine then loads. */
import { describeOutcome, ensure, fail } from '../../cases/failure.js'
import { findDifference, throughJson } from '../../cases/same-json.js'
import type { CheckedStore } from '../bench/checked-store.js'
import { newSession, nextTurn, rowOf } from '../bench/documents.js'
import { rules } from '../bench/rules.js'
import type { SuiteCase } from '../bench/suite-case.js'

/** Expects these fields and no others; `undefined`: no summary. */
async function expectSummary(store: CheckedStore, sessionId: string, expected: object | undefined): Promise<void> {
  const outcome = await store.trySummary(sessionId)
  if (outcome.kind !== 'done') return fail('summary to succeed', describeOutcome(outcome))
  const difference = findDifference(outcome.value, expected && throughJson(expected))
  if (difference !== undefined) fail('summary to be what a listing shows of the session', `it but ${difference}`)
}

/** The cases, in the order in which they are registered. */
export const summaryCases: readonly SuiteCase[] = [
  {
    name: 'summary: it is what a listing shows of a session, as long as there is one',
    rule: rules.summary,
    async run(bench) {
      const store = await bench.open()
      if (store.store.summary === undefined) return
      const document = newSession(bench.newId())
      await expectSummary(store, document.id, undefined)
      await store.create(document)
      await expectSummary(store, document.id, rowOf(document))
      const turn = nextTurn(document)
      const flow = { ...turn.document.flow, wakeAt: '2030-01-01T00:00:00.000Z' }
      const saved = { ...turn.document, flow, runStatus: 'completed' as const }
      const other = await bench.another(store)
      await other.save(saved, turn.expectedRevision, turn.hint)
      for (const one of [store, other]) await expectSummary(one, document.id, rowOf(saved))
      await store.delete(document.id)
      await expectSummary(store, document.id, undefined)
    },
  },
  {
    name: 'summary: a stranger gets one that names the owner',
    rule: rules.summary,
    async run(bench) {
      const store = await bench.open()
      if (store.store.summary === undefined) return
      const document = newSession(bench.newId())
      await store.create(document)
      for (const caller of [{}, { owner: `${document.owner}x` }]) {
        const outcome = await store.trySummary(document.id, caller)
        const { owner } = Object(outcome.kind === 'done' ? outcome.value : undefined) as { readonly owner?: unknown }
        ensure(owner === document.owner, 'summary to name the owner', describeOutcome(outcome))
      }
    },
  },
  {
    name: 'summary: that of an unreadable session rejects',
    rule: rules.unreadable,
    needs: ['corrupt'],
    async run(bench) {
      const writer = await bench.open()
      if (writer.store.summary === undefined) return
      const document = newSession(bench.newId())
      await writer.create(document)
      await bench.corrupt(document.id, writer)
      const outcome = await (await bench.another(writer)).trySummary(document.id)
      if (outcome.kind === 'invariant') return
      fail('summary to reject with the code SESSION_FLOW_INVARIANT', describeOutcome(outcome))
    },
  },
]
