/**
 * The cached form of a stored session: its document, and for each list the entries, the chunks that hold them and the
 * tip that identifies their contents. Decides whether chunks that were read continue a cached list. read-session.ts
 * reads them.
 */
import { extendList, freezeList, isSharedList, shareList } from '../../../session/lists/shared-lists.js'
import type { SessionDocument } from '../../../session/session-document.js'
import type { ListChunk, ListHead } from './head.js'

/**
 * Sizes of chunks, as runs: so many chunks in a row with so many entries each. Most conversations have a single run, so
 * a long list needs no long copy at each save.
 */
export type ChunkSizes = readonly (readonly [size: number, chunks: number])[]

/** One list as it was stored under its tip. Its entries are frozen. */
export interface KnownList {
  readonly entries: readonly unknown[]
  /** As in {@link ListHead}. */
  readonly first: number
  /** As in {@link ListHead}. */
  readonly skip: number
  /** As in {@link ListHead}. */
  readonly chunks: number
  /** How many entries each of its chunks holds, including skipped entries. */
  readonly sizes: ChunkSizes
  readonly tip: string
  /** About how many bytes its chunks take as text. */
  readonly bytes: number
}

/** One session as it was stored under a revision. It is current as long as that revision is stored. */
export interface KnownSession {
  readonly revision: string
  /** Never handed out: callers get a copy. */
  readonly document: SessionDocument
  /** About how many bytes its head takes as text. */
  readonly headBytes: number
  readonly lists: ReadonlyMap<string, KnownList>
  /** Whether, at the last load, another process had written to the session. It may do so again. */
  readonly isShared: boolean
}

/** A list before its first chunk. */
export const emptyList: KnownList = {
  entries: Object.freeze([]),
  first: 0,
  skip: 0,
  chunks: 0,
  sizes: [],
  tip: '',
  bytes: 0,
}

/**
 * The known lists that the head's lists continue. `undefined` if the head belongs to another session, or to one that
 * was replaced as a whole.
 */
export function continuedLists(
  known: ReadonlyMap<string, KnownList>,
  heads: readonly ListHead[],
): ReadonlyMap<string, KnownList> | undefined {
  const continued = new Map<string, KnownList>()
  for (const head of heads) {
    const list = known.get(head.name)
    if (list === undefined) continue
    if (head.first < list.first || head.chunks < list.chunks) return undefined
    // If even chunks that are not known yet were removed, the list is read as if nothing of it were known.
    if (head.first <= list.chunks) continued.set(head.name, list)
  }
  return continued
}

/**
 * The indexes of the chunks that the head counts and that are not known. This is a generator because a corrupt head may
 * count more chunks than fit into memory.
 */
export function* missingChunks(known: KnownList | undefined, head: ListHead): Generator<number> {
  for (let index = known?.chunks ?? head.first; index < head.chunks; index++) yield index
}

/**
 * Builds the list that the head describes: the known entries and the missing chunks, minus the entries that were
 * removed since. If nothing is missing and nothing was removed, the entries are the very same array. `undefined` if the
 * chunks do not add up to that list, because another list was stored in its place.
 *
 * @param bytes - About how many bytes the missing chunks take as text.
 */
export function followChunks(
  known: KnownList | undefined,
  head: ListHead,
  missing: readonly ListChunk[],
  bytes: number,
): KnownList | undefined {
  const start = known ?? { ...emptyList, first: head.first, chunks: head.first }
  // If chunks before this one were removed, the tip before it is unknown.
  const tip = known === undefined && head.first > 0 ? undefined : start.tip
  if (start.chunks + missing.length !== head.chunks || !isChain(tip, missing, head.tip)) return undefined
  const whole = {
    ...start,
    entries: extended(start.entries, missing),
    chunks: head.chunks,
    sizes: withSizes(start.sizes, missing),
    tip: head.tip,
    bytes: start.bytes + bytes,
  }
  const list = cutList(whole, removedBy(whole, head))
  return list?.entries.length === head.entries ? list : undefined
}

/**
 * Removes entries from the start of a list, and the chunks that hold nothing else. `undefined` if the list has fewer
 * entries.
 *
 * @param removed - How many entries to remove; 0 returns the very same list.
 */
export function cutList(list: KnownList, removed: number): KnownList | undefined {
  if (removed === 0) return list
  const { entries, chunks, bytes } = list
  if (!Number.isSafeInteger(removed) || removed < 0 || removed > entries.length) return undefined
  let { first } = list
  let skip = list.skip + removed
  const sizes: (readonly [number, number])[] = []
  for (const [size, count] of list.sizes) {
    const gone = sizes.length > 0 ? 0 : Math.min(count, Math.floor(skip / size))
    first += gone
    skip -= gone * size
    if (gone < count) sizes.push([size, count - gone])
  }
  const rest = withoutFirst(entries, removed)
  return {
    ...list,
    entries: rest,
    first,
    skip,
    sizes,
    bytes: Math.ceil((bytes * (chunks - first)) / (chunks - list.first)),
  }
}

/** Appends the sizes of added chunks. */
export function withSizes(sizes: ChunkSizes, added: readonly ListChunk[]): ChunkSizes {
  if (added.length === 0) return sizes
  const runs = [...sizes]
  for (const { entries } of added) {
    const [size, count] = runs.at(-1) ?? [0, 0]
    if (size === entries.length) runs[runs.length - 1] = [size, count + 1]
    else runs.push([entries.length, 1])
  }
  return runs
}

/** About how many bytes a cached session takes as text. */
export function bytesOf({ headBytes, lists }: KnownSession): number {
  let sum = headBytes
  for (const { bytes } of lists.values()) sum += bytes
  return sum
}

/** How many entries the list has lost by the time of this head. */
function removedBy({ first, skip, sizes }: KnownList, head: ListHead): number {
  let removed = head.skip - skip
  let left = head.first - first
  for (const [size, count] of sizes) {
    const gone = Math.min(count, left)
    removed += gone * size
    left -= gone
  }
  return removed
}

/**
 * Whether each chunk follows the one before it, up to the last tip.
 *
 * @param tip - The tip before the first chunk; `undefined`: any.
 */
function isChain(tip: string | undefined, chunks: readonly ListChunk[], last: string): boolean {
  let before = tip
  for (const { previous, revision, entries } of chunks) {
    // No save writes an empty chunk.
    if (entries.length === 0) return false
    if (before !== undefined && previous !== before) return false
    before = revision
  }
  return before === undefined || before === last
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
