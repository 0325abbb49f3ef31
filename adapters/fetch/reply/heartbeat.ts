/**
 * Comments on an event stream on which nothing else comes, so that everything in between sees that the connection
 * lives.
 */
import { keepAlive } from './event-stream.js'

/**
 * The comments of one stream. They go out only while its reader waits: a body that is not read any more keeps no timer
 * for longer than one beat.
 */
export class Heartbeat {
  readonly #ms: number
  #isWaiting = false
  #timer: ReturnType<typeof setInterval> | undefined

  /** @param ms - How long nothing may come. `Infinity`: there are no comments. */
  constructor(ms: number) {
    this.#ms = ms
  }

  /** The reader waits from now on. */
  start(controller: ReadableStreamDefaultController<Uint8Array>): void {
    this.#isWaiting = true
    if (this.#timer !== undefined || this.#ms === Infinity) return
    this.#timer = setInterval(() => {
      if (!this.#isWaiting) this.stop()
      else if (controller.desiredSize === 0) controller.enqueue(new TextEncoder().encode(keepAlive))
    }, this.#ms)
    // On Node a timer keeps the process alive, unless it is unreferenced.
    ;(this.#timer as { unref?(): void }).unref?.()
  }

  /** Something has come: the reader waits no more. */
  pause(): void {
    this.#isWaiting = false
  }

  /** The stream has ended. */
  stop(): void {
    clearInterval(this.#timer)
    this.#timer = undefined
  }
}
