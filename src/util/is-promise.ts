/** Whether a value must be awaited: a promise, or an object with a method `then`, which `await` calls as well. */
export function isPromise(value: unknown): value is PromiseLike<unknown> {
  return typeof (value as { then?: unknown } | null | undefined)?.then === 'function'
}
