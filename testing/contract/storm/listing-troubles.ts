/** Compares what an engine lists after a storm with what is stored: of all, and of each owner. */
import type { FlowEngine, SessionDocument } from '../../../src/index.js'

/** What is wrong, in words. */
export async function listingTroubles(
  engine: Pick<FlowEngine, 'listSessions'>,
  stored: ReadonlyMap<string, SessionDocument>,
): Promise<string[]> {
  const troubles: string[] = []
  const owners = new Set(Array.from(stored.values(), ({ owner }) => owner))
  for (const owner of [undefined, ...owners]) {
    const expected = [...stored.values()].filter((document) => owner === undefined || document.owner === owner)
    const listed = await listedIds(engine, owner)
    const where = owner === undefined ? 'the listing of all' : `the listing of ${owner}`
    for (const { id } of expected) if (!listed.delete(id)) troubles.push(`${id} is stored, and not in ${where}`)
    for (const id of listed) troubles.push(`${id} is in ${where}, and not stored`)
  }
  return troubles
}

async function listedIds(engine: Pick<FlowEngine, 'listSessions'>, owner: string | undefined): Promise<Set<string>> {
  const ids = new Set<string>()
  let cursor: string | undefined
  do {
    const page = await engine.listSessions({
      limit: 20,
      ...(owner === undefined ? {} : { owner }),
      ...(cursor === undefined ? {} : { cursor }),
    })
    for (const { id } of page.sessions) ids.add(id)
    cursor = page.cursor
  } while (cursor !== undefined)
  return ids
}
