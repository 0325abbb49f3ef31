/** Stores the session and the unanswered messages of a chat across page loads. */
import type { ChatMessage } from './chat-message.js'

/** `sessionStorage`, `localStorage`, or an object with the same three methods. */
export interface ChatStorage {
  /** The text stored under a name; `null` if there is none. */
  getItem(name: string): string | null
  /** Stores a text. */
  setItem(name: string, value: string): void
  /** Removes it. */
  removeItem(name: string): void
}

/** The stored data. */
export interface KeptChat {
  /** Empty if the next message starts a session. */
  readonly session: string
  readonly pending: readonly ChatMessage[]
}

/** Stores one chat under a name. */
export class ChatRecord {
  readonly #storage: ChatStorage | undefined
  readonly #name: string
  /** The last stored data, without texts and attachments. */
  #summary = ''

  constructor(storage: ChatStorage | undefined, name: string) {
    this.#storage = storage
    this.#name = name
  }

  /** Reads the stored data. Unreadable data counts as none: the next message starts a session. */
  read(): KeptChat {
    try {
      const { session, pending } = JSON.parse(this.#storage?.getItem(this.#name) ?? '')
      if (typeof session === 'string') return { session, pending: pending.filter(isMessage) }
    } catch {
      // Nothing was stored, or other code wrote there.
    }
    return { session: '', pending: [] }
  }

  /**
   * Writes only if the session or the list of messages has changed: attachments are large, and pieces of text are many.
   */
  keep(kept: KeptChat): void {
    const summary = JSON.stringify(kept, ['session', 'pending', 'key'])
    if (summary === this.#summary) return
    this.#summary = summary
    this.#write(kept)
  }

  /** A full or forbidden storage throws. The chat goes on, but a reload forgets the refused data. */
  #write(kept: KeptChat): void {
    try {
      if (kept.session === '' && kept.pending.length === 0) this.#storage?.removeItem(this.#name)
      else this.#storage?.setItem(this.#name, JSON.stringify(kept))
    } catch {
      // The attachments may be too large; the session is not.
      const small = kept.pending.filter(({ attachments = [] }) => attachments.length === 0)
      if (small.length < kept.pending.length) this.#write({ ...kept, pending: small })
    }
  }
}

function isMessage(value: unknown): value is ChatMessage {
  const { key, text, session } = (value ?? {}) as Record<string, unknown>
  return typeof key === 'string' && typeof text === 'string' && ['string', 'undefined'].includes(typeof session)
}
