/** A turn of a scripted service as a stream that can be stopped at any time. */
import type { FlowStream, FlowStreamEvent } from '../../src/index.js'

type Read = IteratorResult<FlowStreamEvent, undefined>

/** The events of one turn. */
export class ServiceStream implements FlowStream {
  /** Resolves when the turn has ended, or was stopped. */
  readonly over: Promise<void>
  /** The ID of the event that was read last, as the engine's streams have it. */
  lastEventId = ''
  readonly #turnId: string
  #read = 0
  readonly #events: AsyncGenerator<FlowStreamEvent, undefined, void>
  readonly #controller = new AbortController()
  #end: () => void = () => undefined

  /**
   * @param turnId - The ID of the turn, a part of the events' IDs.
   * @param signal - The page's.
   * @param start - Makes the turn; the signal it is given fires when the page disconnects, or stops reading.
   */
  constructor(
    turnId: string,
    signal: AbortSignal | undefined,
    start: (left: AbortSignal) => AsyncGenerator<FlowStreamEvent, undefined, void>,
  ) {
    this.#turnId = turnId
    this.over = new Promise((resolve) => {
      this.#end = resolve
    })
    const leave = (): void => this.#controller.abort()
    if (signal?.aborted === true) leave()
    else signal?.addEventListener('abort', leave, { once: true })
    this.#events = start(this.#controller.signal)
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  async next(): Promise<Read> {
    const read = await this.#events.next()
    if (read.value !== undefined) this.lastEventId = `${this.#turnId}:${++this.#read}`
    if (read.value === undefined || read.value.type === 'result' || read.value.type === 'error') this.#end()
    return read
  }

  async return(): Promise<Read> {
    this.#controller.abort()
    this.#end()
    return this.#events.return(undefined)
  }
}

/** A text as a list: its words, each with the spaces before it. */
export function piecesOf(text: string | readonly string[]): readonly string[] {
  return typeof text === 'string' ? (text.match(/\s*\S+(?:\s+$)?|^\s+$/g) ?? []) : text
}
