/** Sends comments on a silent event stream, so that proxies see that the connection is alive. */
import { keepAlive } from './event-stream.js'

/**
 * The comments of one stream. They go out only while its reader waits, so a body that is no longer read keeps a timer
 * for one period at most.
 */
export class Heartbeat {
  readonly #ms: number
  #isWaiting = false
  #timer: ReturnType<typeof setInterval> | undefined

  /** @param ms - the longest silence; `Infinity` for no comments */
  constructor(ms: number) {
    this.#ms = ms
  }

  /** The reader begins to wait. */
  start(controller: ReadableStreamDefaultController<Uint8Array>): void {
    this.#isWaiting = true
    if (this.#timer !== undefined || this.#ms === Infinity) return
    this.#timer = setInterval(() => {
      if (!this.#isWaiting) this.stop()
      else if (controller.desiredSize === 0) controller.enqueue(new TextEncoder().encode(keepAlive))
    }, this.#ms)
    // On Node a timer keeps the process alive unless it is unreferenced.
    ;(this.#timer as { unref?(): void }).unref?.()
  }

  /** A piece has come: the reader no longer waits. */
  pause(): void {
    this.#isWaiting = false
  }

  /** The stream has ended. */
  stop(): void {
    clearInterval(this.#timer)
    this.#timer = undefined
  }
}
