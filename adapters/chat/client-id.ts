/** IDs that clients make for chats, threads, runs and messages. */

/** Whether a text is a valid ID. */
export function isClientId(id: unknown): id is string {
  return typeof id === 'string' && id !== '' && id.length <= 256
}

/** The ID of the reply to a message: the same whenever the message is sent again. */
export function replyIdOf(messageId: string): string {
  return `${messageId}-reply`
}

/** The ID in a path segment; `undefined` if it is invalid. */
export function clientIdIn(segment: string): string | undefined {
  try {
    const id = decodeURIComponent(segment)
    return isClientId(id) ? id : undefined
  } catch {
    return undefined
  }
}
