/**
 * The pieces of a turn as the text of an event stream (WHATWG HTML, "Server-sent events", section 9.2.6): fields in
 * lines, an empty line after each event. The data is one line of JSON. Every line break, NUL and lone surrogate is
 * escaped, so no text of a flow can end an event or begin a field. Characters that only some languages treat as line
 * ends are escaped too.
 */
import type { FlowStreamEvent } from '../../../src/index.js'
import { codeOf, replayedOf, restartedOf, stateOf } from './outcome.js'
import { sentParts } from './sent-parts.js'

type FailedEvent = Extract<FlowStreamEvent, { type: 'error' }>

/** A piece of a turn. If the adapter itself failed, it has no error. */
export type SentEvent =
  | Exclude<FlowStreamEvent, { type: 'error' }>
  | (Omit<FailedEvent, 'error'> & Partial<Pick<FailedEvent, 'error'>>)

/** A comment. Readers drop it, and proxies see that the connection is alive. */
export const keepAlive = ': keep-alive\n\n'

/** The headers of an event stream. It is always UTF-8, so its type needs no charset (WHATWG HTML, section 9.2.5). */
export const eventStreamHeaders: Readonly<Record<string, string>> = {
  'Content-Type': 'text/event-stream',
  // A proxy that compresses or buffers would delay events.
  'Cache-Control': 'no-store, no-transform',
  'X-Accel-Buffering': 'no',
}

/**
 * One event.
 *
 * @param id - must not contain line breaks
 */
export function encodeEvent(event: SentEvent, id: string): string {
  return `event: ${event.type}\nid: ${id}\n${dataLine(dataOf(event))}`
}

/** The data of an event, and the end of the event. */
export function dataLine(data: unknown): string {
  return `data: ${JSON.stringify(data).replace(/[\x85\u2028\u2029]/g, asEscape)}\n\n`
}

function asEscape(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
}

function dataOf(event: SentEvent): object {
  switch (event.type) {
    case 'result':
      return { ...event.response, ...outcomeOf(event), encoding: event.encoding, parts: sentParts(event) }
    case 'error':
      // Only the text and the code of an error leave the process.
      return { ...event.response, contentType: 'text/plain', ...outcomeOf(event), code: codeOf(event.error) }
    default: {
      const { type: _type, ...data } = event
      return data
    }
  }
}

function outcomeOf(event: Extract<SentEvent, { type: 'result' | 'error' }>): object {
  return { sessionState: stateOf(event), replayed: replayedOf(event), restarted: restartedOf(event) }
}
