/** Who listens to a chat, by the name of the event. */
import type { ChatEvents } from './chat-state.js'

/** The listeners of one chat. */
export class ChatListeners {
  readonly #byName = new Map<keyof ChatEvents, Set<(payload: never) => void>>()

  /** Adds a listener. The returned function removes it. */
  add<Name extends keyof ChatEvents>(name: Name, listener: (payload: ChatEvents[Name]) => void): () => void {
    const listeners = this.#byName.get(name) ?? new Set()
    this.#byName.set(name, listeners.add(listener))
    return () => listeners.delete(listener)
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
        // As a listener of the browser's own events: it is reported, and changes nothing here. Node.js has no
        // `reportError`.
        const report = globalThis.reportError ?? console.error
        report(error)
      }
    }
  }
}
