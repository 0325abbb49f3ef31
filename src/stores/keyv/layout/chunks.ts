/**
 * What a process knows of a stored session: its head, its document, and of each list the entries, the chunks that hold them
 * and the tip that identifies their contents. Decides whether chunks that were read continue a known list. Reading them is the
 * work of read-session.ts.
 */
import { extendList, freezeList, isSharedList, shareList } from '../../../session/lists/shared-lists.js'
import type { SessionDocument } from '../../../session/session-document.js'
import type { ListChunk, ListHead } from './head.js'

/** One list, as it was stored under its tip. Its entries are frozen. */
export interface KnownList {
  readonly entries: readonly unknown[]
  /** As in {@link ListHead}. */
  readonly first: number
  /** As in {@link ListHead}. */
  readonly skip: number
  /** How many entries each of its chunks holds, with those that are skipped. */
  readonly sizes: readonly number[]
  readonly tip: string
  /** About how many bytes its chunks take as text. */
  readonly bytes: number
}

/** One session, as it was stored under a revision: while that revision is stored, all of this is. */
export interface KnownSession {
  readonly revision: string
  /** Callers get a copy. */
  readonly document: SessionDocument
  /** About how many bytes its head takes as text. */
  readonly headBytes: number
  readonly lists: ReadonlyMap<string, KnownList>
  /** Whether another process had written to the session when it was loaded last. It may do so again. */
  readonly isShared: boolean
}

/** A list before its first chunk. */
export const emptyList: KnownList = { entries: Object.freeze([]), first: 0, skip: 0, sizes: [], tip: '', bytes: 0 }

/** The number of the chunk that comes after those of a list. */
export function nextChunk({ first, sizes }: KnownList): number {
  return first + sizes.length
}

/**
 * The known lists that the head's ones continue. `undefined` where the head is that of another session, or of one that was
 * replaced as a whole.
 */
export function continuedLists(
  known: ReadonlyMap<string, KnownList>,
  heads: readonly ListHead[],
): ReadonlyMap<string, KnownList> | undefined {
  const continued = new Map<string, KnownList>()
  for (const head of heads) {
    const list = known.get(head.name)
    if (list === undefined) continue
    if (head.first < list.first || head.chunks < nextChunk(list)) return undefined
    // Where more chunks were removed than are known, the list is read like an unknown one.
    if (head.first <= nextChunk(list)) continued.set(head.name, list)
  }
  return continued
}

/**
 * The indexes of the chunks that the head counts and that are not known. A generator, because a corrupt head may count more
 * chunks than fit into memory.
 */
export function* missingChunks(known: KnownList | undefined, head: ListHead): Generator<number> {
  for (let index = known === undefined ? head.first : nextChunk(known); index < head.chunks; index++) yield index
}

/**
 * The list that the head describes: what is known, and the missing chunks after it, without what was removed since. The very
 * same entries where nothing is missing and nothing was removed. `undefined` where the chunks do not make that list, because
 * another one was stored in its place.
 *
 * @param bytes - About how many bytes the missing chunks take as text.
 */
export function followChunks(
  known: KnownList | undefined,
  head: ListHead,
  missing: readonly ListChunk[],
  bytes: number,
): KnownList | undefined {
  const start = known ?? { ...emptyList, first: head.first }
  // What came before the first chunk is unknown where that is not the list's very first.
  let tip = known === undefined && head.first > 0 ? undefined : start.tip
  for (const chunk of missing) {
    if (tip !== undefined && chunk.previous !== tip) return undefined
    tip = chunk.revision
  }
  if ((tip ?? head.tip) !== head.tip || nextChunk(start) + missing.length !== head.chunks) return undefined
  const whole = {
    ...start,
    entries: extended(start.entries, missing),
    sizes: withSizes(start.sizes, missing),
    tip: head.tip,
    bytes: start.bytes + bytes,
  }
  const list = cutList(whole, removedBy(whole, head))
  return list?.entries.length === head.entries ? list : undefined
}

/**
 * The list without its first entries, and without the chunks that hold nothing else. `undefined` where there are not so many
 * entries.
 *
 * @param removed - How many entries; 0 gives the very same list.
 */
export function cutList(list: KnownList, removed: number): KnownList | undefined {
  if (removed === 0) return list
  const { entries, first, sizes, bytes } = list
  if (!Number.isSafeInteger(removed) || removed < 0 || removed > entries.length) return undefined
  let skip = list.skip + removed
  let gone = 0
  for (const size of sizes) {
    if (skip < size) break
    skip -= size
    gone++
  }
  return {
    ...list,
    entries: withoutFirst(entries, removed),
    first: first + gone,
    skip,
    sizes: sizes.slice(gone),
    bytes: Math.ceil((bytes * (sizes.length - gone)) / sizes.length),
  }
}

/** The sizes of a list's chunks and of those after them. */
export function withSizes(sizes: readonly number[], added: readonly ListChunk[]): readonly number[] {
  return added.length === 0 ? sizes : [...sizes, ...added.map(({ entries }) => entries.length)]
}

/** About how many bytes all that is known takes as text. */
export function bytesOf({ headBytes, lists }: KnownSession): number {
  let sum = headBytes
  for (const { bytes } of lists.values()) sum += bytes
  return sum
}

/** How many entries a list lost on the way to the head. */
function removedBy({ first, skip, sizes }: KnownList, head: ListHead): number {
  let removed = head.skip - skip
  for (let index = 0; index < head.first - first; index++) removed += sizes[index] ?? 0
  return removed
}

function extended(entries: readonly unknown[], chunks: readonly ListChunk[]): readonly unknown[] {
  if (chunks.length === 0) return entries
  const added = chunks.flatMap((chunk) => chunk.entries)
  if (entries.length > 0) return extendList(entries, added)
  freezeList(added)
  return added
}

function withoutFirst(entries: readonly unknown[], count: number): readonly unknown[] {
  const rest = entries.slice(count)
  if (isSharedList(entries)) return shareList(rest)
  freezeList(rest)
  return rest
}
