import type { NamedSession } from '../core/engine-context.js'

/**
 * Keeps the requests of a session in their order of arrival while some of them read the session to see whether they are
 * repeats, so that a later request never asks for the lock first (contract 4.8).
 */
export class Arrivals {
  /**
   * By session ID and owner: resolves when the last request has finished reading. An entry exists only while a request
   * reads.
   */
  readonly #last = new Map<string, Promise<void>>()

  /** The earlier requests that are still reading; `undefined` if there are none. */
  before(named: NamedSession): Promise<void> | undefined {
    return named.sessionId === undefined || this.#last.size === 0 ? undefined : this.#last.get(nameOf(named))
  }

  /** Runs `look` after the looks of earlier requests. */
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
