/**
 * Decides what a save sends: if the stored state is known, the head and the entries appended to each list; otherwise
 * everything. Entries removed from the start of a list are removed in whole chunks. This file decides nothing about
 * conflicts, and reads nothing.
 */

import { isFrozenList } from '../../../session/lists/shared-lists.js'
import type { SessionDocument } from '../../../session/session-document.js'
import type { SessionSaveHint } from '../../../session/session-store.js'
import { cutList, emptyList, type KnownList, type KnownSession, withSizes } from './chunks.js'
import { chunkName, type ListChunk, type ListHead, type SessionHead, storedLayoutVersion } from './head.js'
import { listsOf, withoutLists } from './parts.js'

/** The most entries of a chunk if a whole list is written, so that a very long list is not one text. */
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
  /** The names of stored chunks that no longer belong to a list. */
  readonly removed: readonly string[]
  readonly replacesChunks: boolean
  /** The lists as they will be stored. Their `bytes` exclude {@link WritePlan.chunks}, which are not texts yet. */
  readonly lists: ReadonlyMap<string, PlannedList>
  /** Whether all of those lists are frozen. */
  readonly areFrozen: boolean
}

/** A list as it will be stored. */
export interface PlannedList extends KnownList {
  bytes: number
}

/**
 * Plans a save.
 *
 * @param known - The session as stored under the revision that the save replaces, if it is cached.
 */
export function planWrite(
  document: SessionDocument,
  known: KnownSession | undefined,
  hint: SessionSaveHint | undefined,
): WritePlan {
  const { revision } = document
  const lists = listsOf(document, known?.lists.get('effects')?.entries)
  const kept = known && hint && keptLists(known.lists, lists, hint)
  keepNames(kept, lists)
  const chunks: PlannedChunk[] = []
  const removed: string[] = []
  const heads: ListHead[] = []
  const planned = new Map<string, PlannedList>()
  for (const [name, entries] of lists) {
    const start = kept?.get(name) ?? emptyList
    const added = newChunks(entries, start, revision)
    for (const [index, chunk] of added.entries()) {
      chunks.push({ name: chunkName(name, start.chunks + index), list: name, chunk })
    }
    if (kept !== undefined) removed.push(...removedChunks(name, known?.lists.get(name), start))
    const { first, skip, bytes } = start
    const chunkCount = start.chunks + added.length
    const place = { first, skip, chunks: chunkCount, tip: added.length > 0 ? revision : start.tip }
    heads.push({ name, ...place, entries: entries.length })
    planned.set(name, { ...place, entries, sizes: withSizes(start.sizes, added), bytes })
  }
  return {
    head: { layout: storedLayoutVersion, document: withoutLists(document), lists: heads },
    chunks,
    removed,
    replacesChunks: kept === undefined,
    lists: planned,
    areFrozen: [...lists.values()].every(isFrozenList),
  }
}

/** Keeps a list that the document lost in the head as an empty list, because its chunks' names must not be reused. */
function keepNames(kept: ReadonlyMap<string, KnownList> | undefined, lists: Map<string, readonly unknown[]>): void {
  for (const name of kept?.keys() ?? []) if (!lists.has(name)) lists.set(name, emptyList.entries)
}

/** The names of a list's chunks that are removed. */
function removedChunks(name: string, before: KnownList | undefined, rest: KnownList): string[] {
  const removed: string[] = []
  for (let index = before?.first ?? rest.first; index < rest.first; index++) removed.push(chunkName(name, index))
  return removed
}

/** The rest that stays of each stored list; `undefined` if the document's lists do not continue it as the hint says. */
function keptLists(
  stored: ReadonlyMap<string, KnownList>,
  lists: ReadonlyMap<string, readonly unknown[]>,
  hint: SessionSaveHint,
): ReadonlyMap<string, KnownList> | undefined {
  const kept = new Map<string, KnownList>()
  for (const [name, before] of stored) {
    const rest = keptOf(name, before, lists.get(name) ?? emptyList.entries, hint)
    if (rest === undefined) return undefined
    kept.set(name, rest)
  }
  return kept
}

function keptOf(
  name: string,
  before: KnownList,
  list: readonly unknown[],
  { appended, removed, rewritten }: SessionSaveHint,
): KnownList | undefined {
  const all = before.entries.length
  // Its pairs were compared one by one when they were made, so no hint is needed.
  if (name === 'effects') return cutList(before, beginsWith(list, before.entries) ? 0 : all)
  if (rewritten?.includes(name)) return cutList(before, all)
  const rest = cutList(before, removed?.[name] ?? 0)
  return rest !== undefined && continues(list, rest.entries, appended[name]) ? rest : undefined
}

/** Whether a list is the rest of the stored list, followed by that many new entries. */
function continues(list: readonly unknown[], rest: readonly unknown[], appended = 0): boolean {
  if (list.length !== rest.length + appended) return false
  // Comparing both ends is enough: entries are frozen and shared, and nothing replaces one in the middle.
  const last = rest.length - 1
  return last < 0 || (list[0] === rest[0] && list[last] === rest[last])
}

function beginsWith(list: readonly unknown[], start: readonly unknown[]): boolean {
  return start.every((entry, index) => entry === list[index])
}

function newChunks(list: readonly unknown[], start: KnownList, revision: string): ListChunk[] {
  const chunks: ListChunk[] = []
  let previous = start.tip
  for (let from = start.entries.length; from < list.length; from += entriesPerChunk) {
    chunks.push({ previous, revision, entries: list.slice(from, from + entriesPerChunk) })
    previous = revision
  }
  return chunks
}
