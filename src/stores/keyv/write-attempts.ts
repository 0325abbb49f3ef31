/**
 * Counts how often each write was attempted, for about the latest 10 000 writes. It uses two maps and drops the older
 * one as a whole, which costs less than a cache that orders its entries by use.
 */

const writesPerMap = 10_000

/** The write attempts of one store. */
export class WriteAttempts {
  #recent = new Map<string, number>()
  #older = new Map<string, number>()

  /** How often a write was attempted. */
  count(write: string): number {
    return this.#recent.get(write) ?? this.#older.get(write) ?? 0
  }

  /** Counts one more attempt. */
  add(write: string): void {
    const count = this.count(write) + 1
    if (this.#recent.size >= writesPerMap) {
      this.#older = this.#recent
      this.#recent = new Map()
    }
    this.#recent.set(write, count)
  }
}
