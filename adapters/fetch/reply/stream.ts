/**
 * The streamed reply to a turn. Its body pulls the next piece from the engine only when the reader wants more, sends
 * comments during silence, and leaves the stream when the reader goes away.
 */
import type { FlowStream, FlowStreamEvent } from '../../../src/index.js'
import { type HeaderRecord, replyHeader } from '../core/header-names.js'
import { addSessionHeaders, type RunReplyForm } from './envelope.js'
import { encodeEvent, eventStreamHeaders, type SentEvent } from './event-stream.js'
import { Heartbeat } from './heartbeat.js'
import { addOriginHeaders } from './outcome.js'

/** The parts of one reply's body. */
export interface StreamSource {
  /** The piece that has been read already. */
  readonly first: FlowStreamEvent
  /** The remaining pieces. */
  readonly events: FlowStream
  readonly heartbeatMs: number
  /** Whether pieces that name steps and tools are sent. */
  readonly details: boolean
  /** Receives an error thrown by the stream, which should never throw. */
  readonly report: (error: unknown) => void
}

/** The reply to `POST /run` as server-sent events. Its headers come from the piece `first`. */
export function replyWithStream(source: StreamSource, form: Pick<RunReplyForm, 'dashed' | 'headers'>): Response {
  const headers: HeaderRecord = {
    ...form.headers,
    ...eventStreamHeaders,
    [replyHeader]: 'stream',
  }
  const { first } = source
  if (first.type === 'session') {
    addSessionHeaders(headers, first.session, form.dashed)
    addOriginHeaders(headers, first)
  }
  return new Response(createStreamBody(source), { status: 200, headers })
}

/** The bytes of the event stream. It never fails: an error becomes its last event. */
export function createStreamBody(source: StreamSource): ReadableStream<Uint8Array> {
  // Nothing is read ahead.
  return new ReadableStream(new StreamBody(source), { highWaterMark: 0 })
}

type Controller = ReadableStreamDefaultController<Uint8Array>

class StreamBody implements UnderlyingDefaultSource<Uint8Array> {
  readonly #source: StreamSource
  readonly #encoder = new TextEncoder()
  /** How many events were sent; the ID of an event that has none. */
  #sent = 0
  #session = ''
  #ended = false
  readonly #heartbeat: Heartbeat

  constructor(source: StreamSource) {
    this.#source = source
    this.#heartbeat = new Heartbeat(source.heartbeatMs)
  }

  start(controller: Controller): void {
    if (this.#isSent(this.#source.first)) this.#send(controller, this.#source.first)
  }

  async pull(controller: Controller): Promise<void> {
    this.#heartbeat.start(controller)
    const event = await this.#next()
    this.#heartbeat.pause()
    if (this.#ended || event === undefined) return
    this.#send(controller, event)
    if (event.type !== 'result' && event.type !== 'error') return
    controller.close()
    await this.cancel()
  }

  async cancel(): Promise<void> {
    this.#ended = true
    this.#heartbeat.stop()
    try {
      await this.#source.events.return()
    } catch (error) {
      this.#source.report(error)
    }
  }

  /** The names of steps and tools reveal how the application is built. */
  #isSent({ type }: FlowStreamEvent): boolean {
    return this.#source.details || !(type === 'step' || type === 'tool-start' || type === 'tool-end')
  }

  #send(controller: Controller, event: SentEvent): void {
    if (event.type === 'session') this.#session = event.session
    this.#sent++
    const { lastEventId } = this.#source.events
    controller.enqueue(this.#encoder.encode(encodeEvent(event, isEventId(lastEventId) ? lastEventId : `${this.#sent}`)))
  }

  async #next(): Promise<SentEvent | undefined> {
    try {
      while (true) {
        const { value } = await this.#source.events.next()
        if (this.#ended) return undefined
        if (value === undefined) throw new Error('The stream of a turn ended without a result.')
        if (this.#isSent(value)) return value
      }
    } catch (error) {
      this.#source.report(error)
      return brokenOff(this.#session)
    }
  }
}

/** Whether clients can send an ID back in a header. An engine wrapper may give none, or anything. */
function isEventId(id: unknown): id is string {
  return typeof id === 'string' && /^[\x21-\x7e]{1,512}$/.test(id)
}

function brokenOff(session: string): SentEvent {
  const message = 'The request could not be handled.'
  const response = { success: false, completed: true, message, session, contentType: 'text/plain' }
  return { type: 'error', response, sessionState: 'unknown' }
}
