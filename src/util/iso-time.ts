/** Times as a document stores them. Which moment that is, the caller's clock says. */

let lastTime: number | undefined
let lastText = ''

/** Milliseconds since the epoch as ISO 8601, UTC. Turns of one millisecond share one text: writing it takes longer. */
export function isoTime(time: number): string {
  if (time !== lastTime) {
    lastText = new Date(time).toISOString()
    lastTime = time
  }
  return lastText
}
