/**
 * Leases of sessions between processes, if the store has them. A turn holds the lease of its session while it runs, so
 * that another process waits instead of running a turn that would lose the compare-and-swap. Correctness does not
 * depend on it: if the store fails, the turn goes on without a lease, and the compare-and-swap decides.
 */
import type { SessionStore } from '../../../session/session-store.js'
import { digestOf } from '../../../util/digest.js'
import type { TurnControl } from '../control/turn-control.js'

/** For stores without their own setting. A live process renews its leases. */
const leaseTtlMs = 30_000

/**
 * Takes the lease of a session, if there are leases and a session, and then runs `work`. {@link giveBackLeases} must
 * follow.
 */
export function withLease<T>(control: TurnControl, sessionId: string | undefined, work: () => Promise<T>): Promise<T> {
  const waiting = sessionId === undefined ? undefined : takeLease(control, sessionId)
  return waiting === undefined ? work() : waiting.then(work)
}

/**
 * Waits for the lease of a session until the turn is aborted, at the latest by its deadline, and takes it.
 * {@link giveBackLeases} must follow.
 *
 * @returns `undefined` if there is nothing to wait for; rejects if the turn was aborted meanwhile
 */
export function takeLease(control: TurnControl, sessionId: string): Promise<void> | undefined {
  const { store } = control.engine.session.access
  if (store.lease === undefined) return undefined
  if (control.contention?.leases?.has(sessionId) === true) return undefined
  return waitForLease(control, store as Required<SessionStore>, sessionId)
}

async function waitForLease(control: TurnControl, store: Required<SessionStore>, sessionId: string): Promise<void> {
  const { owner, work } = control
  let giveBack: unknown
  try {
    giveBack = await store.lease(leaseName(sessionId, owner), leaseTtlMs, work.signal)
  } catch {
    // Without a lease.
  }
  if (typeof giveBack === 'function') keep(control, sessionId, giveBack as () => Promise<void>)
  control.work.check()
}

/**
 * Each owner gets a separate lease for a session: a caller who is not the owner does not wait for the owner's turn, and
 * does not learn about it.
 */
function leaseName(sessionId: string, owner: string | undefined): string {
  return owner === undefined ? sessionId : digestOf(JSON.stringify([sessionId, owner]))
}

function keep(control: TurnControl, sessionId: string, giveBack: () => Promise<void>): void {
  const contention = control.contend()
  contention.leases ??= new Map()
  contention.leases.set(sessionId, giveBack)
  // The lease came too late: the aborted turn has already settled.
  if (control.work.signal.aborted) giveBackLeases(control)
}

/**
 * Releases the leases of a turn. Does not throw and is not awaited: the reply is final, and a lease that is not
 * released expires.
 *
 * @param kept - The session whose lease the turn keeps. Default: none.
 */
export function giveBackLeases(control: TurnControl, kept?: string): void {
  const leases = control.contention?.leases
  if (leases === undefined) return
  for (const [sessionId, giveBack] of leases) {
    if (sessionId === kept) continue
    leases.delete(sessionId)
    void quietly(giveBack)
  }
}

async function quietly(work: () => Promise<void>): Promise<void> {
  try {
    await work()
  } catch {
    // It expires.
  }
}
