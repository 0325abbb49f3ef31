/**
 * The control of one turn: who it is, how long it may last, how it is aborted, and where its events go. What still runs
 * after an abort is ignored: its results, its errors and its events.
 */
import { elapsedMs, monotonicTime } from '../../../config/clock.js'
import type { Deadline } from '../../../config/deadlines.js'
import { TurnAbortedError, TurnTimeoutError } from '../../../errors/engine-errors.js'
import type { FlowErrorCode } from '../../../errors/error-facts.js'
import type { FlowError } from '../../../errors/flow-error.js'
import { SessionConflictError, SessionStoreError } from '../../../errors/session-errors.js'
import type { LockHolder } from '../../../session/lock/lock-line.js'
import { onAbort } from '../../../util/on-abort.js'
import type { EngineContext, RunningTurn } from '../../core/engine-context.js'
import type { EngineEventMap, EngineEventName } from '../../core/engine-events.js'
import type { ExecuteResult, FailedTurn, SessionState } from '../../core/engine-options.js'
import type { TurnOutcome } from '../../core/run-envelope.js'
import type { RequestKey, TurnInput } from '../../core/turn-input.js'
import type { TurnStream } from '../../stream/turn-stream.js'
import type { TurnDraft } from '../draft/turn-draft.js'
import type { TurnEffects } from '../effects/turn-effects.js'

/** What a turn adds to the payload of an event, besides what every event of a turn carries. */
type Extra<Name extends EngineEventName> = Omit<
  EngineEventMap[Name],
  'sessionId' | 'flowName' | 'turnId' | 'requestId' | 'owner' | 'at'
>

type Writable<T> = { -readonly [Name in keyof T]: T[Name] }

/** A turn and what was asked of it. */
export interface RequestedTurn {
  readonly control: TurnControl
  readonly input: TurnInput
}

/** What a turn has only at times. */
interface TurnControlOptions {
  readonly stream?: TurnStream | undefined
  readonly turnId?: string | undefined
  readonly requestId?: string | undefined
  readonly owner?: string | undefined
}

/** The control of one turn. */
export class TurnControl implements RunningTurn {
  readonly engine: EngineContext
  readonly turnId: string
  /**
   * The registered name; empty where the flow is not registered, so that no event carries a name
   * which only a client knows.
   */
  flowName: string
  /** The ID of the request; `undefined` where it has none. */
  readonly requestId: string | undefined
  /** The session's ID as far as it is known: the one that was asked for, then the one under which it is stored. */
  sessionId: string
  /** The owner that the request names; `undefined` where it names none. */
  readonly owner: string | undefined
  /** When the turn got its session's lock, in the clock's monotonic time; `Infinity` before. */
  startedAt: number = Number.POSITIVE_INFINITY
  /** When the turn began to wait for the lock, in the clock's monotonic time; `undefined` where it did not wait. */
  queuedAt: number | undefined
  /** The draft, once a failure of the turn is one of its session; `undefined` before. */
  draft: TurnDraft | undefined
  /** What the turn's code did once and for all; `undefined` where it asked for nothing. It outlives a draft. */
  effects: TurnEffects | undefined
  /** What is stored under the ID that the turn was given, as far as the turn has seen it. */
  stateOfGivenId: SessionState | undefined
  /** Why the turn starts a new session and not the one that was asked for; `undefined` where it does not. */
  restarted: ExecuteResult['restarted'] | undefined
  /**
   * The ID that was claimed for the session which a turn with an idempotency key starts: whether it was made for this
   * claim, and how many were claimed before. `undefined` where none was claimed.
   */
  claimed: { readonly id: string; readonly isNew: boolean; readonly round: number } | undefined
  /** What holds the session's lock for the turn; `undefined` before, and in tests that need none. */
  lockHolder: LockHolder | undefined
  /**
   * Ends what the turn waits for just now, when it is aborted: a timer, an attempt at a call, tools that run together.
   */
  #pending: Set<(reason: FlowError) => void> | undefined
  /** The key of the turn's request, whose repeats it answers. */
  requestKey: RequestKey | undefined
  /** By session ID: what gives back the leases that the turn has. See session-lease.ts. */
  leases: Map<string, () => Promise<void>> | undefined
  /**
   * The ID of a session that a turn was about to create when this one, or another one that this one superseded,
   * interrupted it; `undefined` if there is none.
   */
  unstoredId: string | undefined
  /** The ID of the turn that interrupted this one; `undefined` where none did. */
  supersededBy: string | undefined
  /** The code with which the turn failed; `undefined` before it is settled, and where it succeeded. */
  failure: FlowErrorCode | undefined
  /** Whether `engine.cancel` ended the turn, or will end it if it is not a repeat. */
  isCancelled = false
  /**
   * Whether {@link reportStart} was called. Before that, a turn with an idempotency key may turn out to be a repeat.
   */
  hasStarted = false
  /** The ID of the turn that had the lock when this one asked for it, if it could still turn out to be a repeat. */
  arrivedBehind: string | undefined
  /** Whether that one had been cancelled by then. */
  arrivedAfterCancel = false
  /** Whether `turn.once` may begin work: not before the turn has a draft, and not once it decides what it stores. */
  mayBeginEffects = true
  #outcome: Promise<TurnOutcome> | undefined
  #reportOutcome: ((outcome: TurnOutcome) => void) | undefined
  /** What the turn leaves behind: it goes on after the reply, without the session's lock. */
  afterTurnTask: (() => Promise<void>) | undefined
  onSettled: (() => void) | undefined
  #controller: AbortController | undefined
  #aborted: FlowError | undefined
  /** See {@link own}. */
  #own: FlowError | undefined
  #reject: ((error: FlowError) => void) | undefined
  #isWorkFinished = false
  #deadline: Deadline | undefined
  #stopListening: (() => void) | undefined
  readonly #stream: TurnStream | undefined
  /** Releases the sessions that the store must not evict now. */
  #releases: (() => void)[] | undefined

