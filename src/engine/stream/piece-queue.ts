/**
 * A queue of pieces for the reader of a stream, and of calls of `next` waiting for pieces. `turn-stream.ts` makes the
 * pieces.
 */
import type { FlowStreamEvent } from '../core/flow-stream.js'

/** The capacity of the queue, in pieces. */
const maxWaiting = 16

/** The result of a stream's `next`. */
export type Read = IteratorResult<FlowStreamEvent, undefined>

export const finished: Read = { done: true, value: undefined }

interface WaitingPiece {
  readonly event: FlowStreamEvent
  readonly id: string
}

/** The reader's side of a stream. */
export class PieceQueue {
  /** The ID of the last read piece. */
  lastEventId = ''
  #waiting: WaitingPiece[] = []
  /** The waiting call of `next`, and the calls after it. */
  #reader: ((read: Read) => void) | undefined
  readonly #moreReaders: ((read: Read) => void)[] = []
  /** Resolves when there is room again. */
  #room: Promise<void> | undefined
  #makeRoom: (() => void) | undefined
  #hasEnded = false

  next(): Promise<Read> {
    const piece = this.#waiting.shift()
    if (piece !== undefined) {
      this.#makeRoom?.()
      return Promise.resolve(this.#read(piece))
    }
    if (this.#hasEnded) return Promise.resolve(finished)
    return new Promise((resolve) => {
      if (this.#reader === undefined) this.#reader = resolve
      else this.#moreReaders.push(resolve)
    })
  }

  /**
   * Adds a piece.
   *
   * @param joins - Whether it may be joined with waiting pieces, so that a slow reader never has more than the text so
   * far in the queue.
   */
  push(piece: WaitingPiece, joins: boolean): void {
    if (this.#hasEnded) return
    const reader = this.#reader
    if (reader === undefined) {
      if (joins) this.#join(piece)
      else this.#waiting.push(piece)
      return
    }
    this.#reader = this.#moreReaders.length === 0 ? undefined : this.#moreReaders.shift()
    reader(this.#read(piece))
  }

  /** If the queue is full, a promise that resolves when there is room. */
  room(): Promise<void> | undefined {
    if (this.#waiting.length < maxWaiting) return undefined
    this.#room ??= new Promise((resolve) => {
      this.#makeRoom = () => {
        this.#room = undefined
        this.#makeRoom = undefined
        resolve()
      }
    })
    return this.#room
  }

  /** Closes the queue: no pieces follow the waiting ones. */
  end(): void {
    this.#hasEnded = true
    this.#reader?.(finished)
    for (const reader of this.#moreReaders.splice(0)) reader(finished)
  }

  /** Empties the queue, because the reader has left. */
  leave(): void {
    this.end()
    this.#waiting.length = 0
    this.#makeRoom?.()
  }

  #read({ event, id }: WaitingPiece): Read {
    this.lastEventId = id
    return { done: false, value: event }
  }

  /** Joins a text with the text before it. A reset removes the unread texts and resets before it. */
  #join(piece: WaitingPiece): void {
    const { event, id } = piece
    const last = this.#waiting.at(-1)?.event
    if (event.type === 'text-delta' && last?.type === 'text-delta') {
      this.#waiting[this.#waiting.length - 1] = { event: { type: 'text-delta', text: last.text + event.text }, id }
      return
    }
    if (event.type === 'reset') {
      this.#waiting = this.#waiting.filter(({ event: { type } }) => type !== 'text-delta' && type !== 'reset')
    }
    this.#waiting.push(piece)
  }
}
