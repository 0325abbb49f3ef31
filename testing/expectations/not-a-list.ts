/**
 * Distinguishes a value from a list by a property that only lists have. If a list or one value is accepted, and the
 * value may have any name as a property, the compiler would compare a list with the value, too, and one mistake would
 * mark every entry. `testing/contract/type-mistakes.test.ts` checks what is marked.
 *
 * @inline
 */
export interface NotAList {
  /** @hidden */
  readonly [Symbol.unscopables]?: never
}
