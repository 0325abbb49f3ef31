import type { NamedSession } from '../core/engine-context.js'

/**
 * Keeps the requests of a session in the order in which they came, while some of them read the session to see whether
 * they are repeats: who came later does not ask for the lock earlier (contract 4.8).
 */
export class Arrivals {
  /**
   * By session ID and owner: resolves when the request that came last has looked. There is an
   * entry only while one looks.
   */
  readonly #last = new Map<string, Promise<void>>()

  /** The requests that came before and still look; `undefined` where none does. */
  before(named: NamedSession): Promise<void> | undefined {
    return named.sessionId === undefined || this.#last.size === 0 ? undefined : this.#last.get(nameOf(named))
  }

  /** Runs `look` after those of the requests that came before. */
  look<T>(named: NamedSession, look: () => Promise<T>): Promise<T> {
    const name = nameOf(named)
    const result = (this.#last.get(name) ?? Promise.resolve()).then(look)
    const end = (): void => {
      if (this.#last.get(name) === last) this.#last.delete(name)
    }
    const last: Promise<void> = result.then(end, end)
    this.#last.set(name, last)
    return result
  }
}

function nameOf({ sessionId, owner }: NamedSession): string {
  return JSON.stringify([sessionId, owner ?? null])
}
