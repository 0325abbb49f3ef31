/**
 * Where the author's code called the harness, for failures that are noticed later: by the next call, or at the end.
 * Taking the place costs about a microsecond; the stack becomes text only in a failure.
 */
import { authorFrames } from './author-frames.js'

/** A place in the author's code. */
export type CallPlace = Error

/** The place of the call under way. */
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
