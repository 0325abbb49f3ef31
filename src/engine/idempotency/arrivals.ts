/**
 * Keeps the requests of a session in the order in which they came, while some of them read the session to see whether they are
 * repeats: who came later does not ask for the lock earlier (contract 4.8).
 */
export class Arrivals {
  /** By session ID: resolves when the request that came last has looked. There is an entry only while one looks. */
  readonly #last = new Map<string, Promise<void>>()

  /** The requests that came before and still look; `undefined` where none does. */
  before(sessionId: string | undefined): Promise<void> | undefined {
    return sessionId === undefined ? undefined : this.#last.get(sessionId)
  }

  /** Runs `look` after those of the requests that came before. */
  look<T>(sessionId: string, look: () => Promise<T>): Promise<T> {
    const result = (this.#last.get(sessionId) ?? Promise.resolve()).then(look)
    const end = (): void => {
      if (this.#last.get(sessionId) === last) this.#last.delete(sessionId)
    }
    const last: Promise<void> = result.then(end, end)
    this.#last.set(sessionId, last)
    return result
  }
}
