/**
 * Copies the sessions of a store into a folder, one file each, for `replayAll`. What to look at:
 *
 * - A session that was aborted cannot be replayed, and one that goes on is still changing, so only
 *   completed ones are copied.
 * - The files contain conversations. Only the owner may read the folder; better still, use sessions written with a
 *   `mask`.
 */
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { FlowEngine } from 'turnkeeper'

/** Writes the completed sessions of an engine's store; the number of them. */
export async function saveSessions(engine: FlowEngine, folder: string): Promise<number> {
  await mkdir(folder, { recursive: true, mode: 0o700 })
  let saved = 0
  let cursor: string | undefined
  do {
    const page = await engine.listSessions(cursor === undefined ? {} : { cursor })
    for (const { id, owner } of page.sessions) {
      const document = await engine.getSession(id, owner === undefined ? {} : { owner })
      if (document?.runStatus !== 'completed') continue
      const file = join(folder, `${encodeURIComponent(id)}.json`)
      await writeFile(file, `${JSON.stringify(document, null, 2)}\n`, { mode: 0o600 })
      saved++
    }
    cursor = page.cursor
  } while (cursor !== undefined)
  return saved
}
