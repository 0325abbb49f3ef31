/**
 * Waits for turns of a conversation. While only a delay of the test is waited for, it advances the clock; when nothing
 * happens any more, it reports who waits for what.
 */
import type { FlowEngine } from '../../../src/index.js'
import { ExpectationError } from '../../expectations/expectation-error.js'
import type { FakeSessionStore } from '../../fake-session-store/fake-session-store.js'
import { defaultHangAfterMs, unlessHanging } from '../../virtual-clock/hang-watch.js'
import { afterRealTime, inNextTask } from '../../virtual-clock/real-time.js'
import type { VirtualClock } from '../../virtual-clock/virtual-clock.js'
import { EngineActivity } from './engine-activity.js'
import { hangText } from './hang-report.js'
import { ReadingGate } from './reading-gate.js'
import { WaitingClock } from './waiting-clock.js'

/** What the driver looks at. */
export interface Driven {
  readonly engine: FlowEngine
  readonly store: FakeSessionStore
}

/** What a driver needs. */
export interface TurnDriverOptions {
  readonly clock: VirtualClock
  /** The current engine and its store; `undefined` if there is none. */
  current(): Driven | undefined
  /** Milliseconds of real time in which nothing happens, after which a turn hangs. Default 2 000. */
  readonly hangAfterMs: number | undefined
  /** Whether the only one who makes a store hang is the test. */
  readonly ownsData: boolean
}

/** Why nothing happens any more. */
export interface Hanging {
  readonly text: string
  /** Whether it is what turns have left behind: no turn hangs. */
  readonly isAfterTurn: boolean
}

/** How often a turn in which nothing happens is looked at in a row, before that happens less often. */
const manyIdleRounds = 20

/** Waits for the turns of one conversation. */
export class TurnDriver {
  /** For those who wait only because the test said so. */
  readonly waiting: WaitingClock
  /** Models answer behind it. */
  readonly gate: ReadingGate = new ReadingGate()
  readonly #options: TurnDriverOptions
  readonly #clock: VirtualClock
  readonly #activity: EngineActivity
  readonly #hangAfterMs: number
  /** Ends the waits for another attempt. */
  readonly #stopWaits = new Set<() => void>()
  #movedByHand = false
  #hang: Hanging | undefined

  constructor(options: TurnDriverOptions) {
    this.#options = options
    this.#clock = options.clock
    this.#hangAfterMs = options.hangAfterMs ?? defaultHangAfterMs
    this.waiting = new WaitingClock(options.clock)
    this.#activity = new EngineActivity(options.clock)
  }

  /** Follows a new engine. */
  watch(engine: FlowEngine): void {
    this.watchRetries(engine)
    this.#activity.watch(engine)
  }

  /** Advances the clock for the attempts of this engine too. */
  watchRetries(engine: FlowEngine): void {
    engine.on('model:retry', ({ delayMs }) => {
      if (delayMs > 0) this.#stopWaits.add(this.waiting.setTimer(() => undefined, delayMs))
    })
  }

  /** A turn begins: until the next {@link advance} the clock advances by itself. */
  begin(): void {
    this.#movedByHand = false
  }

  /** Advances the clock. From now on a turn under way depends on the caller's clock. */
  async advance(ms: number): Promise<void> {
    this.#movedByHand = true
    await this.#clock.advance(ms)
  }

  /** Why the current engine hangs; `undefined` if it does not. */
  get hang(): Hanging | undefined {
    return this.#hang
  }

  /** Waits until an engine is closed, also if one of its turns hangs. */
  async close(closing: Promise<void> | undefined): Promise<void> {
    const isHanging = this.#hang !== undefined
    this.#hang = undefined
    if (!isHanging || closing === undefined) return closing
    // A turn that hangs would be waited for: the time that it and the store are given has to pass.
    await this.#clock.runUntil(closing).catch(() => undefined)
  }

  /** Makes models answer only while {@link read} waits, until {@link answerFreely} is called. */
  answerWhileRead(): void {
    this.gate.begin()
  }

  /** {@link drive} for one event of a stream: models answer until it is there. */
  read<T>(piece: Promise<T>): Promise<T> {
    return this.drive(this.gate.read(piece))
  }

