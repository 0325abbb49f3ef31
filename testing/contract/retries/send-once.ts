/** Sends a request to a worker once. What is sent under one key is the same each time, to the byte. */
import { sharedNow } from '../storm/turn-record.js'
import type { KeyedAnswer, KeyedTurn } from './keyed-turn.js'

/** The request of a message. @param key - Default: it has none. */
export function requestOf(
  flowName: string,
  { message, asked }: Pick<KeyedTurn, 'message' | 'asked'>,
  key: string | undefined,
): RequestInit {
  const headers: Record<string, string> = { 'Content-Type': 'application/json' }
  if (asked !== '') headers['Chat-Session-Id'] = asked
  if (key !== undefined) headers['Idempotency-Key'] = key
  return { method: 'POST', headers, body: JSON.stringify({ flowName, message }) }
}

/** Sends it; `undefined` if no whole reply came within `waitMs`. */
export async function sendOnce(url: string, request: RequestInit, waitMs: number): Promise<KeyedAnswer | undefined> {
  try {
    const reply = await fetch(url, { ...request, signal: AbortSignal.timeout(waitMs) })
    const body = await reply.text()
    const header = (name: string): string => reply.headers.get(name) ?? ''
    return {
      at: sharedNow(),
      status: reply.status,
      contentType: header('Content-Type'),
      session: header('CHAT_SESSION_ID'),
      state: header('Chat-Session-State'),
      code: header('Chat-Error'),
      isReplayed: header('Chat-Replayed') === 'true',
      body,
    }
  } catch {
    return undefined
  }
}
