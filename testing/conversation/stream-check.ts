/** Checks the events of a streamed turn against the promises of a stream. */
import type { FlowStreamEvent } from '../../src/index.js'
import { show } from '../expectations/expectation-error.js'

/** The events of one turn so far. */
export class StreamCheck {
  readonly events: FlowStreamEvent[] = []
  /** The text since the last reset. */
  text = ''
  /** The session of the stream; empty before its event. */
  session = ''
  /** Whether the events belong to another request. */
  #isJoined = false

  /** Takes an event; returns its problem, if it has one. */
  see(event: FlowStreamEvent): string | undefined {
    const isFirst = this.events.length === 0
    this.events.push(event)
    switch (event.type) {
      case 'session':
        // The session opens twice only if a request joined a turn, that turn was cancelled, and the request then ran
        // its own.
        if (!isFirst && (!this.#isJoined || event.replayed === true)) {
          return `The session was not the first event of the stream: ${this.pieces}.`
        }
        this.#isJoined = event.replayed === true
        this.session = event.session
        return undefined
      case 'text-delta':
        this.text += event.text
        return undefined
      case 'reset':
        this.text = ''
        return undefined
      case 'result': {
        const { message, session } = event.response
        if (this.session !== session)
          return `The stream is of session ${show(this.session)}, but its result is of session ${show(session)}.`
        if (this.text === '' || this.text === message) return undefined
        return `The texts of the stream since its last reset, joined, are not the message of its result:\n  ${show(this.text, 1000)}\n  ${show(message, 1000)}`
      }
      default:
        return undefined
    }
  }

  /** The types of the events, in order; equal types in a row are counted. */
  get pieces(): string {
    const runs: { readonly type: string; length: number }[] = []
    for (const { type } of this.events) {
      const last = runs.at(-1)
      if (last?.type === type) last.length++
      else runs.push({ type, length: 1 })
    }
    return runs.map(({ type, length }) => (length === 1 ? type : `${length} ${type}`)).join(', ') || 'none'
  }
}
