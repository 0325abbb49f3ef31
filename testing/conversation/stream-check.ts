/** Holds the pieces of a streamed turn to what a stream promises. Reading them is done elsewhere. */
import type { FlowStreamEvent } from '../../src/index.js'
import { show } from '../expectations/expectation-error.js'

/** The pieces of one turn so far. */
export class StreamCheck {
  readonly events: FlowStreamEvent[] = []
  /** The text since the last reset. */
  text = ''
  /** The session that the stream told of; empty before. */
  session = ''

  /** Takes a piece; answers with what it breaks, in words. */
  see(event: FlowStreamEvent): string | undefined {
    const isFirst = this.events.length === 0
    this.events.push(event)
    switch (event.type) {
      case 'session':
        if (!isFirst) return `The stream told of its session after other pieces: ${this.pieces}.`
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
          return `The stream told of session ${show(this.session)}, and its result is of ${show(session)}.`
        if (this.text === '' || this.text === message) return undefined
        return `The texts of the stream since its last reset, joined, are not the message of its result:\n  ${show(this.text, 1000)}\n  ${show(message, 1000)}`
      }
      default:
        return undefined
    }
  }

  /** The types of the pieces, in order; those of one type that came one after the other are counted. */
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
