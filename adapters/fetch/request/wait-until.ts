/** What a runtime passes along with a request, for work that is left when the reply was sent. */
import { isObject } from './is-object.js'

/** Keeps the runtime alive until some work has ended. */
export type WaitUntil = (work: Promise<unknown>) => void

/** The `waitUntil` of what a runtime passes along: Bun passes its server, Deno the address, workerd the environment. */
export function waitUntilOf(runtime: unknown): WaitUntil | undefined {
  if (!isObject(runtime) || typeof runtime.waitUntil !== 'function') return undefined
  // Called as a method: runtimes refuse it without its `this`.
  return (work) => (runtime as unknown as { readonly waitUntil: WaitUntil }).waitUntil(work)
}

/**
 * Has the runtime go on until some work has ended, although the client may have gone away. What `waitUntil` throws, or
 * rejects with, goes to `report`: the work is done all the same. Never rejects.
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
