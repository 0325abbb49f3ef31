/** What a chat keeps for the next load of its page: the session, and the messages that have no outcome yet. */
import type { ChatMessage } from './chat-message.js'

/** Where a chat keeps it: `sessionStorage`, `localStorage`, or an object with the same three methods. */
export interface ChatStorage {
  /** What is kept under a name; `null` if there is nothing. */
  getItem(name: string): string | null
  /** Keeps a text. */
  setItem(name: string, value: string): void
  /** Forgets it. */
  removeItem(name: string): void
}

/** What is kept. */
export interface KeptChat {
  /** Empty if the next message starts a session. */
  readonly session: string
  readonly pending: readonly ChatMessage[]
}

/** Keeps one chat under a name. */
export class ChatRecord {
  readonly #storage: ChatStorage | undefined
  readonly #name: string
  /** What was kept last, without texts and attachments. */
  #summary = ''

  constructor(storage: ChatStorage | undefined, name: string) {
    this.#storage = storage
    this.#name = name
  }

  /** What is kept. What cannot be read counts as nothing: the next message starts a session. */
  read(): KeptChat {
    try {
      const { session, pending } = JSON.parse(this.#storage?.getItem(this.#name) ?? '')
      if (typeof session === 'string') return { session, pending: pending.filter(isMessage) }
    } catch {
      // Nothing was kept, or somebody else wrote there.
    }
    return { session: '', pending: [] }
  }

  /**
   * Writes only where the session or the list of messages has changed: attachments are large, and pieces of text many.
   */
  keep(kept: KeptChat): void {
    const summary = JSON.stringify(kept, ['session', 'pending', 'key'])
    if (summary === this.#summary) return
    this.#summary = summary
    this.#write(kept)
  }

  /** A storage that is full or forbidden refuses it: then the chat goes on, and a reload forgets what was refused. */
  #write(kept: KeptChat): void {
    try {
      if (kept.session === '' && kept.pending.length === 0) this.#storage?.removeItem(this.#name)
      else this.#storage?.setItem(this.#name, JSON.stringify(kept))
    } catch {
      // Attachments may be too large for it; the session is not.
      const small = kept.pending.filter(({ attachments = [] }) => attachments.length === 0)
      if (small.length < kept.pending.length) this.#write({ ...kept, pending: small })
    }
  }
}

function isMessage(value: unknown): value is ChatMessage {
  const { key, text, session } = (value ?? {}) as Record<string, unknown>
  return typeof key === 'string' && typeof text === 'string' && ['string', 'undefined'].includes(typeof session)
}
