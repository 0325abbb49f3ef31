/** The text of a failure that users of a chat read. */
import type { TurnOutcome } from './turn-broadcast.js'

/** A message was sent again with other content, or the history no longer has its reply. */
export const answeredBefore = 'This message was answered before. It cannot be changed or answered again.'

/** The engine's texts for these codes are about keys and session IDs, which neither the user nor the page has chosen. */
const texts: Readonly<Record<string, string | undefined>> = {
  IDEMPOTENCY_MISMATCH: answeredBefore,
  SESSION_ENDED: 'This conversation has ended. Begin a new one to go on.',
}

/** The text of a failure. A text from the engine's option `errorText` stays. */
export function failureText({ response, error }: Extract<TurnOutcome, { type: 'error' }>): string {
  const isEnginesOwn = response.message === error.message
  return (isEnginesOwn ? texts[error.code] : undefined) ?? response.message
}
