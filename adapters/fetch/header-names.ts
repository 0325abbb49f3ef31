/** The names of the session header, and the shape in which headers are put together. */

/** The name of the header that carries the session ID, as the contract has it. */
export const sessionHeader = 'CHAT_SESSION_ID'

/** The same header without underscores: nginx and others drop names with underscores by default. */
export const dashedSessionHeader = 'Chat-Session-Id'

/** Header lines by name. */
export type HeaderRecord = Record<string, string>
