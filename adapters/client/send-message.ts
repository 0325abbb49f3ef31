/** Sends one message until there is an outcome, even if the network fails in between. */
import { type ChatOutcome, type ChatTurnEvent, outcomeOf } from './chat-events.js'
import type { Delivery } from './chat-message.js'
import { attempt, notSentCode } from './chat-request.js'
import type { ChatServer } from './chat-server.js'

const maxAttempts = 8
const firstPauseMs = 500
const longestPauseMs = 8000

/**
 * Whether a request is sent again, by the code of its failure. After any other code it is sent again if the state of
 * the session is unknown.
 */
const repeats: ReadonlyMap<string, boolean> = new Map(
  Object.entries({
    SESSION_CONFLICT: true,
    SESSION_BUSY: true,
    SESSION_STORE_ERROR: true,
    ENGINE_BUSY: true,
    ENGINE_CLOSED: true,
    INVALID_INPUT: false,
    LIMIT_EXCEEDED: false,
    IDEMPOTENCY_MISMATCH: false,
    TURN_ABORTED: false,
    TURN_SUPERSEDED: false,
    ROUTE_NOT_FOUND: false,
    METHOD_NOT_ALLOWED: false,
    [notSentCode]: false,
  }),
)

/**
 * The events of the message's turn. The last one is `result` or `error`. Every attempt has the key of the message, and
 * resumes after the last received event.
 *
 * @param stopped - Once aborted, nothing is sent again; the reply to a request already sent is still read.
 * @throws If there is no outcome after the last attempt, or after a stop.
 */
export async function* sendMessage(
  server: ChatServer,
  flow: string,
  delivery: Delivery,
  stopped: AbortSignal,
): AsyncGenerator<ChatTurnEvent, void, void> {
  let lastEventId = ''
  for (let number = 1; ; number++) {
    stopped.throwIfAborted()
    const wasSent = delivery.mayBeStored
    const mayRepeat = (): boolean => number < maxAttempts && !stopped.aborted
    for await (const event of attempt(server, flow, delivery, lastEventId, stopped)) {
      const outcome = outcomeOf(event)
      if (mayPass(outcome) && mayRepeat()) break
      delivery.mayBeStored = isInDoubt(outcome, wasSent)
      lastEventId = event.id
      yield event
      if (outcome !== undefined) return
    }
    if (!mayRepeat()) throw new Error('No reply came.')
    const afterMs = Math.min(firstPauseMs * 2 ** (number - 1), longestPauseMs)
    yield { type: 'retry', data: { attempt: number, afterMs } }
    await pause(afterMs, stopped)
  }
}

/** Whether the same request may soon have another outcome. */
function mayPass({ success, code = '', sessionState }: Partial<ChatOutcome> = { success: true }): boolean {
  if (success || /^\d+$/.test(code)) return false
  return repeats.get(code) ?? sessionState === 'unknown'
}

/**
 * Whether the turn may be stored if this is the only outcome. The reply to a save may have been lost. A sender that
 * does not know the session, such as a proxy that refuses, is not aware of earlier attempts; a first message has
 * none.
 */
function isInDoubt(outcome: ChatOutcome | undefined, wasSent: boolean): boolean {
  return outcome === undefined || mayPass(outcome) || (wasSent && ['unknown', 'none'].includes(outcome.sessionState))
}

/**
 * Waits, and waits again while the browser is offline. Ends when it is stopped.
 *
 * @throws If it was stopped before.
 */
async function pause(ms: number, stopped: AbortSignal): Promise<void> {
  do {
    stopped.throwIfAborted()
    await new Promise<void>((resolve) => {
      const end = (): void => {
        clearTimeout(timer)
        stopped.removeEventListener('abort', end)
        resolve()
      }
      const timer = setTimeout(end, ms)
      stopped.addEventListener('abort', end)
    })
  } while (globalThis.navigator?.onLine === false)
}
