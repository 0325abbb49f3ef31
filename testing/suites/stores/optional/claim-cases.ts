/** Cases of `claim`, for stores that have it. */

import { describeOutcome, ensure, fail } from '../../cases/failure.js'
import type { CheckedStore } from '../bench/checked-store.js'
import { newSession, nextTurn, randomToken } from '../bench/documents.js'
import { hostileIds } from '../bench/hostile-ids.js'
import { pause } from '../bench/pause.js'
import { rules } from '../bench/rules.js'
import type { SuiteBench, SuiteCase } from '../bench/suite-case.js'

const longMs = 3_600_000
const shortMs = 30

async function openTwo(bench: SuiteBench): Promise<readonly [CheckedStore, CheckedStore]> {
  const first = await bench.open()
  return [first, await bench.another(first)]
}

/** The cases, in the order in which they are registered. */
export const claimCases: readonly SuiteCase[] = [
  {
    name: 'claim: the first one wins, and every handle gets its ID',
    rule: rules.claim,
    needs: ['claims'],
    async run(bench) {
      const [ours, theirs] = await openTwo(bench)
      const [key, id] = [bench.newId(), bench.newId()]
      await ours.claims(key, id, longMs, id)
      for (const store of [theirs, ours, theirs]) await store.claims(key, bench.newId(), longMs, id)
    },
  },
  {
    name: 'claim: a repeat with the same ID gives that ID',
    rule: rules.claim,
    needs: ['claims'],
    async run(bench) {
      const [ours, theirs] = await openTwo(bench)
      const [key, id] = [bench.newId(), bench.newId()]
      for (const store of [ours, ours, theirs]) await store.claims(key, id, longMs, id)
    },
  },
  {
    name: 'claim: of twenty at once over two handles all get one ID',
    rule: rules.claim,
    needs: ['claims'],
    async run(bench) {
      const handles = await openTwo(bench)
      for (let round = 0; round < 5; round++) {
        const key = bench.newId()
        const ids = Array.from({ length: 20 }, () => bench.newId())
        const claims = ids.map((id, index) => (handles[index % 2] as CheckedStore).tryClaim(key, id, longMs))
        const outcomes = await Promise.all(claims)
        const got = new Set(outcomes.map((outcome) => (outcome.kind === 'done' ? outcome.value : outcome.error)))
        const [kept] = got
        ensure(got.size === 1 && ids.includes(kept as string), 'twenty claims to give one of the IDs', [...got])
        await handles[0].claims(key, bench.newId(), longMs, kept as string)
      }
    },
  },
  {
    name: 'claim: other keys are not affected',
    rule: rules.claim,
    needs: ['claims'],
    async run(bench) {
      const store = await bench.open()
      const token = randomToken()
      const keys = ['a', 'A', '-a', '_a', 'a-', 'a_', 'aa', ''].map((end) => `${token}${end}`)
      const ids = keys.map(() => bench.newId())
      for (const [index, key] of keys.entries()) await store.claims(key, ids[index] ?? '', longMs, ids[index] ?? '')
      for (const [index, key] of keys.entries()) await store.claims(key, bench.newId(), longMs, ids[index] ?? '')
    },
  },
  {
    name: 'claim: it is not a session, and not in the way of one',
    rule: rules.claim,
    needs: ['claims'],
    async run(bench) {
      const store = await bench.open()
      const [shared, id] = [bench.newId(), bench.newId()]
      await store.claims(shared, id, longMs, id)
      for (const sessionId of [shared, id]) await store.holdsNothing(sessionId)
      const document = newSession(shared)
      await store.create(document)
      const turn = nextTurn(document)
      await store.save(turn.document, turn.expectedRevision, turn.hint)
      await store.holds(turn.document)
      await store.claims(shared, bench.newId(), longMs, id)
      await store.delete(shared)
      await store.claims(shared, bench.newId(), longMs, id)
    },
  },
  {
    name: 'claim: hostile IDs are given as they were kept',
    rule: rules.claim,
    needs: ['claims'],
    async run(bench) {
      const [ours, theirs] = await openTwo(bench)
      for (const { make } of hostileIds) {
        for (const id of await make(randomToken())) {
          const key = bench.newId()
          await ours.claims(key, id, longMs, id)
          await theirs.claims(key, bench.newId(), longMs, id)
        }
      }
    },
  },
  {
    name: 'claim: it ends after its time, and the next one wins',
    rule: rules.claim,
    needs: ['claims'],
    async run(bench) {
      const [ours, theirs] = await openTwo(bench)
      const [key, first, second] = [bench.newId(), bench.newId(), bench.newId()]
      await ours.claims(key, first, shortMs, first)
      let kept: unknown = first
      for (let attempt = 0; attempt < 200 && kept === first; attempt++) {
        await pause(5)
        const outcome = await theirs.tryClaim(key, second, longMs)
        if (outcome.kind !== 'done') fail('the claim to succeed', describeOutcome(outcome))
        else kept = outcome.value
      }
      ensure(kept === second, `a claim for ${shortMs} ms to end`, kept)
      await ours.claims(key, first, longMs, second)
    },
  },
  {
    name: 'claim: it survives a restart',
    rule: rules.claim,
    needs: ['claims'],
    async run(bench) {
      const [ours, theirs] = await openTwo(bench)
      const [key, id] = [bench.newId(), bench.newId()]
      await ours.claims(key, id, longMs, id)
      await ours.close()
      await theirs.claims(key, bench.newId(), longMs, id)
    },
  },
  {
    name: 'claim: after close it rejects',
    rule: rules.close,
    needs: ['claims'],
    async run(bench) {
      const store = await bench.open()
      await store.close()
      const outcome = await store.tryClaim(bench.newId(), bench.newId(), longMs)
      if (outcome.kind !== 'trouble') fail('claim after close() to reject', describeOutcome(outcome))
    },
  },
  {
    name: 'claim: on a store that is down it rejects in time',
    rule: rules.outage,
    needs: ['claims', 'createUnreachable'],
    async run(bench) {
      const store = await bench.openUnreachable()
      for (let count = 0; count < 2; count++) {
        const outcome = await store.tryClaim(bench.newId(), bench.newId(), longMs)
        if (outcome.kind !== 'trouble') fail('claim of a store that is down to reject', describeOutcome(outcome))
      }
    },
  },
]
