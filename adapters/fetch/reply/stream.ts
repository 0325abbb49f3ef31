/**
 * The streamed reply to a turn, and its body: it asks the engine for the next piece only when the reader wants more, sends a
 * comment now and then while there is nothing to send, and leaves the stream when the reader goes away.
 */
import type { FlowStream, FlowStreamEvent } from '../../../src/index.js'
import type { HeaderRecord } from '../header-names.js'
import { addSessionHeaders, type RunReplyForm } from './envelope.js'
import { encodeEvent, keepAlive, type SentEvent } from './event-stream.js'
import { addOriginHeaders } from './outcome.js'

/** What the body of one reply is made from. */
export interface StreamSource {
  /** The piece that was read already. */
  readonly first: FlowStreamEvent
  /** The rest. */
  readonly events: FlowStream
  readonly heartbeatMs: number
  /** Whether pieces that name steps and tools are sent. */
  readonly details: boolean
  /** Is called with what the stream threw, which it should not. */
  readonly report: (error: unknown) => void
}

/** The reply to `POST /run` as server-sent events. `first` is the piece that its headers are made from. */
export function replyWithStream(source: StreamSource, form: Pick<RunReplyForm, 'dashed' | 'headers'>): Response {
  const headers: HeaderRecord = {
    ...form.headers,
    // An event stream is UTF-8 always: its type needs no charset (WHATWG HTML, section 9.2.5).
    'Content-Type': 'text/event-stream',
    // A proxy that compresses would hold pieces back.
    'Cache-Control': 'no-store, no-transform',
    'X-Accel-Buffering': 'no',
    'Chat-Reply': 'stream',
  }
  const { first } = source
  if (first.type === 'session') {
    addSessionHeaders(headers, first.session, form.dashed)
    addOriginHeaders(headers, first)
  }
  return new Response(createStreamBody(source), { status: 200, headers })
}

/** The bytes of the event stream. Never fails: what goes wrong is its last event. */
export function createStreamBody(source: StreamSource): ReadableStream<Uint8Array> {
  // Nothing is read ahead.
  return new ReadableStream(new StreamBody(source), { highWaterMark: 0 })
}

type Controller = ReadableStreamDefaultController<Uint8Array>

class StreamBody implements UnderlyingDefaultSource<Uint8Array> {
  readonly #source: StreamSource
  readonly #encoder = new TextEncoder()
  /** How many events were sent: the IDs of those that have none. */
  #sent = 0
  #session = ''
  #waiting = false
  #ended = false
  #heartbeat: ReturnType<typeof setInterval> | undefined

  constructor(source: StreamSource) {
    this.#source = source
  }

  start(controller: Controller): void {
    if (this.#isSent(this.#source.first)) this.#send(controller, this.#source.first)
  }

  async pull(controller: Controller): Promise<void> {
    this.#waiting = true
    this.#startHeartbeat(controller)
    const event = await this.#next()
    this.#waiting = false
    if (this.#ended || event === undefined) return
    this.#send(controller, event)
    if (event.type !== 'result' && event.type !== 'error') return
    controller.close()
    await this.cancel()
  }

  async cancel(): Promise<void> {
    this.#ended = true
    this.#stopHeartbeat()
    try {
      await this.#source.events.return()
    } catch (error) {
      this.#source.report(error)
    }
  }

  /** The names of steps and tools say how the application is built. */
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

  // Only while the reader waits: a body that is not read any more keeps no timer for longer than one beat.
  #startHeartbeat(controller: Controller): void {
    const { heartbeatMs } = this.#source
    if (this.#heartbeat !== undefined || heartbeatMs === Infinity) return
    this.#heartbeat = setInterval(() => {
      if (!this.#waiting) this.#stopHeartbeat()
      else if (controller.desiredSize === 0) controller.enqueue(this.#encoder.encode(keepAlive))
    }, heartbeatMs)
    // On Node a timer keeps the process alive, unless it is unreferenced.
    ;(this.#heartbeat as { unref?(): void }).unref?.()
  }

  #stopHeartbeat(): void {
    clearInterval(this.#heartbeat)
    this.#heartbeat = undefined
  }
}

/** Whether clients can send an ID back in a header. An object that stands in front of an engine may have none, or any. */
function isEventId(id: unknown): id is string {
  return typeof id === 'string' && /^[\x21-\x7e]{1,512}$/.test(id)
}

function brokenOff(session: string): SentEvent {
  const message = 'The request could not be handled.'
  const response = { success: false, completed: true, message, session, contentType: 'text/plain' }
  return { type: 'error', response, sessionState: 'unknown' }
}
