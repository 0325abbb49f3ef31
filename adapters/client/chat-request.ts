/** One attempt to send a message: the request, and the events of its reply, streamed or not. */
import type { ChatOutcome, ChatTurnEvent } from './chat-events.js'
import { type ChatServer, silenceMs } from './chat-server.js'
import { readEvents } from './read-events.js'

/** The code of a message that no request could be made for. */
export const notSentCode = 'REQUEST_ERROR'

/** A message on its way to the server. */
export interface ChatMessage {
  /** Names the message, so that it is answered once however often it is sent. Made once, before it is sent first. */
  readonly key: string
  readonly text: string
  readonly attachments?: readonly ChatAttachment[]
  /** Goes with every message, because the server may start a session in place of one that is gone; others ignore it. */
  readonly config?: Readonly<Record<string, unknown>>
  /** The session that it is sent to: empty for a new one, absent before the message was sent. */
  session?: string
}

/** What is known of a message that is sent. */
export interface Delivery {
  readonly message: ChatMessage
  /** Whether an attempt ended without an outcome: the server may have got the message, and stored its turn. */
  mayBeStored: boolean
}

/** An image or another file that goes with a message, as base64 of the standard alphabet, or by its address. */
export interface ChatAttachment {
  readonly type: 'image' | 'file'
  /** Such as `image/png`. */
  readonly mediaType: string
  readonly data?: string
  readonly url?: string
  readonly name?: string
}

/** An event with its ID, by which the stream can be read on. */
export type IdentifiedEvent = ChatTurnEvent & { readonly id: string }

/**
 * The events of one attempt. It ends without an outcome if the network was lost: whether the turn ran is unknown then, and the key
 * makes it safe to send the message again.
 *
 * @param lastEventId - The last event that an earlier attempt brought; empty if there was none.
 */
export async function* attempt(
  server: ChatServer,
  flow: string,
  delivery: Delivery,
  lastEventId: string,
): AsyncGenerator<IdentifiedEvent, void, void> {
  const { message } = delivery
  let body: string | undefined
  let headers: Headers
  try {
    server.checkUrl()
    body = bodyOf(flow, message)
    headers = await server.headers(message.session ?? '', headersOf(message, lastEventId))
  } catch (error) {
    // A TypeError may be that of a `fetch` for a token, whose network was lost.
    const isLost = body !== undefined && error instanceof TypeError
    if (!isLost) yield { type: 'error', id: lastEventId, data: notSent(error) }
    return
  }
  const connection = new AbortController()
  const close = (): void => connection.abort()
  let silence = setTimeout(close, silenceMs)
  const onBytes = (): void => {
    clearTimeout(silence)
    silence = setTimeout(close, silenceMs)
  }
  try {
    const request = { method: 'POST', signal: connection.signal, headers, body }
    const response = await server.send('run?envelope=1', request)
    const restarted = response.headers.get('Chat-Session-Restarted')
    if (response.headers.get('Chat-Reply') !== 'stream' || response.body === null) {
      const data = await readOutcome(response)
      yield { type: data.success ? 'result' : 'error', id: lastEventId, data: withRestarted(data, restarted) }
      return
    }
    for await (const { type, id, data } of readEvents(response.body, onBytes)) {
      // What the server sends has this form: docs/streaming.md.
      yield { type, id, data: withRestarted(JSON.parse(data), restarted) } as IdentifiedEvent
    }
  } catch {
    // The network was lost, or what came is not what the server sends: there is no outcome.
  } finally {
    clearTimeout(silence)
    close()
  }
  delivery.mayBeStored = true
}

function bodyOf(flow: string, { text, attachments = [], config }: ChatMessage): string {
  return JSON.stringify({
    flowName: flow,
    message: text,
    ...(attachments.length > 0 && { attachments }),
    config,
  })
}

function headersOf({ key }: ChatMessage, lastEventId: string): Record<string, string> {
  return {
    Accept: 'text/event-stream',
    'Content-Type': 'application/json',
    'Idempotency-Key': key,
    ...(lastEventId === '' ? {} : { 'Last-Event-ID': lastEventId }),
  }
}

function withRestarted<Data extends object>(data: Data, restarted: string | null): Data {
  return restarted === null ? data : { restarted, ...data }
}

/**
 * The outcome in a reply that is not a stream.
 *
 * @throws If something in front of the server answered in its place, and may let the message pass in a moment.
 */
async function readOutcome(response: Response): Promise<ChatOutcome> {
  const { status, headers } = response
  if (headers.has('Chat-Reply')) {
    const encoding = headers.get('Chat-Encoding')
    const code = headers.get('Chat-Error')
    return {
      ...(await response.json()),
      sessionState: headers.get('Chat-Session-State') ?? 'unknown',
      ...(encoding === null ? {} : { encoding }),
      ...(code === null ? {} : { code }),
      ...(headers.has('Chat-Replayed') ? { replayed: true } : {}),
    }
  }
  // What a proxy or `authorize` refuses once it refuses again.
  if (status < 400 || status > 499 || status === 408 || status === 429) throw new Error(`Status ${status}.`)
  return refused(`The message was refused with the status ${status}.`, String(status))
}

/** The outcome where no request could be made: the config is not JSON, or the function of the headers failed. */
function notSent(error: unknown): ChatOutcome {
  return refused(error instanceof Error ? error.message : String(error), notSentCode)
}

/** An outcome that is not that of the server, and says nothing about the session. */
function refused(message: string, code: string): ChatOutcome {
  const text = { message, contentType: 'text/plain' } as const
  return { success: false, completed: true, ...text, session: '', sessionState: 'unknown', code }
}
