/**
 * Decides what a save sends: the head, and of each list what was appended, where that is certain; all of a list that was
 * rewritten; otherwise everything. Decides nothing about conflicts, and reads nothing.
 */

import { isFrozenList } from '../../../session/lists/shared-lists.js'
import type { SessionDocument } from '../../../session/session-document.js'
import type { SessionSaveHint } from '../../../session/session-store.js'
import { type KnownList, type KnownSession, without } from './chunks.js'
import {
  chunkName,
  type ListChunk,
  type ListHead,
  listsOf,
  type SessionHead,
  storedLayoutVersion,
  withoutLists,
} from './parts.js'

/** Entries of a chunk where a whole list is written: a very long list need not be one text. */
const entriesPerChunk = 1_000

/** One chunk to be written. */
export interface PlannedChunk {
  readonly name: string
  /** The list that it belongs to. */
  readonly list: string
  readonly chunk: ListChunk
}

/** What is to be written. */
export interface WritePlan {
  readonly head: SessionHead
  readonly chunks: readonly PlannedChunk[]
  /** The names of chunks that no longer belong to a list: their texts must not stay in the database. */
  readonly removed: readonly string[]
  readonly replacesChunks: boolean
  /** The lists as they will be stored. Their `bytes` do not count {@link WritePlan.chunks}, which are not texts yet. */
  readonly lists: ReadonlyMap<string, PlannedList>
  /** Whether nobody can change those lists. */
  readonly areFrozen: boolean
}

/** A list as it will be stored. */
export interface PlannedList extends KnownList {
  bytes: number
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
  const isCertain = known !== undefined && hint !== undefined && startsAsKnown(known, lists, hint)
  const continued = isCertain ? without(known.lists, hint.rewritten ?? []) : undefined
  const chunks: PlannedChunk[] = []
  const removed: string[] = []
  const heads: ListHead[] = []
  const planned = new Map<string, PlannedList>()
  let areFrozen = true
  for (const [name, entries] of lists) {
    const start = continued?.get(name)
    const added = newChunks(entries, start, document.revision)
    const count = (start?.chunks ?? 0) + added.length
    for (const [index, chunk] of added.entries()) {
      chunks.push({ name: chunkName(name, count - added.length + index), list: name, chunk })
    }
    const before = isCertain ? (known.lists.get(name)?.chunks ?? 0) : 0
    for (let index = count; index < before; index++) removed.push(chunkName(name, index))
    const tip = added.length > 0 ? document.revision : (start?.tip ?? '')
    heads.push({ name, chunks: count, entries: entries.length, tip })
    planned.set(name, { entries, chunks: count, tip, bytes: start?.bytes ?? 0 })
    areFrozen &&= isFrozenList(entries)
  }
  return {
    head: { layout: storedLayoutVersion, document: withoutLists(document), lists: heads },
    chunks,
    removed,
    replacesChunks: !isCertain,
    lists: planned,
    areFrozen,
  }
}

/** Whether each list begins with what is known of it and continues as the hint says, or is rewritten. */
function startsAsKnown(
  known: KnownSession,
  lists: ReadonlyMap<string, readonly unknown[]>,
  { appended, rewritten }: SessionSaveHint,
): boolean {
  for (const [name, { entries: before }] of known.lists) {
    const list = lists.get(name)
    if (list !== undefined && rewritten?.includes(name)) continue
    if (list?.length !== before.length + (appended[name] ?? 0)) return false
    const last = before.length - 1
    // Both ends are enough: entries are frozen and shared, and nothing replaces one in the middle.
    if (last >= 0 && (list[0] !== before[0] || list[last] !== before[last])) return false
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
