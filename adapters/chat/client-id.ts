/** IDs that clients make: of chats, threads, runs and messages. */

/** Whether a text can be such an ID. */
export function isClientId(id: unknown): id is string {
  return typeof id === 'string' && id !== '' && id.length <= 256
}

/** The ID of the reply to a message: the same whenever the message is sent again. */
export function replyIdOf(messageId: string): string {
  return `${messageId}-reply`
}

/** The ID that a segment of a path is; `undefined` if it is none. */
export function clientIdIn(segment: string): string | undefined {
  try {
    const id = decodeURIComponent(segment)
    return isClientId(id) ? id : undefined
  } catch {
    return undefined
  }
}
