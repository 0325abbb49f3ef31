/** Random numbers that a seed decides: the same seed gives the same numbers on every machine. */
export class SeededRandom {
  #state: number

  constructor(seed: number) {
    // Spread out: neighbouring seeds must not begin alike.
    this.#state = Math.imul(seed ^ 0x9e3779b9, 0x85ebca6b) | 0
    this.next()
  }

  /** From 0 up to, and without, 1. */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }

  /** A whole number from 0 up to, and without, `end`. */
  below(end: number): number {
    return Math.floor(this.next() * end)
  }

  /** From `least` up to, and without, `most`. */
  between(least: number, most: number): number {
    return least + this.next() * (most - least)
  }

  chance(probability: number): boolean {
    return this.next() < probability
  }

  pick<T>(choices: readonly T[]): T {
    return choices[this.below(choices.length)] as T
  }
}