  /** @param options - `turnId`: default, a new one. */
  constructor(
    engine: EngineContext,
    flowName: string,
    sessionId: string,
    { stream, turnId, requestId, owner }: TurnControlOptions = {},
  ) {
    this.engine = engine
    this.flowName = flowName
    this.sessionId = sessionId
    this.#stream = stream
    this.turnId = turnId ?? engine.generateId('turn')
    this.requestId = requestId
    this.owner = owner
    if (stream !== undefined) stream.turnId = this.turnId
  }

  /** What names the turn in events and logs. */
  get ids(): FailedTurn {
    const { sessionId, flowName, turnId, requestId } = this
    return { sessionId, flowName, turnId, ...(requestId === undefined ? {} : { requestId }) }
  }

  /** When the turn is aborted at the latest, in the clock's monotonic time. */
  get deadlineAt(): number {
    return this.startedAt + this.engine.limits.turnTimeoutMs
  }

  /** How long the turn has waited for the lock until now, at the end of its wait. */
  get waitedMs(): number {
    return this.queuedAt === undefined ? 0 : elapsedMs(this.engine.clock, this.queuedAt)
  }

  /** The stream of the turn; `undefined` where nobody reads it, or the turn was aborted. */
  get stream(): TurnStream | undefined {
    return this.#aborted === undefined ? this.#stream : undefined
  }

  readFrom(other: TurnControl | undefined): void {
    this.#stream?.follow(other?.stream)
  }

