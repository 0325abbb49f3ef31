/** The calls of one case to its stores: what hangs if the case does not end, and whether anything goes on. */
export class SuiteCalls {
  readonly #pending = new Set<string>()
  #settled = 0

  /** How many have settled. */
  get settled(): number {
    return this.#settled
  }

  /** The first ones that have not settled, in words. */
  get hanging(): string {
    return [...this.#pending].slice(0, 3).join(' and ') || 'the case'
  }

  /** Follows a call until it settles. */
  async follow<T>(call: string, operation: () => Promise<T>): Promise<T> {
    this.#pending.add(call)
    try {
      return await operation()
    } finally {
      this.#pending.delete(call)
      this.#settled++
    }
  }
}
