/**
 * The turns with an idempotency key that run or wait in this engine, and those that a newer turn has superseded. A
 * repeat of one that runs or waits joins it and gets its outcome. A repeat of one that was superseded runs after the
 * newer turn, and never interrupts it.
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

/** What has to be known of the engine. */
interface Engine {
  readonly clock: Clock
  readonly limits: EngineLimits
  readonly events: EngineEvents
}

/** What a repeat of one request waits for. */
interface Entry {
  readonly control: KeyedTurn
  /** The signal of the turn's own caller. */
  readonly signal: AbortSignal | undefined
  /** The digest of the request. */
  readonly request: string
  /** Whether the turn is a newer one, which took the place of the one that was asked for. */
  readonly isSuperseded: boolean
  /** `undefined` if the turn is a newer one, which does not answer the request. Does not reject. */
  readonly outcome: Promise<TurnOutcome | undefined>
}

/** The keyed turns of one engine. */
export class KeyedTurns {
  readonly #entries = new Map<string, Entry>()
  /** Under which names a turn is found. */
  readonly #names = new WeakMap<KeyedTurn, Set<string>>()
  /** The names of the turns that a turn has superseded, oldest first. */
  readonly #followed = new WeakMap<KeyedTurn, readonly ReadonlySet<string>[]>()
  readonly #engine: Engine

  constructor(engine: Engine) {
    this.#engine = engine
  }

  /**
   * Runs a turn with a key, or joins the one that runs under the same key.
   *
   * @param run - Runs the turn. Must not reject.
   * @throws `IdempotencyMismatchError` where another request runs under the key, `TurnAbortedError`
   * where the caller leaves.
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

  /** Notes the session in which a turn goes on, so that a repeat joins it that names this one, or none. */
  addSession(control: KeyedTurn, sessionId: string): void {
    const { input } = control
    const entry = this.#entries.get(nameOf(input, input.sessionId))
    if (entry?.control !== control) return
    for (const name of [nameOf(input, sessionId), nameOf(input, undefined)]) {
      if (!this.#entries.has(name)) this.#add(control, name, entry)
    }
  }

  /**
   * Lets the repeats of turns that a newer one superseded wait until that one is settled, or the last of those that
   * supersede it in turn. At most as many messages are known as could have waited, so that they take no more memory.
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
      // The newer turn may be found under names of its own.
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
   * The outcome of a turn; `undefined` where the caller has to run it: its own caller cancelled it,
   * or the runtime dropped it.
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

  /** @throws `TurnAbortedError` where the caller of the repeat cancels it. */
  #outcomeWithin({ signal }: TurnInput, entry: Entry): Promise<TurnOutcome | undefined> {
    const { clock, limits } = this.#engine
    const ms = longestTurnMs(limits)
    return new Promise((resolve, reject) => {
      // The wait has a timer of its own: a runtime may drop a turn together with the timers that its request set.
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

/** What a repeat is found by: owners, sessions and keys never share a name. */
function nameOf({ idempotency, owner }: TurnInput, sessionId: string | undefined): string {
  const { key, claim } = idempotency as RequestKey
  return JSON.stringify(sessionId === undefined ? [claim] : [sessionId, owner ?? null, key])
}
