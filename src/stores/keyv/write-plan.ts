/**
 * What a save sends: the head, and of each list what was appended, where that is sure; else all of it. Decides nothing
 * about conflicts, and reads nothing.
 */
import type { SessionDocument } from '../../session/session-document.js'
import type { SessionSaveHint } from '../../session/session-store.js'
import { isFrozenList } from '../../session/shared-lists.js'
import type { KnownList, KnownSession } from './known-lists.js'
import {
  chunkName,
  type ListChunk,
  type ListHead,
  listsOf,
  type SessionHead,
  storedLayoutVersion,
  withoutLists,
} from './session-parts.js'

/** Entries of a chunk where a whole list is written: a very long list need not be one text. */
const entriesPerChunk = 1_000

/** What is to be written. */
export interface WritePlan {
  readonly head: SessionHead
  readonly chunks: readonly (readonly [name: string, chunk: ListChunk])[]
  readonly replacesChunks: boolean
  /** The lists as they will be stored, where nobody can change them; `undefined` where somebody could. */
  readonly lists: ReadonlyMap<string, KnownList> | undefined
}

/**
 * Plans a save.
 *
 * @param known - What is stored under the revision that the save replaces, if that is known.
 */
export function planWrite(
  document: SessionDocument,
  known: KnownSession | undefined,
  hint: SessionSaveHint | undefined,
): WritePlan {
  const lists = listsOf(document)
  const appended = known === undefined || hint === undefined ? undefined : appendedTo(known, lists, hint)
  const chunks: (readonly [string, ListChunk])[] = []
  const heads: ListHead[] = []
  const planned = new Map<string, KnownList>()
  for (const [name, entries] of lists) {
    const start = appended === undefined ? undefined : known?.lists.get(name)
    const added = newChunks(entries, start, document.revision)
    const count = (start?.chunks ?? 0) + added.length
    for (const [index, chunk] of added.entries()) chunks.push([chunkName(name, count - added.length + index), chunk])
    const tip = added.length > 0 ? document.revision : (start?.tip ?? '')
    heads.push({ name, chunks: count, entries: entries.length, tip })
    planned.set(name, { entries, chunks: count, tip })
  }
  return {
    head: { layout: storedLayoutVersion, document: withoutLists(document), lists: heads },
    chunks,
    replacesChunks: appended === undefined,
    lists: Array.from(lists.values()).every(isFrozenList) ? planned : undefined,
  }
}

/** Whether each list begins with what is known of it and goes on with what the hint says; `undefined` where not. */
function appendedTo(
  known: KnownSession,
  lists: ReadonlyMap<string, readonly unknown[]>,
  hint: SessionSaveHint,
): true | undefined {
  for (const [name, { entries: before }] of known.lists) {
    const list = lists.get(name)
    if (list?.length !== before.length + (hint.appended[name] ?? 0)) return undefined
    const last = before.length - 1
    // The ends tell: entries are frozen and shared, and nothing replaces one in the middle.
    if (last >= 0 && (list[0] !== before[0] || list[last] !== before[last])) return undefined
  }
  return true
}

function newChunks(list: readonly unknown[], start: KnownList | undefined, revision: string): ListChunk[] {
  const chunks: ListChunk[] = []
  let previous = start?.tip ?? ''
  for (let from = start?.entries.length ?? 0; from < list.length; from += entriesPerChunk) {
    chunks.push({ previous, revision, entries: list.slice(from, from + entriesPerChunk) })
    previous = revision
  }
  return chunks
}
