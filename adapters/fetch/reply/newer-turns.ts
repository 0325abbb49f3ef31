/** For a page that asks for the turns after the last one that it has. */
import type { SessionDocument } from '../../../src/index.js'

/**
 * Whether a page that has the turns up to `after` misses none once it gets the newer ones of `history`, whose limits
 * may have removed one. An unknown session has no turns.
 */
export function isComplete(document: SessionDocument | undefined, after: number): boolean {
  const { turns = 0, history = [] } = document ?? {}
  return after === turns || (after < turns && (history[0]?.turn ?? turns + 1) <= after + 1)
}
