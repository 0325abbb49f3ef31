/**
 * Applies the policies of `busy` to a message for a session with a running turn. The lock decides who runs next; the
 * functions here refuse a message before it waits, and supersede other turns once it is in the queue. The policy of the
 * flow whose turn has the lock counts. A message of another owner or another flow supersedes nothing.
 */
import { monotonicTime } from '../../config/clock.js'
import { SessionBusyError, TurnAbortedError, TurnSupersededError } from '../../errors/engine-errors.js'
import type { HeldLock, WaitingRequest } from '../../session/lock/lock-request.js'
import type { SessionDocument } from '../../session/session-document.js'
import type { EngineContext } from '../core/engine-context.js'
import { limitExceeded } from '../core/engine-limits.js'
import { hasReceipt } from '../idempotency/receipts.js'
import type { TurnControl } from '../turn/control/turn-control.js'

type Policy = EngineContext['busy']

/**
 * Checks whether a turn may wait for the lock, and reports it.
 *
 * @param queued - The number of waiting turns of its owner.
 * @throws `SessionBusyError`, or `LimitExceededError` for a full queue.
 */
export function checkMayWait(turn: TurnControl, queued: number, lock: HeldLock): void {
  const { engine } = turn
  const { limits } = engine
  const policy = policyFor(turn, lock)
  if (policy === 'reject') throw new SessionBusyError()
  const stay = queued - waitersToSupersede(turn, policy, lock).length
  if (stay >= limits.maxQueuedTurnsPerSession && !turn.isOfServer) {
    throw limitExceeded(limits, 'maxQueuedTurnsPerSession', 'The number of turns that wait for this session')
  }
  turn.queuedAt ??= monotonicTime(engine.clock)
  turn.report('turn:queued', { queued: stay })
}

/**
 * Called when a turn has its place in the queue: supersedes the turns that it replaces, and the running turn if it
 * interrupts that.
 *
 * @param loaded - The session, if it is known: repeats of messages that it has answered are not superseded.
 */
export function takePlace(turn: TurnControl, lock: HeldLock, loaded?: SessionDocument): void {
  const holder = turnOf(lock.holder)
  if (holder !== undefined && mayBeRepeat(holder)) {
    const contention = turn.contend()
    contention.arrivedBehind = holder.turnId
    contention.arrivedAfterCancel = holder.isCancelled
  }
  const policy = policyFor(turn, lock)
  const waiters = waitersToSupersede(turn, policy, lock, loaded)
  const underWay = policy === 'interrupt' ? turnOf(lock.holder) : undefined
  // An event is never interrupted.
  const interrupted = underWay?.work.isAbortable === true && !underWay.input.event ? underWay : undefined
  if (policy === 'interrupt') followSuperseded(turn, interrupted, waiters)
  for (const waiter of waiters) supersedeWaiter(waiter)
  if (interrupted !== undefined) {
    interrupted.contend().supersededBy = turn.turnId
    interrupted.work.abort(new TurnSupersededError())
  }
  // Listeners may start turns. The state is consistent by now.
  for (const waiter of waiters) {
    turnOf(waiter.wait)?.report('turn:superseded', { byTurnId: turn.turnId })
  }
}

/**
 * Called when a turn with an idempotency key turns out not to be a repeat of an answered message. The policy now
 * applies to the messages that arrived meanwhile, except repeats, and a pending cancel takes effect.
 *
 * @param loaded - The session; `undefined` for a new one.
 */
export function applyPolicy(control: TurnControl, loaded: SessionDocument | undefined): void {
  const { engine, lockHolder, isCancelled } = control
  const lock = lockHolder && engine.session.awaitedLock(lockHolder)
  const newer = lock === undefined ? [] : newcomers(control, lock, loaded)
  const isInterrupted = newer.some(
    (turn) => turn.contention?.arrivedAfterCancel !== true && policyFor(turn, lock as HeldLock) === 'interrupt',
  )
  if (isCancelled && !isInterrupted) control.work.abort(new TurnAbortedError())
  const newest = newer.at(-1)
  if (lock !== undefined && newest !== undefined) takePlace(newest, lock, loaded)
}