  /** Fires when the turn is aborted. Made when it is first asked for: most turns never need one. */
  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController()
      if (this.#aborted !== undefined) this.#controller.abort(this.#aborted)
    }
    return this.#controller.signal
  }

  /** Begins the turn: from now on it has a deadline. {@link end} must follow. */
  begin(): void {
    const { clock, deadlines, limits, turns } = this.engine
    this.startedAt = monotonicTime(clock)
    this.#deadline = deadlines.set(limits.turnTimeoutMs, (failure) => {
      if (failure === undefined) this.expire()
      else this.abort(failure)
    })
    turns.add(this)
  }

  /** Reports that the turn starts: once, and not for a request that is answered with a recorded outcome. */
  reportStart(): void {
    if (this.hasStarted) return
    this.hasStarted = true
    this.report('turn:start', this.queuedAt === undefined ? {} : { waitedMs: this.waitedMs })
  }

  /** Resolves when the turn is settled. Made when it is first asked for, which must be before that. */
  get outcome(): Promise<TurnOutcome> {
    this.#outcome ??= new Promise((resolve) => {
      this.#reportOutcome = resolve
    })
    return this.#outcome
  }

  /** The turn is settled. */
  reportOutcome(outcome: TurnOutcome): void {
    this.#reportOutcome?.(outcome)
  }

  /** Aborts the turn with the signal of its caller. */
  followSignal(signal: AbortSignal | undefined): void {
    if (signal === undefined) return
    const abort = (): void => this.abort(new TurnAbortedError({ cause: signal.reason }))
    this.#stopListening = onAbort(signal, abort)
    if (signal.aborted) abort()
  }

  /** Whether {@link abort} would abort the turn: it is not aborted yet, and its commit has not begun. */
  get isAbortable(): boolean {
    return this.#aborted === undefined && !this.#isWorkFinished
  }

  /** Aborts the turn, if it is {@link isAbortable}: only the first call counts. */
  abort(error: FlowError): void {
    if (!this.isAbortable) return
    this.#aborted = error
    this.#controller?.abort(error)
    for (const end of this.#pending ?? []) end(error)
    this.#reject?.(error)
  }

  /** Has `end` called when the turn is aborted, until {@link removePending}. It must not throw. */
  addPending(end: (reason: FlowError) => void): void {
    this.#pending ??= new Set()
    this.#pending.add(end)
  }

  removePending(end: (reason: FlowError) => void): void {
    this.#pending?.delete(end)
  }

  /** Marks an error as the engine's own failure of this turn, where it is thrown among what flow code throws. */
  own(error: FlowError): FlowError {
    this.#own = error
    return error
  }

  /** Whether {@link own} marked an error. An abort needs no mark: it ends the turn before what flow code throws can. */
  isOwn(error: FlowError): boolean {
    return error === this.#own
  }

  /** Aborts the turn because its time is over. */
  expire(): void {
    const { turnTimeoutMs: timeoutMs } = this.engine.limits
    const isAwaited = this.lockHolder?.isAwaited === true
    this.abort(new TurnTimeoutError({ timeoutMs, phase: 'turn', isAwaited }))
  }

  /** Another request took the session's lock: the turn may write no more, and nothing waits for it. */
  loseLock(): void {
    this.engine.turns.delete(this)
    this.abort(new SessionConflictError({ sessionId: this.sessionId }))
  }

  /** The flow's part is done. From now on the turn cannot be aborted and has no deadline; it can still fail. */
  finishWork(): void {
    this.#isWorkFinished = true
    this.#deadline?.cancel()
  }

  /** Keeps the store from evicting a session before the turn has ended. */
  hold(sessionId: string): void {
    try {
      const release = this.engine.session.access.store.hold?.(sessionId)
      if (release === undefined) return
      this.#releases ??= []
      this.#releases.push(release)
    } catch (cause) {
      throw new SessionStoreError({ operation: 'load', sessionId, cause })
    }
  }

  /** The turn is settled: releases all that it held. */
  end(): void {
    this.#deadline?.cancel()
    this.engine.turns.delete(this)
    for (const release of this.#releases ?? []) {
      try {
        release()
      } catch {
        // The turn is settled. A store that fails here must not change its reply.
      }
    }
    this.#stopListening?.()
    this.onSettled?.()
  }

  /** Runs `work` until it settles or the turn is aborted, whichever comes first. */
  race<T>(work: () => Promise<T>): Promise<T> {
    if (this.#aborted !== undefined) return Promise.reject(this.#aborted)
    return new Promise((resolve, reject) => {
      this.#reject = reject
      work().then(resolve, reject)
    })
  }

  /**
   * Runs a part of the work of {@link race} to its end even if the turn is aborted, and throws the abort afterwards.
   */
  async uninterrupted(work: () => Promise<void>): Promise<void> {
    const reject = this.#reject
    this.#reject = undefined
    try {
      await work()
    } finally {
      this.#reject = reject
    }
    this.check()
  }

  /**
   * Stops code that runs on after the turn was aborted. Call it after each `await` of the flow's or a caller's code.
   */
  check(): void {
    if (this.#aborted !== undefined) throw this.#aborted
  }

  /** Whether anybody receives what {@link emit} emits. Where nobody does, the payload need not be made. */
  hasListeners(name: EngineEventName): boolean {
    return this.#aborted === undefined && this.engine.events.hasListeners(name)
  }

  /** Emits an event of the work, unless the turn was aborted. */
  emit<Name extends EngineEventName>(name: Name, extra: Extra<Name>): void {
    if (this.#aborted === undefined) this.report(name, extra)
  }

  /** Emits an event in any case: how the turn began and how it was settled. */
  report<Name extends EngineEventName>(name: Name, extra: Extra<Name>): void {
    const { events, clock } = this.engine
    if (!events.hasListeners(name)) return
    const { sessionId, flowName, turnId, requestId, owner } = this
    // Field by field: several spreads in one literal take ten times as long.
    const turn: Writable<EngineEventMap['session:started']> = { sessionId, flowName, turnId, at: clock.now() }
    if (requestId !== undefined) turn.requestId = requestId
    if (owner !== undefined) turn.owner = owner
    events.emit(name, Object.assign(turn, extra) as unknown as EngineEventMap[Name])
  }
}
