// The streamed reply to a turn, and its body: it asks the engine for the next piece only when the reader wants more, sends a
// comment now and then while there is nothing to send, and leaves the stream, which aborts the turn, when the reader goes away.
import type { FlowStream, FlowStreamEvent } from '../../../src/index.js'
import type { HeaderRecord } from '../header-names.js'
import { addSessionHeaders, type RunReplyForm } from './envelope.js'
import { encodeEvent, KEEP_ALIVE, type SentEvent } from './event-stream.js'

/** What the body of one reply is made from. */
export interface StreamSource {
  /** The piece that was read already. */
  readonly first: FlowStreamEvent
  /** The rest. */
  readonly events: FlowStream
  readonly heartbeatMs: number
  /** Is called with what the stream threw, which it should not. */
  readonly report: (error: unknown) => void
}

/** The reply to `POST /run` as server-sent events. `first` is the piece that its headers are made from. */
export function replyWithStream(source: StreamSource, form: Pick<RunReplyForm, 'dashed' | 'corsHeaders'>): Response {
  const headers: HeaderRecord = {
    // An event stream is UTF-8 always: its type needs no charset (WHATWG HTML, section 9.2.5).
    'Content-Type': 'text/event-stream',
    // A proxy that compresses would hold pieces back.
    'Cache-Control': 'no-store, no-transform',
    'X-Accel-Buffering': 'no',
    'X-Content-Type-Options': 'nosniff',
    'Chat-Reply': 'stream',
  }
  if (source.first.type === 'session') addSessionHeaders(headers, source.first.session, form.dashed)
  return new Response(createStreamBody(source), { status: 200, headers: { ...headers, ...form.corsHeaders } })
}

/** The bytes of the event stream. Never fails: what goes wrong is its last event. */
export function createStreamBody({ first, events, heartbeatMs, report }: StreamSource): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder()
  let sent = 0
  let session = ''
  let waiting = false
  let ended = false
  let heartbeat: ReturnType<typeof setInterval> | undefined

  function send(controller: ReadableStreamDefaultController<Uint8Array>, event: SentEvent): void {
    if (event.type === 'session') session = event.session
    controller.enqueue(encoder.encode(encodeEvent(event, ++sent)))
  }

  async function next(): Promise<SentEvent | undefined> {
    try {
      const { value } = await events.next()
      if (value !== undefined || ended) return value
      throw new Error('The stream of a turn ended without a result.')
    } catch (error) {
      report(error)
      return brokenOff(session)
    }
  }

  // Only while somebody waits: a body that is not read any more keeps no timer for longer than one beat.
  function startHeartbeat(controller: ReadableStreamDefaultController<Uint8Array>): void {
    if (heartbeat !== undefined || heartbeatMs === Infinity) return
    heartbeat = setInterval(function beat() {
      if (!waiting) stopHeartbeat()
      else if (controller.desiredSize === 0) controller.enqueue(encoder.encode(KEEP_ALIVE))
    }, heartbeatMs)
    // On Node a timer keeps the process alive, unless it is unreferenced.
    ;(heartbeat as { unref?(): void }).unref?.()
  }

  function stopHeartbeat(): void {
    clearInterval(heartbeat)
    heartbeat = undefined
  }

  async function leave(): Promise<void> {
    ended = true
    stopHeartbeat()
    try {
      await events.return()
    } catch (error) {
      report(error)
    }
  }

  return new ReadableStream<Uint8Array>(
    {
      start(controller) {
        send(controller, first)
      },
      async pull(controller) {
        waiting = true
        startHeartbeat(controller)
        const event = await next()
        waiting = false
        if (ended || event === undefined) return
        send(controller, event)
        if (event.type !== 'result' && event.type !== 'error') return
        controller.close()
        await leave()
      },
      cancel: leave,
    },
    // Nothing is read ahead.
    { highWaterMark: 0 },
  )
}

function brokenOff(session: string): SentEvent {
  const message = 'The request could not be handled.'
  return { type: 'error', response: { success: false, completed: true, message, session, contentType: 'text/plain' } }
}
