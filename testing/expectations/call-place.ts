/**
 * Records where the author's code called the harness, for failures that are noticed later: by the next call, or at the
 * end. Recording takes about a microsecond; the stack becomes text only if there is a failure.
 */
import { authorFrames } from './author-frames.js'

/** A place in the author's code. */
export type CallPlace = Error

/** The place of the current call. */
export function callPlace(): CallPlace {
  return new Error('a place')
}

/**
 * A line for a failure, such as `  said at /app/order.test.ts:21:5`; empty if the author's code is not in the stack.
 */
export function placeText(what: string, place: CallPlace | undefined): string {
  const [frame] = authorFrames(place)
  return frame === undefined ? '' : `\n  ${what} ${frame}`
}
