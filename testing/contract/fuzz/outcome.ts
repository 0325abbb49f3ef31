/** The outcome of one case. */

/**
 * How a case counts. `server`: the HTTP server answered by itself. `refused`: the platform does not allow such a
 * request.
 */
export type Kind = 'success' | 'failure' | 'server' | 'none' | 'refused'

export interface Outcome {
  /** One for each reply; `none` if the client did not wait for any. */
  readonly kinds: readonly Kind[]
  /** All that is wrong, in words. */
  readonly problems: readonly string[]
}
