/** The names of the headers that more than one module uses, and the shape in which headers are put together. */

/** The name of the header that carries the session ID, as the contract has it. */
export const sessionHeader = 'CHAT_SESSION_ID'

/** The same header without underscores: nginx and others drop names with underscores by default. */
export const dashedSessionHeader = 'Chat-Session-Id'

/** Says whether a reply is the envelope, raw, or a stream. */
export const replyHeader = 'Chat-Reply'

/** Has the field `completed` of the envelope. */
export const completedHeader = 'Chat-Completed'

/** Says that the message of an envelope is bytes in base64. */
export const encodingHeader = 'Chat-Encoding'

/** Says whether the session goes on. */
export const stateHeader = 'Chat-Session-State'

/** Says why a new session answered and not the one that was asked for. */
export const restartedHeader = 'Chat-Session-Restarted'

/** Says that the reply is that of an earlier request with the same key. */
export const replayedHeader = 'Chat-Replayed'

/** Names a request, so that it can be sent again. */
export const keyHeader = 'Idempotency-Key'

/** The last event of a stream that a client has, from an earlier request with the same key. */
export const lastEventHeader = 'Last-Event-ID'

/** Has the code of a failure. */
export const codeHeader = 'Chat-Error'

/** Names a request in events and logs. */
export const requestIdHeader = 'Chat-Request-Id'

/** Header lines by name. */
export type HeaderRecord = Record<string, string>
