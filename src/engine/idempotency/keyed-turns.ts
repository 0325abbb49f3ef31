/**
 * The turns with an idempotency key that run or wait in this engine. A repeat of one of them is not a new message: it joins that
 * turn and gets its outcome.
 */
import { type Clock, setDeadline } from '../../config/clock.js'
import { IdempotencyMismatchError, TurnAbortedError } from '../../errors/engine-errors.js'
import { onAbort } from '../../util/on-abort.js'
import type { EngineEvents } from '../engine-events.js'
import type { EngineLimits } from '../engine-limits.js'
import type { RequestKey, TurnInput } from '../input/check-input.js'
import type { TurnOutcome } from '../turn/run-envelope.js'
import type { TurnStream } from '../turn/turn-stream.js'
import { reportReplay } from './receipts.js'

/** What has to be known of a turn. */
interface JoinableTurn {
  readonly turnId: string
  readonly flowName: string
  /** Whether `engine.cancel` ended it. */
  readonly isCancelled: boolean
}

/** A turn under way. */
interface KeyedTurn {
  readonly control: JoinableTurn
  readonly input: TurnInput
  readonly stream: TurnStream | undefined
  /** Resolves when the turn is settled. Does not reject. */
  readonly outcome: Promise<TurnOutcome>
  readonly names: Set<string>
}

/** How long a repeat waits for the turn that it joined, as multiples of the limits: its wait for the lock, and the turn itself. */
const mostTurnTimes = 2
const mostStoreTimes = 14

/** The keyed turns of one engine. */
export class KeyedTurns {
  readonly #turns = new Map<string, KeyedTurn>()
  readonly #engine: { readonly clock: Clock; readonly limits: EngineLimits; readonly events: EngineEvents }

  constructor(engine: { readonly clock: Clock; readonly limits: EngineLimits; readonly events: EngineEvents }) {
    this.#engine = engine
  }

  /**
   * Runs a turn with a key, or joins the one that runs under the same key.
   *
   * @param run - Runs the turn. Must not reject.
   * @throws `IdempotencyMismatchError` where another request runs under the key, `TurnAbortedError` where the caller leaves.
   */
  async run(
    control: JoinableTurn,
    input: TurnInput,
    stream: TurnStream | undefined,
    run: () => Promise<TurnOutcome>,
  ): Promise<TurnOutcome> {
    const { request } = input.idempotency as RequestKey
    const name = nameOf(input, input.sessionId)
    for (let current = this.#turns.get(name); current !== undefined; current = this.#turns.get(name)) {
      if (current.input.idempotency?.request !== request) throw new IdempotencyMismatchError()
      stream?.follow(current.stream)
      const outcome = await this.#join(input, current)
      if (outcome !== undefined) return outcome
    }
    return this.#begin(control, input, stream, name, run)
  }

  /** Notes the session in which a turn goes on, so that a repeat joins it that names this one, or none. */
  addSession(control: JoinableTurn, input: TurnInput, sessionId: string): void {
    const turn = this.#turns.get(nameOf(input, input.sessionId))
    if (turn?.control !== control) return
    for (const name of [nameOf(input, sessionId), nameOf(input, undefined)]) {
      if (this.#turns.has(name)) continue
      turn.names.add(name)
      this.#turns.set(name, turn)
    }
  }

  async #begin(
    control: JoinableTurn,
    input: TurnInput,
    stream: TurnStream | undefined,
    name: string,
    run: () => Promise<TurnOutcome>,
  ): Promise<TurnOutcome> {
    const names = new Set([name])
    let settle!: (outcome: TurnOutcome) => void
    const outcome = new Promise<TurnOutcome>((resolve) => {
      settle = resolve
    })
    const turn: KeyedTurn = { control, input, stream, outcome, names }
    this.#turns.set(name, turn)
    const result = await run()
    this.#remove(turn)
    settle(result)
    return result
  }

  #remove(turn: KeyedTurn): void {
    for (const name of turn.names) if (this.#turns.get(name) === turn) this.#turns.delete(name)
  }

  /** The outcome of a turn; `undefined` where the caller has to run it: its own caller cancelled it, or the runtime dropped it. */
  async #join(input: TurnInput, turn: KeyedTurn): Promise<TurnOutcome | undefined> {
    const outcome = await this.#outcomeWithin(input, turn)
    if (outcome === undefined) {
      this.#remove(turn)
      return undefined
    }
    const { isCancelled, turnId, flowName } = turn.control
    const isLeft = turn.input.signal?.aborted === true && !isCancelled
    if (outcome.error?.code === 'TURN_ABORTED' && isLeft) return undefined
    reportReplay(this.#engine, { sessionId: outcome.response.session, flowName, turnId, joined: true })
    return { ...outcome, replayed: true }
  }

  /** @throws `TurnAbortedError` where the caller of the repeat cancels it. */
  #outcomeWithin({ signal }: TurnInput, turn: KeyedTurn): Promise<TurnOutcome | undefined> {
    const { clock, limits } = this.#engine
    const ms = mostTurnTimes * limits.turnTimeoutMs + mostStoreTimes * limits.storeTimeoutMs
    return new Promise((resolve, reject) => {
      const abort = (): void => reject(new TurnAbortedError({ cause: signal?.reason }))
      // The wait has a timer of its own: a runtime may drop a turn together with the timers that its request set.
      const stopTimer = setDeadline(clock, ms, () => resolve(undefined))
      const stopListening = onAbort(signal, abort)
      if (signal?.aborted === true) abort()
      void turn.outcome.then(resolve).finally(() => {
        stopTimer()
        stopListening()
      })
    })
  }
}

/** What a repeat is found by: owners, sessions and keys never share a name. */
function nameOf({ idempotency, owner }: TurnInput, sessionId: string | undefined): string {
  const { key, claim } = idempotency as RequestKey
  return JSON.stringify(sessionId === undefined ? [claim] : [sessionId, owner ?? null, key])
}
