/**
 * Logs calls of `turn.once` that no code awaited: usually an `await` is missing. It does not affect the turn, because
 * flow code may also race the work against its own time limit.
 */
import { flowCodeError } from '../../../errors/engine-errors.js'
import type { ObservedPromise } from '../../../util/observed-promise.js'
import { shownName } from '../../../util/shown-name.js'
import type { EngineContext } from '../../core/engine-context.js'
import type { FailedTurn } from '../../core/engine-options.js'
import { logFailure, maskedText, thrownText } from '../../core/error-text.js'

/** One call of `turn.once`. */
export interface OnceCall {
  readonly name: string
  /** The session's step; `null` before the first one. */
  readonly step: string | null
}

interface FailedCall extends OnceCall {
  readonly error: unknown
  /** Whether the turn was over, so that its code received another error instead, or none. */
  readonly isLate: boolean
  readonly result: ObservedPromise<unknown>
}

/** The reports of one turn. A failed turn reports only its own failure. */
export class OnceReports {
  readonly #turn: { readonly engine: EngineContext; readonly ids: FailedTurn }
  /** The unfinished calls by name; each is logged once. */
  #unfinished: ReadonlyMap<string, OnceCall> = new Map()
  readonly #failed = new Map<string, FailedCall>()
  #hasCommitted = false

  constructor(turn: { readonly engine: EngineContext; readonly ids: FailedTurn }) {
    this.#turn = turn
  }

  /** Called before the turn is stored without the results of these calls. */
  close(unfinished: ReadonlyMap<string, OnceCall>): void {
    this.#unfinished = unfinished
  }

  /** Called when a call has failed. Only the commit shows whether its code received the error. */
  addFailed(call: FailedCall): void {
    if (this.#hasCommitted) this.#logFailed(call)
    else this.#failed.set(call.name, call)
  }

  /** Called when the turn was committed. */
  committed(): void {
    this.#hasCommitted = true
    for (const call of this.#unfinished.values()) this.#warnOf(call)
    for (const call of this.#failed.values()) this.#logFailed(call)
  }

  #warnOf(call: OnceCall): void {
    const { engine, ids } = this.#turn
    const text = `${this.#placed(call)} had not ended when its turn was stored. Its result is not kept: a later call runs the work again, with uncertain: true. Write: await turn.once(...).`
    const { step } = call
    const log = async (): Promise<void> =>
      engine.logger.warn(maskedText(engine, text, ids, undefined), { ...ids, step })
    // A logger that throws or rejects must not affect the reply.
    log().catch(() => undefined)
  }

  #logFailed(call: FailedCall): void {
    if (!call.isLate && call.result.isObserved) return
    const { engine, ids } = this.#turn
    const text = `${this.#placed(call)} failed, and no code received its error. Write: await turn.once(...). The error: ${thrownText(call.error)}`
    logFailure(engine, flowCodeError(text, call.error), ids)
  }

  #placed({ name, step }: OnceCall): string {
    // A refused name may be any value.
    const shown = typeof name === 'string' ? shownName(name) : typeof name
    return `turn.once('${shown}') in ${step === null ? '' : `step '${step}' of `}flow '${this.#turn.ids.flowName}'`
  }
}
