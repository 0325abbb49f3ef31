/** Randomness that a seed repeats. What is drawn with it is decided elsewhere. */

/** A number from 0 up to but not 1, as `Math.random` gives it. */
export type Random = () => number

/** The random numbers of a seed: the same seed gives the same ones. */
export function seededRandom(seed: number): Random {
  let state = seed >>> 0
  return () => {
    state = (state + 0x9e3779b9) >>> 0
    let mixed = Math.imul(state ^ (state >>> 16), 0x21f0aaad)
    mixed = Math.imul(mixed ^ (mixed >>> 15), 0x735a2d97)
    return ((mixed ^ (mixed >>> 15)) >>> 0) / 2 ** 32
  }
}

/** A whole number from 0 up to but not `count`. */
export function pick(random: Random, count: number): number {
  return Math.floor(random() * count)
}

/** A number between two. */
export function between(random: Random, least: number, most: number): number {
  return least + random() * (most - least)
}
