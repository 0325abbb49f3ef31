/** Cases of `lease`, for stores that have it. */

import { ensure } from '../../cases/failure.js'
import { newSession } from '../bench/documents.js'
import { pause } from '../bench/pause.js'
import { rules } from '../bench/rules.js'
import type { SuiteBench, SuiteCase } from '../bench/suite-case.js'

/** Milliseconds for which a test observes a waiting caller. */
const lookMs = 40

/** Never fires. */
const patient = (): AbortSignal => new AbortController().signal

async function openTwo(bench: SuiteBench) {
  const ours = await bench.open()
  return { ours, theirs: await bench.another(ours), sessionId: bench.newId() }
}

/** Whether a lease is granted within some milliseconds. */
function isGranted(lease: Promise<unknown>, ms: number): Promise<boolean> {
  return Promise.race([lease.then(() => true), pause(ms).then(() => false)])
}

/** The cases, in the order in which they are registered. */
export const leaseCases: readonly SuiteCase[] = [
  {
    name: 'lease: another handle waits until it is given back',
    rule: rules.lease,
    needs: ['leases'],
    async run(bench) {
      const { ours, theirs, sessionId } = await openTwo(bench)
      const giveBack = await ours.takesLease(sessionId, bench.leaseTtlMs, patient())
      const second = theirs.takesLease(sessionId, bench.leaseTtlMs, patient())
      const early = await isGranted(second, Math.min(lookMs, bench.leaseTtlMs / 2))
      ensure(!early, 'the second lease to wait for the first', 'two leases at once')
      await giveBack()
      await (await second)()
    },
  },
  {
    name: 'lease: of ten that want it one has it at a time',
    rule: rules.lease,
    needs: ['leases'],
    async run(bench) {
      const { ours, theirs, sessionId } = await openTwo(bench)
      let holders = 0
      let most = 0
      const work = Array.from({ length: 10 }, async (_, index) => {
        const giveBack = await (index % 2 === 0 ? ours : theirs).takesLease(sessionId, bench.leaseTtlMs, patient())
        holders++
        most = Math.max(most, holders)
        await pause(2)
        holders--
        await giveBack()
      })
      await Promise.all(work)
      ensure(most === 1, 'one holder at a time', most)
    },
  },
  {
    name: 'lease: other sessions do not wait',
    rule: rules.lease,
    needs: ['leases'],
    async run(bench) {
      const { ours, theirs, sessionId } = await openTwo(bench)
      const giveBack = await ours.takesLease(sessionId, bench.leaseTtlMs, patient())
      const others = [theirs, ours].map((store) => store.takesLease(bench.newId(), bench.leaseTtlMs, patient()))
      for (const other of await Promise.all(others)) await other()
      await giveBack()
    },
  },
  {
    name: 'lease: a signal that fires ends the wait, and takes nothing',
    rule: rules.lease,
    needs: ['leases'],
    async run(bench) {
      const { ours, theirs, sessionId } = await openTwo(bench)
      const giveBack = await ours.takesLease(sessionId, bench.leaseTtlMs, patient())
      const controller = new AbortController()
      const reason = new Error('The wait is over.')
      const waiting = theirs.tryLease(sessionId, bench.leaseTtlMs, controller.signal)
      controller.abort(reason)
      for (const outcome of [await waiting, await theirs.tryLease(sessionId, bench.leaseTtlMs, controller.signal)]) {
        const got = outcome.kind === 'done' ? 'a lease' : outcome.error
        ensure(got === reason, "lease to reject with the signal's reason", String(got))
      }
      await giveBack()
      await (await ours.takesLease(sessionId, bench.leaseTtlMs, patient()))()
    },
  },
  {
    name: 'lease: giving back twice gives back no other lease',
    rule: rules.lease,
    needs: ['leases'],
    async run(bench) {
      const { ours, theirs, sessionId } = await openTwo(bench)
      const first = await ours.takesLease(sessionId, bench.leaseTtlMs, patient())
      await first()
      const second = await theirs.takesLease(sessionId, bench.leaseTtlMs, patient())
      await first()
      const third = ours.takesLease(sessionId, bench.leaseTtlMs, patient())
      const early = await isGranted(third, Math.min(lookMs, bench.leaseTtlMs / 2))
      ensure(!early, 'the third lease to wait for the second', 'two leases at once')
      await second()
      await (await third)()
    },
  },
  {
    name: 'lease: a live holder keeps its lease renewed',
    rule: rules.lease,
    needs: ['leases'],
    async run(bench) {
      const { ours, theirs, sessionId } = await openTwo(bench)
      const giveBack = await ours.takesLease(sessionId, bench.leaseTtlMs, patient())
      const second = theirs.takesLease(sessionId, bench.leaseTtlMs, patient())
      const early = await isGranted(second, bench.leaseTtlMs * 2)
      ensure(!early, 'the lease of a holder that lives to be renewed', 'another holder')
      await giveBack()
      await (await second)()
    },
  },
  {
    name: 'lease: a dead holder loses its lease after its time',
    rule: rules.lease,
    needs: ['leases'],
    async run(bench) {
      const { ours, theirs, sessionId } = await openTwo(bench)
      await ours.takesLease(sessionId, bench.leaseTtlMs, patient())
      await ours.close()
      const second = theirs.takesLease(sessionId, bench.leaseTtlMs, patient())
      const inTime = await isGranted(second, bench.leaseTtlMs * 4 + 1_000)
      ensure(inTime, `a lease of ${bench.leaseTtlMs} ms to be free after that time`, 'none')
      await (await second)()
    },
  },
  {
    name: 'lease: it is not a session, and does not block writes',
    rule: rules.lease,
    needs: ['leases'],
    async run(bench) {
      const { ours, theirs, sessionId } = await openTwo(bench)
      const giveBack = await ours.takesLease(sessionId, bench.leaseTtlMs, patient())
      for (const store of [ours, theirs]) await store.holdsNothing(sessionId)
      const document = newSession(sessionId)
      await theirs.create(document)
      await ours.holds(document)
      await theirs.delete(sessionId, document.revision)
      await giveBack()
    },
  },
]
