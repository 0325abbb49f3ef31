/** The names of the headers that more than one module uses, and the type of a set of headers. */

/** The session ID, in the spelling of the contract. */
export const sessionHeader = 'CHAT_SESSION_ID'

/** The same header with dashes: nginx and others drop names with underscores by default. */
export const dashedSessionHeader = 'Chat-Session-Id'

/** Whether a reply is the envelope, raw, or a stream. */
export const replyHeader = 'Chat-Reply'

/** The field `completed` of the envelope. */
export const completedHeader = 'Chat-Completed'

/** Marks an envelope whose message is bytes in base64. */
export const encodingHeader = 'Chat-Encoding'

/** Whether the session goes on. */
export const stateHeader = 'Chat-Session-State'

/** Why a new session was started instead of continuing the requested one. */
export const restartedHeader = 'Chat-Session-Restarted'

/** Marks a reply that was replayed from an earlier request with the same key. */
export const replayedHeader = 'Chat-Replayed'

/** The key of a request. A client sends it again to repeat the request safely. */
export const keyHeader = 'Idempotency-Key'

/** The last stream event that the client received from an earlier request with the same key. */
export const lastEventHeader = 'Last-Event-ID'

/** The code of a failure. */
export const codeHeader = 'Chat-Error'

/** The ID of a request in events and logs. */
export const requestIdHeader = 'Chat-Request-Id'

/** Header lines by name. */
export type HeaderRecord = Record<string, string>
