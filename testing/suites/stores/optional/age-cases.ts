/**
 * Cases of the greatest age of a session, for stores that have one: by a clock that the test moves, or by the stored
 * expiry.
 */
import type { SessionDocument } from '../../../../src/index.js'
import { ensure } from '../../cases/failure.js'
import type { CheckedStore } from '../bench/checked-store.js'
import { newSession, nextTurn } from '../bench/documents.js'
import { rules } from '../bench/rules.js'
import type { SuiteBench, SuiteCase } from '../bench/suite-case.js'

const hourMs = 3_600_000

/** By how much two clocks of one machine may differ, and how long a save may take. */
const slackMs = 2_000

/** Saves one more turn. */
async function say(store: CheckedStore, base: SessionDocument): Promise<SessionDocument> {
  const { document, expectedRevision, hint } = nextTurn(base)
  await store.save(document, expectedRevision, hint)
  return document
}

/** Expects the stored expiry of a session, or a time not long before it. */
async function expires(bench: SuiteBench, { id }: SessionDocument, at: number, slack: number): Promise<void> {
  const stored = (await bench.age.expiresAt?.(id)) ?? Number.POSITIVE_INFINITY
  const isRight = stored <= at && stored >= at - slack
  ensure(isRight, `the session to expire at ${at}, or up to ${slack} ms before`, stored)
}

/** A session that was created that long ago. */
function olderBy(ms: number, id: string): SessionDocument {
  return { ...newSession(id), createdAt: new Date(Date.now() - ms).toISOString() }
}

/** The cases, in the order in which they are registered. */
export const ageCases: readonly SuiteCase[] = [
  {
    name: 'age: no save puts off the end of a session',
    rule: rules.age,
    needs: ['absoluteTtl'],
    async run(bench) {
      const { advance } = bench.age
      const store = await bench.openAging({ absoluteTtlMs: hourMs, ttlMs: 2 * hourMs })
      let document = advance === undefined ? olderBy(hourMs / 2, bench.newId()) : newSession(bench.newId())
      await store.create(document)
      for (let save = 0; save < 3; save++) {
        if (advance === undefined) await expires(bench, document, Date.parse(document.createdAt) + hourMs, 0)
        else await advance(hourMs / 4)
        document = await say(store, document)
        await store.holds(document)
      }
      if (advance === undefined) return expires(bench, document, Date.parse(document.createdAt) + hourMs, 0)
      await advance(hourMs / 4)
      await store.holdsNothing(document.id)
    },
  },
  {
    name: 'age: an unused session expires after its last save, if that is earlier',
    rule: rules.age,
    needs: ['absoluteTtl'],
    async run(bench) {
      const { advance } = bench.age
      const store = await bench.openAging({ absoluteTtlMs: hourMs, ttlMs: hourMs / 4 })
      const first = newSession(bench.newId())
      await store.create(first)
      await advance?.(hourMs / 8)
      const document = await say(store, first)
      if (advance === undefined) return expires(bench, document, Date.now() + hourMs / 4, slackMs)
      await advance(hourMs / 8)
      await store.holds(document)
      await advance(hourMs / 8 + 1)
      await store.holdsNothing(document.id)
    },
  },
  {
    name: 'age: what is saved after the end is a conflict, and brings nothing back',
    rule: rules.age,
    needs: ['absoluteTtl'],
    async run(bench) {
      const { advance } = bench.age
      const store = await bench.openAging({ absoluteTtlMs: hourMs })
      const document = advance === undefined ? olderBy(hourMs, bench.newId()) : newSession(bench.newId())
      // Without a bound, because one that is too old is not created either.
      await (advance === undefined ? await bench.openAging({}) : store).create(document)
      await advance?.(hourMs)
      const { document: late, expectedRevision, hint } = nextTurn(document)
      await store.refusesSave(late, expectedRevision, hint)
      await store.holdsNothing(document.id)
    },
  },
  {
    name: 'age: the ID of a session that ended starts a new one, which has its own time',
    rule: rules.age,
    needs: ['absoluteTtl'],
    async run(bench) {
      const { advance } = bench.age
      const store = await bench.openAging({ absoluteTtlMs: hourMs })
      const old = advance === undefined ? olderBy(hourMs, bench.newId()) : newSession(bench.newId())
      await (advance === undefined ? await bench.openAging({}) : store).create(old)
      await advance?.(hourMs)
      await store.holdsNothing(old.id)
      const document = newSession(old.id)
      if (!(await store.recreates(document))) return
      if (advance === undefined) await expires(bench, document, Date.parse(document.createdAt) + hourMs, 0)
      await advance?.(hourMs / 2)
      await store.holds(document)
    },
  },
]
