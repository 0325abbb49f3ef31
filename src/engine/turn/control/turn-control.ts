/**
 * The control of one turn, which its functions pass on: what was asked, who the turn is and its events
 * (`turn-events.ts`), how it is aborted (`turn-work.ts`), what it holds, and what it has come to so far.
 */
import type { FlowErrorCode } from '../../../errors/error-facts.js'
import { SessionConflictError, SessionStoreError } from '../../../errors/session-errors.js'
import type { LockHolder } from '../../../session/lock/lock-line.js'
import type { EngineContext } from '../../core/engine-context.js'
import type { ExecuteResult, SessionState } from '../../core/engine-options.js'
import type { TurnOutcome } from '../../core/run-envelope.js'
import type { TurnInput } from '../../core/turn-input.js'
import type { TurnStream } from '../../stream/turn-stream.js'
import type { TurnDraft } from '../draft/turn-draft.js'
import type { TurnEffects } from '../effects/turn-effects.js'
import { Contention } from './contention.js'
import { TurnEvents } from './turn-events.js'

/** The control of one turn. */
export class TurnControl extends TurnEvents {
  readonly input: TurnInput
  /** What holds the session's lock for the turn; `undefined` before, and in tests that need none. */
  lockHolder: LockHolder | undefined
  /** The draft, once a failure of the turn is one of its session; `undefined` before. */
  draft: TurnDraft | undefined
  /** What the turn's code did once and for all; `undefined` where it asked for nothing. It outlives a draft. */
  effects: TurnEffects | undefined
  /** Whether `turn.once` may begin work: not before the turn has a draft, and not once it decides what it stores. */
  mayBeginEffects = true
  /** What is stored under the ID that the turn was given, as far as the turn has seen it. */
  stateOfGivenId: SessionState | undefined
  /** Why the turn starts a new session and not the one that was asked for; `undefined` where it does not. */
  restarted: ExecuteResult['restarted'] | undefined
  /** The code with which the turn failed; `undefined` before it is settled, and where it succeeded. */
  failure: FlowErrorCode | undefined
  /** What the turn leaves behind: it goes on after the reply, without the session's lock. */
  afterTurnTask: (() => Promise<void>) | undefined
  /** `undefined` in a plain turn: {@link contend} makes it. */
  contention: Contention | undefined
  readonly #stream: TurnStream | undefined
  /** Releases the sessions that the store must not evict now. */
  #releases: (() => void)[] | undefined

  /** @param options - `turnId`: default, a new one. */
  constructor(
    engine: EngineContext,
    input: TurnInput,
    flowName: string,
    sessionId: string,
    options: { readonly stream?: TurnStream | undefined; readonly turnId?: string } = {},
  ) {
    super(engine, input, flowName, sessionId, options.turnId ?? engine.generateId('turn'))
    this.input = input
    this.#stream = options.stream
    if (options.stream !== undefined) options.stream.turnId = this.turnId
  }

  contend(): Contention {
    this.contention ??= new Contention()
    return this.contention
  }

  get isCancelled(): boolean {
    return this.contention?.isCancelled === true
  }

  /** Resolves when the turn is settled, which it must not be yet. */
  get outcome(): Promise<TurnOutcome> {
    return this.contend().outcome
  }

  /** The stream of the turn; `undefined` where nobody reads it, or the turn was aborted. */
  get stream(): TurnStream | undefined {
    return this.work.isAborted ? undefined : this.#stream
  }

  readFrom(other: TurnControl | undefined): void {
    this.#stream?.follow(other?.stream)
  }

  /** The turn has the lock: from now on it has a deadline. {@link end} must follow. */
  begin(lockHolder?: LockHolder): void {
    this.lockHolder = lockHolder
    this.work.begin(lockHolder)
  }

  /** Another request took the session's lock: the turn may write no more, and nothing waits for it. */
  loseLock(): void {
    this.engine.turns.delete(this.work)
    this.work.abort(new SessionConflictError({ sessionId: this.sessionId }))
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
    for (const release of this.#releases ?? []) {
      try {
        release()
      } catch {
        // The turn is settled. A store that fails here must not change its reply.
      }
    }
    this.work.end()
  }
}
