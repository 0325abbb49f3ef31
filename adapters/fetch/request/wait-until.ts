/** Finds the runtime's `waitUntil`, for work that outlives the reply. */
import { isObject } from './is-object.js'

/** Keeps the runtime alive until the work has ended. */
export type WaitUntil = (work: Promise<unknown>) => void

/** The `waitUntil` of the second argument. Bun passes its server there, Deno the address, workerd the environment. */
export function waitUntilOf(runtime: unknown): WaitUntil | undefined {
  if (!isObject(runtime) || typeof runtime.waitUntil !== 'function') return undefined
  // Called as a method: runtimes refuse it without its `this`.
  return (work) => (runtime as unknown as { readonly waitUntil: WaitUntil }).waitUntil(work)
}

/**
 * Keeps the runtime running until the work has ended, even if the client has gone away. If `waitUntil` throws or
 * rejects, `report` receives the error, and the work is done all the same. Never rejects.
 */
export async function keepAlive(
  waitUntil: WaitUntil | undefined,
  work: Promise<unknown>,
  report: (error: unknown) => void,
): Promise<void> {
  try {
    await waitUntil?.(work)
  } catch (error) {
    report(error)
  }
}
