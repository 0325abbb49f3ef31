/**
 * One turn and its readers. The turn is read here, so it depends on no connection: readers come, leave and return, and
 * each gets all events that still count, from the first.
 */
import type { FlowStreamEvent } from '../../src/index.js'

/** The last event of a turn. */
export type TurnOutcome = Extract<FlowStreamEvent, { type: 'result' | 'error' }>

/** The events of a turn, as they come. */
export type TurnEvents = Pick<AsyncIterator<FlowStreamEvent, unknown, void>, 'next'>

/** A running or ended turn. */
export class TurnBroadcast {
  readonly #events: FlowStreamEvent[] = []
  readonly #aborter = new AbortController()
  readonly #settle: (outcome: TurnOutcome, hasBegun: boolean) => Promise<void>
  readonly #report: (error: unknown) => void
  /** Readers waiting for the next event. */
  #waiting: (() => void)[] = []
  #ended = false
  /** Resolves when the turn has begun; rejects with the error of `start`, and then there are no events. */
  readonly begun: Promise<unknown>
  /** Resolves after the last event. Never rejects. */
  readonly ended: Promise<void>

  /**
   * @param start - Starts the turn; the signal stops it.
   * @param settle - Awaited with the outcome before readers get it; `hasBegun` is whether the turn had opened its
   * session. If it throws, readers get no outcome.
   * @param report - Receives errors of `settle` and of the stream, which should never throw.
   */
  constructor(
    start: (signal: AbortSignal) => Promise<TurnEvents>,
    settle: (outcome: TurnOutcome, hasBegun: boolean) => Promise<void>,
    report: (error: unknown) => void,
  ) {
    this.#settle = settle
    this.#report = report
    const begun = start(this.#aborter.signal)
    this.begun = begun
    this.ended = begun.then(
      (stream) => this.#run(stream),
      () => this.#end(),
    )
  }

  /** The ID of the session once it is known; empty if the turn ended before that. */
  async session(): Promise<string> {
    for await (const event of this.read()) {
      if (event.type === 'session') return event.session
      if ('response' in event) return event.response.session
    }
    return ''
  }

  /** All events that count, including those before this call, and then the coming ones. */
  async *read(): AsyncGenerator<FlowStreamEvent, void> {
    const lastReset = this.#events.findLastIndex(({ type }) => type === 'reset')
    for (let index = 0; ; index++) {
      while (index >= this.#events.length) {
        if (this.#ended) return
        await new Promise<void>((resolve) => this.#waiting.push(resolve))
      }
      const event = this.#events[index] as FlowStreamEvent
      const isDiscarded = index <= lastReset && (event.type === 'text-delta' || event.type === 'reset')
      if (!isDiscarded) yield event
    }
  }

  /** Stops the turn, unless its commit has begun. When the turn has ended, resolves to whether it was stopped. */
  async stop(): Promise<boolean> {
    this.#aborter.abort()
    await this.ended
    const last = this.#events.at(-1)
    return last?.type === 'error' && last.error.code === 'TURN_ABORTED'
  }

  async #run(stream: TurnEvents): Promise<void> {
    try {
      while (!this.#ended) {
        const { value, done } = await stream.next()
        if (done === true || value === undefined) break
        const isOutcome = value.type === 'result' || value.type === 'error'
        if (isOutcome) {
          const hasBegun = this.#events.some(({ type }) => type === 'session')
          await this.#settle(value, hasBegun)
        }
        this.#ended = isOutcome
        this.#events.push(value)
        this.#wake()
      }
    } catch (error) {
      this.#report(error)
    }
    this.#end()
  }

  #end(): void {
    this.#ended = true
    this.#wake()
  }

  #wake(): void {
    const waiting = this.#waiting
    this.#waiting = []
    for (const resolve of waiting) resolve()
  }
}
