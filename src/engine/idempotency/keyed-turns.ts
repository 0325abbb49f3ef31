/**
 * The running and waiting turns with an idempotency key in this engine, and the superseded ones. A repeat of a running
 * or waiting turn joins it and gets its outcome. A repeat of a superseded turn runs after the newer turn, and never
 * interrupts it.
 */
import { type Clock, setDeadline } from '../../config/clock.js'
import { IdempotencyMismatchError, TurnAbortedError } from '../../errors/engine-errors.js'
import { onAbort } from '../../util/on-abort.js'
import type { KeyedTurn } from '../core/engine-context.js'
import type { EngineEvents } from '../core/engine-events.js'
import { type EngineLimits, longestTurnMs } from '../core/engine-limits.js'
import type { TurnOutcome } from '../core/run-envelope.js'
import type { RequestKey, TurnInput } from '../core/turn-input.js'
import { reportReplay } from './receipts.js'

/** The used part of the engine. */
interface Engine {
  readonly clock: Clock
  readonly limits: EngineLimits
  readonly events: EngineEvents
}

/** The turn that a repeat waits for. */
interface Entry {
  readonly control: KeyedTurn
  /** The signal of the turn's own caller. */
  readonly signal: AbortSignal | undefined
  /** The digest of the request. */
  readonly request: string
  /** Whether this is a newer turn that superseded the requested one. */
  readonly isSuperseded: boolean
  /** `undefined` if this is a newer turn, which does not answer the request. Does not reject. */
  readonly outcome: Promise<TurnOutcome | undefined>
}

/** The keyed turns of one engine. */
export class KeyedTurns {
  readonly #entries = new Map<string, Entry>()
  /** The names by which a turn is found. */
  readonly #names = new WeakMap<KeyedTurn, Set<string>>()
  /** The names of the turns superseded by a turn, oldest first. */
  readonly #followed = new WeakMap<KeyedTurn, readonly ReadonlySet<string>[]>()
  readonly #engine: Engine

  constructor(engine: Engine) {
    this.#engine = engine
  }

  /**
   * Runs a turn with a key, or joins the turn that is running under the same key.
   *
   * @param run - Runs the turn. Must not reject.
   * @throws `IdempotencyMismatchError` if another request is running under the key; `TurnAbortedError` if the caller
   * leaves
   */
  async run(control: KeyedTurn, run: () => Promise<TurnOutcome>): Promise<TurnOutcome> {
    const { input } = control
    const { request } = input.idempotency as RequestKey
    const name = nameOf(input, input.sessionId)
    for (let current = this.#entries.get(name); current !== undefined; current = this.#entries.get(name)) {
      if (current.request !== request) throw new IdempotencyMismatchError()
      control.readFrom(current.isSuperseded ? undefined : current.control)
      const outcome = await this.#join(input, name, current)
      if (outcome !== undefined) return outcome
    }
    return this.#begin(control, name, run)
  }

  /** Notes the session of a turn, so that a repeat that names this session, or none, joins the turn. */
  addSession(control: KeyedTurn, sessionId: string): void {
    const { input } = control
    const entry = this.#entries.get(nameOf(input, input.sessionId))
    if (entry?.control !== control) return
    for (const name of [nameOf(input, sessionId), nameOf(input, undefined)]) {
      if (!this.#entries.has(name)) this.#add(control, name, entry)
    }
  }

  /**
   * Makes repeats of superseded turns wait until the newer turn has settled, or the last of those that supersede it in
   * turn. The number of remembered messages is bounded by the number that could have waited.
   */
  follow(superseded: readonly KeyedTurn[], newer: KeyedTurn): void {
    const all = superseded.flatMap((former) => {
      const own = this.#names.get(former)
      return [...(this.#followed.get(former) ?? []), ...(own === undefined ? [] : [own])]
    })
    if (all.length === 0) return
    const followed = all.slice(-this.#engine.limits.maxQueuedTurnsPerSession)
    this.#followed.set(newer, followed)
    const outcome = newer.outcome.then(() => undefined)
    const names = followed.flatMap((some) => [...some])
    for (const name of names) {
      const entry = this.#entries.get(name)
      // The newer turn may have its own names.
      if (entry === undefined || entry.control === newer) continue
      this.#entries.set(name, { ...entry, control: newer, isSuperseded: true, outcome })
    }
    void outcome.then(() => {
      for (const name of names) if (this.#entries.get(name)?.outcome === outcome) this.#entries.delete(name)
    })
  }

  async #begin(control: KeyedTurn, name: string, run: () => Promise<TurnOutcome>): Promise<TurnOutcome> {
    const { idempotency, signal } = control.input
    const { request } = idempotency as RequestKey
    let settle!: (outcome: TurnOutcome) => void
    const outcome = new Promise<TurnOutcome>((resolve) => {
      settle = resolve
    })
    const entry: Entry = { control, signal, request, isSuperseded: false, outcome }
    this.#add(control, name, entry)
    const result = await run()
    this.#remove(control, entry)
    settle(result)
    return result
  }

  #add(control: KeyedTurn, name: string, entry: Entry): void {
    const names = this.#names.get(control) ?? new Set()
    names.add(name)
    this.#names.set(control, names)
    this.#entries.set(name, entry)
  }

  #remove(control: KeyedTurn, entry: Entry): void {
    for (const name of this.#names.get(control) as Set<string>) {
      if (this.#entries.get(name) === entry) this.#entries.delete(name)
    }
  }

  /**
   * The outcome of a turn; `undefined` if the repeat must run the turn itself, because the first caller cancelled it or
   * the runtime dropped it.
   */
  async #join(input: TurnInput, name: string, entry: Entry): Promise<TurnOutcome | undefined> {
    const { control, signal } = entry
    const outcome = await this.#outcomeWithin(input, entry)
    if (outcome === undefined) {
      if (this.#entries.get(name) === entry) this.#entries.delete(name)
      return undefined
    }
    const { isCancelled, turnId, flowName } = control
    if (outcome.error?.code === 'TURN_ABORTED' && signal?.aborted === true && !isCancelled) return undefined
    const { requestId, owner } = input
    const request = requestId === undefined ? {} : { requestId }
    const { session: sessionId } = outcome.response
    reportReplay(this.#engine, { sessionId, flowName, turnId, ...request, owner, joined: true })
    return { ...outcome, replayed: true }
  }

  /** @throws `TurnAbortedError` if the caller of the repeat cancels it */
  #outcomeWithin({ signal }: TurnInput, entry: Entry): Promise<TurnOutcome | undefined> {
    const { clock, limits } = this.#engine
    const ms = longestTurnMs(limits)
    return new Promise((resolve, reject) => {
      // The wait has a separate timer, because a runtime may drop a turn together with the timers of its request.
      const stopTimer = setDeadline(clock, ms, () => resolve(undefined))
      const end = (): void => {
        stopTimer()
        stopListening()
      }
      const abort = (): void => {
        end()
        reject(new TurnAbortedError({ cause: signal?.reason }))
      }
      const stopListening = onAbort(signal, abort)
      if (signal?.aborted === true) abort()
      void entry.outcome.then(resolve).finally(end)
    })
  }
}

/** The name by which a repeat is found, unique for each owner, session and key. */
function nameOf({ idempotency, owner }: TurnInput, sessionId: string | undefined): string {
  const { key, claim } = idempotency as RequestKey
  return JSON.stringify(sessionId === undefined ? [claim] : [sessionId, owner ?? null, key])
}
