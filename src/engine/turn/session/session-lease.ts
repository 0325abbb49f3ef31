/**
 * Leases of sessions between processes, where the store has them: a turn has the lease of its session while it runs, so
 * that another process waits and does not run a turn that would lose the swap. Nothing depends on it. Where the store
 * fails the turn goes on without a lease, and the swap decides as ever.
 */
import type { SessionStore } from '../../../session/session-store.js'
import { digestOf } from '../../../util/digest.js'
import type { TurnControl } from '../control/turn-control.js'

/** For stores without a setting of their own. A living process renews its leases. */
const leaseTtlMs = 30_000

/**
 * Takes the lease of a session, where there are leases and a session, and then runs `work`.
 * {@link giveBackLeases} must follow.
 */
export function withLease<T>(control: TurnControl, sessionId: string | undefined, work: () => Promise<T>): Promise<T> {
  const waiting = sessionId === undefined ? undefined : takeLease(control, sessionId)
  return waiting === undefined ? work() : waiting.then(work)
}

/**
 * Waits for the lease of a session until the turn is aborted, at the latest by its deadline, and takes it.
 * {@link giveBackLeases} must follow.
 *
 * @returns `undefined` where there is nothing to wait for. Rejects where the turn was aborted meanwhile.
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
 * The leases of one session under two owners are two: whoever is not the owner does not wait for the owner's turn, and
 * does not learn that there is one.
 */
function leaseName(sessionId: string, owner: string | undefined): string {
  return owner === undefined ? sessionId : digestOf(JSON.stringify([sessionId, owner]))
}

function keep(control: TurnControl, sessionId: string, giveBack: () => Promise<void>): void {
  const contention = control.contend()
  contention.leases ??= new Map()
  contention.leases.set(sessionId, giveBack)
  // It came too late: the turn was settled when it was aborted.
  if (control.work.signal.aborted) giveBackLeases(control)
}

/**
 * Gives the leases of a turn back. Does not throw, and nobody waits for it: the reply is settled, and a lease that
 * is not given back expires.
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