  /** The turn has ended: from now on models answer at once. */
  answerFreely(): void {
    this.gate.end()
    for (const stop of this.#stopWaits) stop()
    this.#stopWaits.clear()
  }

  /**
   * Waits for a turn, or for something of it. While only a delay of the test is waited for, the clock advances by
   * itself.
   *
   * @param options - `isAfterTurn`: whether it is what turns have left behind. For that the clock advances also after
   * an `advance`.
   * @throws `ExpectationError` (rejects) if nothing happens any more: see {@link hang}.
   */
  async drive<T>(
    something: Promise<T>,
    { isAfterTurn }: Pick<Hanging, 'isAfterTurn'> = { isAfterTurn: false },
  ): Promise<T> {
    const waiting = { isOver: false }
    const settled = something.finally(() => {
      waiting.isOver = true
    })
    // Most turns need no timer at all.
    await nextTask(settled)
    if (waiting.isOver) return settled
    const isLeftToCaller = (): boolean => this.#movedByHand && !isAfterTurn
    return unlessHanging(this.#advanceFor(settled, waiting, isLeftToCaller), {
      afterMs: this.#hangAfterMs,
      progress: () => this.#progress,
      report: () => {
        waiting.isOver = true
        this.#hang = { text: this.#hangText(isAfterTurn), isAfterTurn }
        return new ExpectationError(this.#hang.text)
      },
    })
  }

  /** Advances the clock until something settles, or the caller does so. */
  async #advanceFor<T>(
    settled: Promise<T>,
    waiting: { readonly isOver: boolean },
    isLeftToCaller: () => boolean,
  ): Promise<T> {
    for (let idleRounds = 0; !waiting.isOver && !isLeftToCaller(); idleRounds++) {
      const delay = this.#nextDelay()
      if (delay !== undefined) idleRounds = 0
      if (delay?.isCertain === true) await this.#clock.advance(delay.ms)
      // Only up to the deadline that ends it.
      else if (delay !== undefined) await this.#clock.runUntil(settled, { withinMs: delay.ms }).catch(() => undefined)
      await nextLook(settled, idleRounds)
    }
    return settled
  }

  #nextDelay(): { readonly ms: number; readonly isCertain: boolean } | undefined {
    const current = this.#options.current()
    // It was closed meanwhile.
    if (current === undefined) return undefined
    const { engine, store } = current
    const { turnTimeoutMs, storeTimeoutMs } = engine.limits
    const { next } = this.waiting
    if (next !== undefined && next !== Number.POSITIVE_INFINITY) return { ms: next, isCertain: true }
    const longest = next ?? (this.#options.ownsData && isHanging(store) ? storeTimeoutMs : undefined)
    if (longest === undefined) return undefined
    const ms = Math.min(longest, turnTimeoutMs)
    return Number.isFinite(ms) ? { ms, isCertain: false } : undefined
  }

  /** Differs whenever something has happened. */
  get #progress(): string {
    const journal = this.#options.current()?.store.journal ?? []
    const settled = journal.filter(({ outcome }) => outcome !== 'pending').length
    return [this.#activity.happened, this.#clock.monotonic(), journal.length, settled].join()
  }

  #hangText(isAfterTurn: boolean): string {
    const { requests, tools, summaries } = this.#activity
    return hangText({
      afterMs: this.#hangAfterMs,
      isAfterTurn,
      requests,
      summaries,
      journal: this.#options.current()?.store.journal ?? [],
      tools,
      timers: this.#clock.pending,
      isMovedByHand: this.#movedByHand && !isAfterTurn,
    })
  }
}

function isHanging(store: FakeSessionStore): boolean {
  return store.journal.at(-1)?.outcome === 'pending'
}

/** Waits for the next task of the event loop, or for a turn that ends before. */
function nextTask(turn: Promise<unknown>): Promise<void> {
  return soon(turn, inNextTask)
}

/**
 * The same, for a turn in which nothing happens: it may wait for something in real time, and is asked less often each
 * time.
 */
function nextLook(turn: Promise<unknown>, idleRounds: number): Promise<void> {
  if (idleRounds < manyIdleRounds) return nextTask(turn)
  return soon(turn, (resolve) => afterRealTime(resolve, Math.min(idleRounds - manyIdleRounds, 10)))
}

function soon(turn: Promise<unknown>, wait: (resolve: () => void) => () => void): Promise<void> {
  return new Promise((resolve) => {
    const stop = wait(resolve)
    const end = (): void => {
      stop()
      resolve()
    }
    turn.then(end, end)
  })
}
