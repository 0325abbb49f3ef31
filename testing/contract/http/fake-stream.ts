// A stream of a turn in the hands of a test: it gives what was pushed, waits for more, and records how it was read.
import type { FlowStream, FlowStreamEvent } from '../../../src/index.js'

type Piece = IteratorResult<FlowStreamEvent, undefined>

/** A {@link FlowStream} in the hands of a test. */
export class FakeStream implements FlowStream {
  /** The ID of the piece that was read last; set by a test. */
  lastEventId = ''
  /** How many pieces were requested. */
  asked = 0
  /** How often the reader left. */
  left = 0
  /** What leaving resolves with; a gate, or something that rejects. */
  whenLeft: Promise<unknown> = Promise.resolve()
  readonly #ready: Promise<Piece>[] = []
  readonly #waiting: ((piece: Piece | Promise<Piece>) => void)[] = []

  /** @param events - pushed at once */
  constructor(...events: readonly FlowStreamEvent[]) {
    this.push(...events)
  }

  /** Gives these to the next reader. */
  push(...events: readonly FlowStreamEvent[]): void {
    for (const value of events) this.#give(Promise.resolve({ done: false, value }))
  }

  /** Ends without a result, as no engine does. */
  end(): void {
    this.#give(Promise.resolve({ done: true, value: undefined }))
  }

  /** Throws, as no engine does. */
  fail(error: unknown): void {
    const failed = Promise.reject(error)
    failed.catch(() => {})
    this.#give(failed)
  }

  next(): Promise<Piece> {
    this.asked++
    return this.#ready.shift() ?? new Promise((resolve) => this.#waiting.push(resolve))
  }

  async return(): Promise<Piece> {
    this.left++
    for (const resolve of this.#waiting.splice(0)) resolve({ done: true, value: undefined })
    await this.whenLeft
    return { done: true, value: undefined }
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  #give(piece: Promise<Piece>): void {
    const resolve = this.#waiting.shift()
    if (resolve === undefined) this.#ready.push(piece)
    else resolve(piece)
  }
}
