/**
 * The machine's own timers, taken when the module loads: a test that fakes timers later does not stop the harness. What
 * is timed in an engine goes by a `VirtualClock`; only the harness itself waits here, for the next task or for
 * something that hangs.
 */

// An object, so that a runtime without `setImmediate` has an `undefined` in it.
const real: Pick<typeof globalThis, 'setTimeout' | 'clearTimeout'> &
  Partial<Pick<typeof globalThis, 'setImmediate' | 'clearImmediate'>> = {
  setTimeout: globalThis.setTimeout,
  clearTimeout: globalThis.clearTimeout,
  setImmediate: globalThis.setImmediate,
  clearImmediate: globalThis.clearImmediate,
}

/** Calls back after so many milliseconds. Returns a function that prevents it. */
export function afterRealTime(callback: () => void, ms: number): () => void {
  const timer = real.setTimeout.call(globalThis, callback, ms)
  return () => real.clearTimeout.call(globalThis, timer)
}

/**
 * Calls back in the next task of the event loop, when every chain of settled promises has run. Returns a function that
 * prevents it.
 */
export function inNextTask(callback: () => void): () => void {
  const { setImmediate, clearImmediate } = real
  // A timer of 0 milliseconds takes a whole one.
  if (setImmediate === undefined || clearImmediate === undefined) return afterRealTime(callback, 0)
  const task = setImmediate.call(globalThis, callback)
  return () => clearImmediate.call(globalThis, task)
}
