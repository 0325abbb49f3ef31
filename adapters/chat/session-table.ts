/** Asks the application's `ChatSessions`, which may take any time and return anything. */
import { isSessionId } from '../../src/util/patterns.js'
import type { Chat, ChatSessions } from './chat-sessions.js'

/** How long `ChatSessions` may take to load or save. */
const maxTableMs = 5_000

/** The saved sessions of chats. */
export class SessionTable {
  readonly #sessions: ChatSessions

  constructor(sessions: ChatSessions) {
    this.#sessions = sessions
  }

  /** The saved session of a chat. @throws An error for the operator. */
  async load(chat: Chat): Promise<string | undefined> {
    const late = `chats.load has not settled within ${maxTableMs} ms. Nothing was run.`
    const session: unknown = await inTime(this.#sessions.load(chat), late)
    // A table may have an empty text, or null.
    if (session === undefined || session === null || session === '') return undefined
    if (typeof session === 'string' && isSessionId(session)) return session
    const got =
      typeof session === 'string' ? 'a text that is not a session ID' : `a value of the type ${typeof session}`
    throw new TypeError(`chats.load must return the ID that was saved, or undefined if there is none; got ${got}.`)
  }

  /** Saves the session of a chat. @throws An error for the operator. */
  save(chat: Chat, sessionId: string): Promise<void> {
    const late = `chats.save has not settled within ${maxTableMs} ms. The reply does not wait for it.`
    return inTime(this.#sessions.save(chat, sessionId), late)
  }
}

/**
 * @throws An error with this message if the work takes too long: a table may never answer while other messages wait.
 */
async function inTime<Value>(work: Promise<Value>, message: string): Promise<Value> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(message)), maxTableMs)
  })
  try {
    return await Promise.race([work, late])
  } finally {
    clearTimeout(timer)
  }
}
