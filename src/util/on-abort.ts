/**
 * Calls `listener` when a signal aborts.
 *
 * @returns A function that removes the listener. It never throws, even if the signal is a custom implementation whose
 * `removeEventListener` throws: by then the outcome of the call is settled.
 */
export function onAbort(signal: AbortSignal | undefined, listener: () => void): () => void {
  signal?.addEventListener('abort', listener)
  return () => {
    try {
      signal?.removeEventListener('abort', listener)
    } catch {
      // The outcome is settled already.
    }
  }
}
