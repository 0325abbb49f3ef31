// Decides which session a request names, and in which form of the header. Whether there is such a session is for the
// engine to say.
import { isSessionId } from '../../../src/util/patterns.js'
import { Refusal } from '../reply/refusal.js'

/** The name of the header that carries the session ID, as the contract has it. */
export const SESSION_HEADER = 'CHAT_SESSION_ID'

/** The same header without underscores: nginx and others drop names with underscores unless told otherwise. */
export const DASHED_SESSION_HEADER = 'Chat-Session-Id'

/** What a request says about its session. */
export interface NamedSession {
  /** The session ID; empty for a new session. */
  readonly sessionId: string
  /** Whether the form with dashes was used, even with an empty value; then the reply has it too. */
  readonly dashed: boolean
}

const NO_SESSION: NamedSession = { sessionId: '', dashed: false }

/** @throws Refusal for a value that cannot be a session ID, and for two headers that differ. */
export function readSessionHeader(headers: Headers): NamedSession {
  const underscored = headers.get(SESSION_HEADER)
  const dashed = headers.get(DASHED_SESSION_HEADER)
  if (underscored === null && dashed === null) return NO_SESSION
  if (underscored !== null && dashed !== null && underscored !== dashed) {
    throw new Refusal('The headers CHAT_SESSION_ID and Chat-Session-Id carry different session IDs.')
  }
  const sessionId = underscored ?? dashed ?? ''
  if (sessionId !== '' && !isSessionId(sessionId)) {
    throw new Refusal(
      'The CHAT_SESSION_ID header must be at most 256 visible ASCII characters, without spaces and commas, and be sent once.',
    )
  }
  return { sessionId, dashed: dashed !== null }
}
