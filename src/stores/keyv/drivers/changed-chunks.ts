/** Applies a swap to the chunks of a session, for drivers that have the chunks in a Map. */
import type { SessionSwap } from '../driver/session-driver.js'

/** Applies the changes of a swap to `chunks`, the stored chunks by name, and returns it. */
export function changeChunks(chunks: Map<string, string>, swap: SessionSwap): Map<string, string> {
  if (swap.replacesChunks) chunks.clear()
  for (const [name, text] of swap.chunks) chunks.set(name, text)
  for (const name of swap.removed) chunks.delete(name)
  return chunks
}
