/**
 * Maps a chat to its session. The client makes chat IDs and the engine makes session IDs; the mapping is used if the
 * client does not send a session ID (docs/decisions/chats.md).
 */

/** A chat: its ID means nothing without the other two. */
export interface Chat {
  /** The principal from `authorize`. */
  readonly owner: string
  /** The name of the served flow. */
  readonly flow: string
  /** The ID that the client made. At most 256 characters, of any kind. */
  readonly id: string
}

/**
 * Stores the session of each chat, for clients that send no session ID, or the ID of a session that has ended. For
 * example a table of the application.
 */
export interface ChatSessions {
  /**
   * Returns the last saved session ID for this owner, flow and chat ID; `undefined` if there is none. Called for every
   * message.
   *
   * @throws Any error. Then no turn runs, and `onError` receives the error. The same happens if the call takes longer
   * than 5 seconds, or returns anything but a session ID.
   */
  load(chat: Chat): Promise<string | undefined>
  /**
   * Saves the session ID, replacing an earlier one. Called if the chat's session differs from the loaded one. If it
   * throws, or takes longer than 5 seconds, `onError` receives the error, and the reply is sent without further
   * waiting.
   */
  save(chat: Chat, sessionId: string): Promise<void>
}

const maxChats = 10_000

/** The most recently used chats of this process. */
export class MemoryChatSessions implements ChatSessions {
  readonly #sessions = new Map<string, string>()

  async load(chat: Chat): Promise<string | undefined> {
    const name = nameOf(chat)
    const sessionId = this.#sessions.get(name)
    if (sessionId !== undefined) this.#set(name, sessionId)
    return sessionId
  }

  async save(chat: Chat, sessionId: string): Promise<void> {
    this.#set(nameOf(chat), sessionId)
    const [oldest] = this.#sessions.keys()
    if (this.#sessions.size > maxChats && oldest !== undefined) this.#sessions.delete(oldest)
  }

  /** Makes a chat the most recent one. */
  #set(name: string, sessionId: string): void {
    this.#sessions.delete(name)
    this.#sessions.set(name, sessionId)
  }
}

/** A text that is unique for each chat. */
export function nameOf({ owner, flow, id }: Chat): string {
  return JSON.stringify([owner, flow, id])
}
