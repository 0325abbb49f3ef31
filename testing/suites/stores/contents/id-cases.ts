/**
 * Cases of hostile IDs: each lists IDs that are easy to confuse. The engine's own IDs are plain, but a store does not
 * choose its callers.
 */

import type { CheckedStore } from '../bench/checked-store.js'
import { newSession, nextTurn, randomToken } from '../bench/documents.js'
import { hostileIds } from '../bench/hostile-ids.js'
import { rules } from '../bench/rules.js'
import type { SuiteCase } from '../bench/suite-case.js'

/** The IDs that can be used. Some IDs cannot be random: an earlier run may have left them, or deleted them. */
async function unusedOf(store: CheckedStore, ids: readonly string[]): Promise<string[]> {
  const unused: string[] = []
  for (const id of ids) {
    const left = await store.tryLoad(id)
    if (left.kind !== 'done' || left.value !== undefined) await store.delete(id)
    if ((await store.store.isDeleted?.(id)) !== true) unused.push(id)
  }
  return unused
}

/** Expects that the IDs name different sessions: each is stored, saved and deleted alone. */
async function standApart(store: CheckedStore, ids: readonly string[]): Promise<void> {
  const documents = []
  for (const [index, id] of (await unusedOf(store, ids)).entries()) {
    await store.holdsNothing(id)
    const document = newSession(id, { message: `Session ${index}` })
    await store.create(document)
    documents.push(document)
  }
  for (const document of documents) await store.holds(document)
  for (const [index, document] of documents.entries()) {
    const turn = nextTurn(document, { message: `Session ${index} again` })
    await store.save(turn.document, turn.expectedRevision, turn.hint)
    documents[index] = turn.document
  }
  for (const document of documents) await store.holds(document)
  for (let document = documents.shift(); document !== undefined; document = documents.shift()) {
    await store.delete(document.id, document.revision)
    await store.holdsNothing(document.id)
    for (const other of documents) await store.holds(other)
  }
}

/** The cases, in the order in which they are registered. */
export const idCases: readonly SuiteCase[] = hostileIds.map(({ what, make }) => ({
  name: `IDs: ${what}`,
  rule: rules.ids,
  async run(bench) {
    await standApart(await bench.open(), await make(randomToken()))
  },
}))
