/**
 * Which session a chat goes on in. A client makes the ID of a chat, and the engine that of a session: this is what ties
 * them together where the client does not bring the session's ID (docs/decisions/0170-a-chat-belongs-to-its-owner.md).
 */

/** A chat: its ID means nothing without the other two. */
export interface Chat {
  /** The principal that `authorize` named. */
  readonly owner: string
  /** The name of the flow that is served. */
  readonly flow: string
  /** The ID that the client made. At most 256 characters, of any kind. */
  readonly id: string
}

/**
 * Where the session of each chat is kept, for clients that do not bring its ID, or bring that of a session which has
 * ended: a table of the application, for example.
 */
export interface ChatSessions {
  /**
   * The ID that was saved last for this owner, flow and ID together; `undefined` if there is none. It is called for
   * every message.
   *
   * @throws Anything if it cannot be asked. Then nothing is run, and `onError` receives the error. The same happens if
   * the call takes longer than 5 seconds, or returns what is not a session ID.
   */
  load(chat: Chat): Promise<string | undefined>
  /**
   * Keeps the ID, in place of an earlier one. It is called when the chat has another session than the one loaded. If it
   * throws, or takes longer than 5 seconds, `onError` receives the error, and the reply is sent without waiting
   * further.
   */
  save(chat: Chat, sessionId: string): Promise<void>
}

const maxChats = 10_000

/** The chats of this process that were used last. */
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

  /** Makes a chat the last one. */
  #set(name: string, sessionId: string): void {
    this.#sessions.delete(name)
    this.#sessions.set(name, sessionId)
  }
}

/** One text for a chat, different from that of every other chat. */
export function nameOf({ owner, flow, id }: Chat): string {
  return JSON.stringify([owner, flow, id])
}
