/** Times as session documents store them. */

let lastTime: number | undefined
let lastText = ''

/**
 * Milliseconds since the epoch as ISO 8601, UTC. The last text is cached, because concurrent turns often need the same
 * millisecond.
 */
export function isoTime(time: number): string {
  if (time !== lastTime) {
    lastText = new Date(time).toISOString()
    lastTime = time
  }
  return lastText
}
