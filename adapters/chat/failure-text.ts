/** What users of a chat read of a failure. */
import type { TurnOutcome } from './turn-broadcast.js'

/** A message came again with another content, or the history does not keep its reply any more. */
export const answeredBefore = 'This message was answered before. It can be neither changed nor answered anew.'

/**
 * The text of a failure. That of the engine speaks of an idempotency key, which neither the user nor the page has made:
 * the key of a chat's message is made of IDs. A text that the engine's option `errorText` has chosen stays.
 */
export function failureText({ response, error }: Extract<TurnOutcome, { type: 'error' }>): string {
  const isEnginesOwn = response.message === error.message
  return error.code === 'IDEMPOTENCY_MISMATCH' && isEnginesOwn ? answeredBefore : response.message
}
