/**
 * The control of one turn, which its functions pass along: its input, its identity and events (`turn-events.ts`), its
 * deadline and abort (`turn-work.ts`), the locks and leases it holds, and its progress.
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
  /** The holder of the session's lock for the turn; `undefined` before, and in tests that need none. */
  lockHolder: LockHolder | undefined
  /** The draft, set once a failure of the turn affects its session; `undefined` before. */
  draft: TurnDraft | undefined
  /** The effects of `turn.once` in this turn; `undefined` if there are none. They outlive a draft. */
  effects: TurnEffects | undefined
  /** Whether `turn.once` may begin work: only while the turn has a draft and has not begun its commit. */
  mayBeginEffects = true
  /** The stored state of the requested session, as far as the turn has seen it. */
  stateOfGivenId: SessionState | undefined
  /** Why the turn starts a new session instead of continuing the requested one; `undefined` if it does not. */
  restarted: ExecuteResult['restarted'] | undefined
  /** The error code of the turn; `undefined` before it has settled, and if it succeeded. */
  failure: FlowErrorCode | undefined
  /** Work that outlives the turn: it runs after the reply, without the session's lock. */
  afterTurnTask: (() => Promise<void>) | undefined
  /** `undefined` in a plain turn: {@link contend} makes it. */
  contention: Contention | undefined
  readonly #stream: TurnStream | undefined
  /** Releases the sessions that the store must not evict during the turn. */
  #releases: (() => void)[] | undefined

  /** The turn of the same event that met a conflict; `undefined` if there is none. */
  readonly after: TurnControl | undefined

  /**
   * @param options - `turnId`: the turn's ID. Default: a new one. `after`: the turn of the same event that met a
   * conflict: this one has its deadline.
   */
  constructor(
    engine: EngineContext,
    input: TurnInput,
    flowName: string,
    sessionId: string,
    options: {
      readonly stream?: TurnStream | undefined
      readonly turnId?: string
      readonly after?: TurnControl
    } = {},
  ) {
    super(engine, input, flowName, sessionId, options.turnId ?? engine.generateId('turn'))
    const { after } = options
    this.after = after
    if (after !== undefined) this.work.startedAt = after.work.startedAt
    this.#stream = options.stream ?? (after === undefined ? undefined : after.#stream)
    if (this.#stream !== undefined) this.#stream.turnId = this.turnId
  }

  contend(): Contention {
    this.contention ??= new Contention()
    return this.contention
  }

  get isCancelled(): boolean {
    return this.contention?.isCancelled === true
  }

  /** Resolves when the turn has settled. Call it before that. */
  get outcome(): Promise<TurnOutcome> {
    return this.contend().outcome
  }

  /** The stream of the turn; `undefined` if it has no reader, or the turn was aborted. */
  get stream(): TurnStream | undefined {
    return this.work.isAborted ? undefined : this.#stream
  }

  readFrom(other: TurnControl | undefined): void {
    this.#stream?.follow(other?.stream)
  }

  /** Called when the turn has the lock: starts its deadline. {@link end} must follow. */
  begin(lockHolder?: LockHolder): void {
    this.lockHolder = lockHolder
    this.work.begin(lockHolder)
  }

  /** Called when another request took the session's lock: the turn may no longer write, and nothing waits for it. */
  loseLock(): void {
    this.engine.turns.delete(this.work)
    this.work.abort(new SessionConflictError({ sessionId: this.sessionId }))
  }

  /** Prevents the store from evicting a session before the turn has ended. */
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

  /** Called when the turn has settled: releases everything that it held. */
  end(): void {
    for (const release of this.#releases ?? []) {
      try {
        release()
      } catch {
        // The turn has settled. A store that fails here must not change its reply.
      }
    }
    this.work.end()
  }
}
