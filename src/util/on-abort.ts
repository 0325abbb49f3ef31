/**
 * Listens to a caller's signal.
 *
 * @returns A function that stops listening. It never throws: what was settled must not change because a signal of the
 * caller's own making stumbles.
 */
export function onAbort(signal: AbortSignal | undefined, listener: () => void): () => void {
  signal?.addEventListener('abort', listener)
  return () => {
    try {
      signal?.removeEventListener('abort', listener)
    } catch {
      // Nobody is left to tell.
    }
  }
}
