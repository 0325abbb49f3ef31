// What a provider's server sends for an answer of the suite, as status, headers and bytes. `models/wire-subject.ts` and
// `models/served-subject.ts` send it.
import type { ModelSuiteAnswer, ModelSuiteFailure } from '../../../suites/index.js'
import { type Chunking, chunkings } from './server-sent-events.js'
import type { WireFormat } from './wire-format.js'

/** What is sent, and what happens to the connection then: it ends in order, breaks, or stalls. */
export interface WireAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly chunks: readonly Uint8Array[]
  readonly ending: 'end' | 'cut' | 'stall'
}

const statuses = { 'rate-limit': 429, 'server-error': 500, overloaded: 529 } as const

const encoder = new TextEncoder()

function whole(body: unknown, status = 200, headers: Readonly<Record<string, string>> = {}): WireAnswer {
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  const allHeaders = { 'content-type': 'application/json', ...headers }
  return { status, headers: allHeaders, chunks: [encoder.encode(text)], ending: 'end' }
}

/** The first words of an answer. */
function beginning(format: WireFormat): readonly string[] {
  const events = format.events({ text: 'It is on its way.' })
  return events.slice(0, events.findIndex((event) => event.includes('"It is')) + 1)
}

/** Whether a request asks for a stream. */
export function asksForStream(url: string, body: Readonly<Record<string, unknown>>): boolean {
  return body.stream === true || url.includes(':stream')
}

/** What `format`'s server sends for `answer`; `undefined` for one that sends nothing at all. */
export function wireAnswer(
  format: WireFormat,
  answer: ModelSuiteAnswer | undefined,
  isStream: boolean,
  chunking: Chunking = chunkings.eventByEvent,
): WireAnswer | undefined {
  if (answer === undefined) return whole(format.error(500, 'No answer is left.'), 500)
  if ('failure' in answer) return failureOf(answer)
  return isStream ? streamOf(format.events(answer)) : whole(format.reply(answer))

  function streamOf(events: readonly string[], ending: WireAnswer['ending'] = 'end'): WireAnswer {
    return { status: 200, headers: { 'content-type': 'text/event-stream' }, chunks: chunking(events), ending }
  }

  function failureOf({ failure }: ModelSuiteFailure): WireAnswer | undefined {
    switch (failure) {
      case 'never':
        return undefined
      case 'cut':
      case 'stall':
        return streamOf(beginning(format), failure)
      case 'broken-off':
        return streamOf([...beginning(format), format.overloadedEvent])
      case 'malformed':
        return isStream ? streamOf(['data: {"id": "cut off\n\n']) : whole('{"id": "cut off')
      case 'malformed-arguments':
        return isStream ? streamOf(format.malformedArguments?.events ?? []) : whole(format.malformedArguments?.reply)
      default: {
        const status = statuses[failure]
        const headers = failure === 'rate-limit' ? { 'retry-after': '1' } : {}
        return whole(format.error(status, `The server says ${status}.`), status, headers)
      }
    }
  }
}
