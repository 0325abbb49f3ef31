/** A promise that records whether any code uses its outcome, by `await`, `then`, `catch` or `finally`. */
export class ObservedPromise<T> extends Promise<T> {
  /** What `then` returns is an ordinary promise. */
  static override get [Symbol.species](): PromiseConstructor {
    return Promise
  }

  /** Whether any code uses the outcome. */
  isObserved = false

  /** @param outcome - Settles the promise. If it rejects and no code uses it, the process does not end. */
  static of<T>(outcome: Promise<T>): ObservedPromise<T> {
    const observed = new ObservedPromise<T>((resolve) => resolve(outcome))
    Promise.prototype.then.call(observed, undefined, () => undefined)
    return observed
  }

  // biome-ignore lint/suspicious/noThenProperty: `await` calls it, and no other member shows whether code waits
  override then<Fulfilled = T, Rejected = never>(
    onFulfilled?: ((value: T) => Fulfilled | PromiseLike<Fulfilled>) | null,
    onRejected?: ((reason: unknown) => Rejected | PromiseLike<Rejected>) | null,
  ): Promise<Fulfilled | Rejected> {
    this.isObserved = true
    return super.then(onFulfilled, onRejected)
  }
}

/** Whether a value must be awaited: it is a promise, or an object with a method `then`, which `await` also calls. */
export function isPromise(value: unknown): value is PromiseLike<unknown> {
  return typeof (value as { then?: unknown } | null | undefined)?.then === 'function'
}
