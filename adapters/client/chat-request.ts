/** One attempt to send a message: the request, and the events of its reply, streamed or not. */
import type { ChatOutcome, ChatTurnEvent } from './chat-events.js'
import type { ChatMessage, Delivery } from './chat-message.js'
import { type ChatServer, openConnection } from './chat-server.js'
import { readEvents } from './read-events.js'

/** The code of a message that could not be sent. */
export const notSentCode = 'REQUEST_ERROR'

/** An event with its ID, with which the stream can be resumed. */
export type IdentifiedEvent = ChatTurnEvent & { readonly id: string }

/**
 * The events of one attempt. If the network is lost, they end without an outcome. Then it is unknown whether the turn
 * ran, and the key makes it safe to send the message again.
 *
 * @param lastEventId - The last event that an earlier attempt received; empty if there was none.
 * @param stopped - Once aborted, nothing is sent.
 */
export async function* attempt(
  server: ChatServer,
  flow: string,
  delivery: Delivery,
  lastEventId: string,
  stopped: AbortSignal,
): AsyncGenerator<IdentifiedEvent, void, void> {
  const { message } = delivery
  const { signal, onBytes, close } = openConnection()
  let isSent = false
  try {
    const headers = await server.headers(signal, message.session ?? '', headersOf(message, lastEventId))
    if (stopped.aborted) return
    onBytes()
    isSent = true
    delivery.mayBeStored = true
    const response = await server.send('run?envelope=1', {
      method: 'POST',
      signal,
      headers,
      body: bodyOf(flow, message),
    })
    yield* eventsOf(server, response, onBytes)
  } catch (error) {
    // A TypeError may come from a `fetch` for a token that lost the network. After the message was sent, the network
    // was lost or the reply was malformed: there is no outcome.
    if (!isSent && !(error instanceof TypeError)) {
      const reason = error instanceof Error ? error.message : String(error)
      yield { type: 'error', id: '', data: refused(reason, notSentCode) }
    }
  } finally {
    close()
  }
}

/** The events of a reply, streamed or not. */
async function* eventsOf(
  server: ChatServer,
  response: Response,
  onBytes: () => void,
): AsyncGenerator<IdentifiedEvent, void, void> {
  if (response.headers.get('Chat-Reply') !== 'stream' || response.body === null) {
    const data = await readOutcome(server, response)
    yield { type: data.success ? 'result' : 'error', id: '', data }
    return
  }
  for await (const { type, id, data } of readEvents(response.body, onBytes)) {
    // The format of the server: docs/streaming.md.
    yield { type, id, data: JSON.parse(data) } as IdentifiedEvent
  }
}

function bodyOf(flowName: string, { key: _key, session: _session, text: message, ...more }: ChatMessage): string {
  return JSON.stringify({ flowName, message, ...more })
}

function headersOf({ key }: ChatMessage, lastEventId: string): Record<string, string> {
  return {
    Accept: 'text/event-stream',
    'Content-Type': 'application/json',
    'Idempotency-Key': key,
    'Last-Event-ID': lastEventId,
  }
}

/**
 * The outcome in a plain reply.
 *
 * @throws If a proxy answered instead of the server, and may let the message pass later.
 */
async function readOutcome(server: ChatServer, response: Response): Promise<ChatOutcome> {
  const { status, headers } = response
  if (headers.has('Chat-Reply')) {
    const encoding = headers.get('Chat-Encoding')
    const code = headers.get('Chat-Error')
    const restarted = headers.get('Chat-Session-Restarted')
    return {
      ...(await response.json()),
      sessionState: headers.get('Chat-Session-State') ?? 'unknown',
      ...(encoding && { encoding }),
      ...(code && { code }),
      ...(restarted && { restarted }),
      ...(headers.has('Chat-Replayed') && { replayed: true }),
    }
  }
  // A repeated request would get the same 4xx, except 408 and 429.
  const message = server.refusalOf(response)
  if (status < 400 || status > 499 || status === 408 || status === 429) throw new Error(message)
  return refused(message, String(status))
}

/** An outcome that the server did not send; the session's state is unknown. */
function refused(message: string, code: string): ChatOutcome {
  const contentType = 'text/plain'
  return { success: false, completed: true, message, contentType, session: '', sessionState: 'unknown', code }
}
