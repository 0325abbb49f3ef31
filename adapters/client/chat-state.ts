/** The state of a chat, and the listeners that receive its changes. */
import type { ChatTurnEvents } from './chat-events.js'
import type { ChatTurn } from './chat-turn.js'

/** A snapshot of a chat. It is immutable: each change makes a new one. */
export interface ChatState {
  /** The session of the next message; empty if that message starts one. */
  readonly session: string
  /** Oldest first. */
  readonly turns: readonly ChatTurn[]
  /** Whether a turn is waiting or running. */
  readonly isBusy: boolean
  /** Whether the conversation has ended. The next message starts a new one. */
  readonly hasEnded: boolean
  /** Whether the last reply came from a new conversation, because the earlier one could not continue. Tell the user. */
  readonly hasRestarted: boolean
  /** Whether the last two turns failed in the same way, although the session goes on. Offer `startOver` to the user. */
  readonly isStuck: boolean
}

/** The events of a chat, by name: each change, and the events of each turn. */
export type ChatEvents = { change: ChatState } & {
  [Type in keyof ChatTurnEvents]: ChatTurnEvents[Type] & { readonly turn: ChatTurn }
}

/** The listeners of one chat. */
export class ChatListeners {
  readonly #byName = new Map<keyof ChatEvents, Set<(payload: never) => void>>()

  /** Adds a listener. The returned function removes it. */
  add<Name extends keyof ChatEvents>(name: Name, listener: (payload: ChatEvents[Name]) => void): () => void {
    const listeners = this.#byName.get(name) ?? new Set()
    this.#byName.set(name, listeners.add(listener))
    return () => listeners.delete(listener)
  }

  /** Whether somebody listens. */
  has(name: keyof ChatEvents): boolean {
    return !!this.#byName.get(name)?.size
  }

  /**
   * Calls the listeners of an event.
   *
   * @param isNewest - Whether the payload is still current. If a listener has changed the state, the remaining
   * listeners are not called with the old one.
   */
  notify(name: keyof ChatEvents, payload: object, isNewest: () => boolean = () => true): void {
    for (const listener of this.#byName.get(name) ?? []) {
      if (!isNewest()) return
      try {
        listener(payload as never)
      } catch (error) {
        // Like an error in a DOM listener: it is reported, and the chat goes on. Node.js has no `reportError`.
        const report = globalThis.reportError ?? console.error
        report(error)
      }
    }
  }
}
