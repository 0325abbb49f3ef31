/** The chunks of a session after a swap, for drivers that keep them in a Map or read them into one. */
import type { SessionSwap } from '../driver/session-driver.js'

/** Makes the changes of a swap in `chunks`, the stored ones by name, and returns it. */
export function changeChunks(chunks: Map<string, string>, swap: SessionSwap): Map<string, string> {
  if (swap.replacesChunks) chunks.clear()
  for (const [name, text] of swap.chunks) chunks.set(name, text)
  for (const name of swap.removed) chunks.delete(name)
  return chunks
}