/**
 * Called before a turn leaves the lock of a session that has ended: the turns that wait for it continue in the session
 * that this one starts.
 */
export function leadWaiting({ engine, owner, flowName, lockHolder }: TurnControl, sessionId: string): void {
  const lock = lockHolder && engine.session.awaitedLock(lockHolder)
  if (lock === undefined || lockHolder?.sessionId === sessionId) return
  // Elsewhere a message that waits would be refused, or interrupt the one before it.
  if ((engine.flows.get(flowName)?.busy ?? engine.busy) !== 'queue') return
  for (const { wait } of lock.waiting()) {
    const turn = turnOf(wait)
    if (turn !== undefined && turn.owner === owner && turn.flowName === flowName && !turn.input.event)
      turn.contend().successor = sessionId
  }
}

/**
 * The messages that arrived while the turn could be a repeat, and that supersede others. Messages that the policy
 * refuses leave the queue.
 */
function newcomers({ turnId }: TurnControl, lock: HeldLock, loaded: SessionDocument | undefined): TurnControl[] {
  const newer: TurnControl[] = []
  for (const waiter of lock.waiting()) {
    const turn = turnOf(waiter.wait)
    // The policy has already been applied to messages that came before this turn had the lock. Another process may have
    // answered a message since then.
    if (turn?.contention?.arrivedBehind !== turnId || hasReceipt(loaded, turn.input)) continue
    const policy = policyFor(turn, lock)
    if (policy === 'reject') waiter.cancel(new SessionBusyError())
    else if (policy !== 'queue') newer.push(turn)
  }
  return newer
}

/** The policy for a turn that has to wait. */
function policyFor(turn: TurnControl, lock: HeldLock): Policy {
  const underWay = turnOf(lock.holder)
  // Two owners meet only behind the application's own lock; one of them does not own the session.
  if (underWay === undefined || underWay.owner !== turn.owner) return 'queue'
  // A repeat of an answered message is not a turn. Loading the session shows whether this is one.
  if (mayBeRepeat(underWay)) return 'queue'
  // An event always waits.
  if (turn.input.event !== undefined) return 'queue'
  const { engine, flowName } = underWay
  const policy = engine.flows.get(flowName)?.busy ?? engine.busy
  return policy === 'reject' || flowName === turn.flowName ? policy : 'queue'
}

/** The waiting turns that a newer one supersedes. */
function waitersToSupersede(
  turn: TurnControl,
  policy: Policy,
  lock: HeldLock,
  loaded?: SessionDocument,
): WaitingRequest[] {
  if (policy !== 'interrupt') return []
  return Array.from(lock.waiting()).filter(({ wait }) => {
    const other = turnOf(wait)
    if (other === undefined || other === turn || other.input.event !== undefined) return false
    if (hasReceipt(loaded, other.input)) return false
    return other.owner === turn.owner && other.flowName === turn.flowName
  })
}

function supersedeWaiter(waiter: WaitingRequest): void {
  const other = turnOf(waiter.wait) as TurnControl
  const error = new TurnSupersededError()
  other.failure = error.code
  waiter.cancel(error)
}

/** Notes the facts about superseded turns that the newer turn needs. */
function followSuperseded(
  turn: TurnControl,
  interrupted: TurnControl | undefined,
  waiters: readonly WaitingRequest[],
): void {
  const others = [interrupted, ...waiters.map(({ wait }) => turnOf(wait))].filter((other) => other !== undefined)
  turn.contend().unstoredId = others.map(unstoredIdOf).find((id) => id !== undefined)
  turn.engine.keyedTurns.follow(others, turn)
}

/** The ID of the session that a turn, or one that it superseded, was about to create. */
function unstoredIdOf({ draft, sessionId, contention }: TurnControl): string | undefined {
  return draft !== undefined && draft.loaded === undefined ? sessionId : contention?.unstoredId
}

/** Whether a running turn may turn out to be a repeat of an answered message, which runs nothing. */
export function mayBeRepeat({ input, hasStarted }: TurnControl): boolean {
  return input.idempotency !== undefined && !hasStarted
}

function turnOf({ turn }: HeldLock['holder']): TurnControl | undefined {
  return turn as TurnControl | undefined
}
