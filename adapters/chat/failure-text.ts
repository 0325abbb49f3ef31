/** The text of a failure that users of a chat read. */
import type { TurnOutcome } from './turn-broadcast.js'

/** A message was sent again with other content, or the history no longer has its reply. */
export const answeredBefore = 'This message was answered before. It cannot be changed or answered again.'

/**
 * The text of a failure. The engine's text mentions an idempotency key, which neither the user nor the page has chosen:
 * this adapter derives it from IDs. A text from the engine's option `errorText` stays.
 */
export function failureText({ response, error }: Extract<TurnOutcome, { type: 'error' }>): string {
  const isEnginesOwn = response.message === error.message
  return error.code === 'IDEMPOTENCY_MISMATCH' && isEnginesOwn ? answeredBefore : response.message
}
