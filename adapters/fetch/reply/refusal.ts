/**
 * A request that this adapter refuses before the engine sees it. The function that finds the fault throws a Refusal;
 * the route handler turns it into a reply: an envelope with all five fields, as if the engine had failed it. The
 * sentences are fixed, apart from numbers from the options: no part of a request is echoed.
 */
import type { RunResponseType } from '../../../src/index.js'
import { codeHeader, completedHeader, type HeaderRecord, replyHeader } from '../core/header-names.js'
import { codeOfRefusal, type StatusMode, statusOfRefusal } from './statuses.js'

/** Why a request is refused: the sentence for the client, and the status that `statuses: 'precise'` gives it. */
export class Refusal extends Error {
  /** The status under `statuses: 'precise'`. Under `'contract'` it becomes 400, unless it is 404 or 405. */
  readonly preciseStatus: number
  /** The reader of a body that was not read to its end, or `'untouched'`; `undefined` if no bytes are left. */
  readonly unreadBody: ReadableStreamDefaultReader<Uint8Array> | 'untouched' | undefined

  constructor(
    message: string,
    preciseStatus = 400,
    unreadBody?: ReadableStreamDefaultReader<Uint8Array> | 'untouched' | undefined,
  ) {
    super(message)
    this.preciseStatus = preciseStatus
    this.unreadBody = unreadBody
  }
}

/** Makes the reply to a refused request, with `extraHeaders` added. */
export type RefusalReply = (request: Request, refusal: Refusal, extraHeaders: HeaderRecord | undefined) => Response

/** How long a late body is still read. Its client has the reply by then. */
const lateDrainMs = 1_000

/**
 * @param statuses - see the option of that name; 404 and 405 are the same in both modes
 * @param maxDrainBytes - how much of an oversized body is read and discarded
 * @param maxDrainMs - for how long
 */
export function createRefusalReply(statuses: StatusMode, maxDrainBytes: number, maxDrainMs: number): RefusalReply {
  return function replyToRefused(request, { message, preciseStatus, unreadBody }, extraHeaders) {
    const response: RunResponseType = {
      success: false,
      completed: true,
      message,
      session: '',
      contentType: 'text/plain',
    }
    const text = JSON.stringify(response)
    const status = statusOfRefusal(preciseStatus, statuses)
    const headers: HeaderRecord = {
      'Content-Type': 'application/json',
      [replyHeader]: 'envelope',
      [completedHeader]: 'true',
      [codeHeader]: codeOfRefusal(preciseStatus),
      ...extraHeaders,
    }
    if (unreadBody === undefined) return new Response(request.method === 'HEAD' ? null : text, { status, headers })
    const drainMs = preciseStatus === 408 ? Math.min(lateDrainMs, maxDrainMs) : maxDrainMs
    const draining = createDrainingBody(request, unreadBody, text, maxDrainBytes, drainMs)
    return new Response(draining.body, { status, headers: { ...headers, ...draining.headers } })
  }
}

/**
 * The body and the extra headers of a reply to a request whose body was too long, or too late, to read. If a connection
 * closes with unread bytes, the operating system drops the reply too. So the reply is sent at once but stays open while
 * a bounded remainder of the body is read and discarded; then the reply and the connection end.
 *
 * @param text - the reply
 * @param maxDrainBytes - how much of the remainder is read
 * @param maxDrainMs - for how long; `Infinity` for no limit
 */
export function createDrainingBody(
  request: Request,
  unreadBody: NonNullable<Refusal['unreadBody']>,
  text: string,
  maxDrainBytes: number,
  maxDrainMs: number = Number.POSITIVE_INFINITY,
): { readonly body: ReadableStream<Uint8Array>; readonly headers: Record<string, string> } {
  const bytes = new TextEncoder().encode(text)
  const reader = unreadBody === 'untouched' ? openReader(request) : unreadBody

  async function drain(): Promise<void> {
    let drained = 0
    while (reader !== undefined && drained < maxDrainBytes) {
      const { done, value } = await reader.read()
      if (done) return
      drained += value.byteLength
    }
    cancelRest()
  }

  /**
   * Not awaited: if a runtime has split the body by `tee()`, cancelling one half stays pending until the other half is
   * cancelled too.
   */
  function cancelRest(): void {
    reader?.cancel().catch(() => {})
  }

  let timer: ReturnType<typeof setTimeout> | undefined

  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      controller.enqueue(bytes)
      // This ends a waiting read, and with it the draining.
      if (reader !== undefined && maxDrainMs !== Number.POSITIVE_INFINITY) timer = setTimeout(cancelRest, maxDrainMs)
      const close = (): void => {
        clearTimeout(timer)
        // Throws if the client went away first and the reply is closed already.
        try {
          controller.close()
        } catch {}
      }
      drain().then(close, close)
    },
    cancel() {
      clearTimeout(timer)
      cancelRest()
    },
  })
  return { body, headers: { 'Content-Length': String(bytes.byteLength), Connection: 'close' } }
}

function openReader(request: Request): ReadableStreamDefaultReader<Uint8Array> | undefined {
  return request.body === null || request.body.locked ? undefined : request.body.getReader()
}
