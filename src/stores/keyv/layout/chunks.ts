/**
 * What a process knows of a stored session: its head, its document, and of each list the entries, the chunks that hold
 * them and the tip that identifies their contents. Decides whether chunks that were read continue a known list. Reading
 * them is the work of read-session.ts.
 */
import { extendList, freezeList, isSharedList, shareList } from '../../../session/lists/shared-lists.js'
import type { SessionDocument } from '../../../session/session-document.js'
import type { ListChunk, ListHead } from './head.js'

/**
 * Sizes of chunks, in their order: so many chunks in a row of so many entries each. Most conversations are one such
 * run, so that a long list needs no long copy at each save.
 */
export type ChunkSizes = readonly (readonly [size: number, chunks: number])[]

/** One list, as it was stored under its tip. Its entries are frozen. */
export interface KnownList {
  readonly entries: readonly unknown[]
  /** As in {@link ListHead}. */
  readonly first: number
  /** As in {@link ListHead}. */
  readonly skip: number
  /** As in {@link ListHead}. */
  readonly chunks: number
  /** How many entries its chunks hold, with those that are skipped. */
  readonly sizes: ChunkSizes
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
 * The known lists that the head's ones continue. `undefined` where the head is that of another session, or of one that
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
    // Where more chunks were removed than are known, the list is read like an unknown one.
    if (head.first <= list.chunks) continued.set(head.name, list)
  }
  return continued
}

/**
 * The indexes of the chunks that the head counts and that are not known. A generator, because a corrupt head may count
 * more chunks than fit into memory.
 */
export function* missingChunks(known: KnownList | undefined, head: ListHead): Generator<number> {
  for (let index = known?.chunks ?? head.first; index < head.chunks; index++) yield index
}

/**
 * The list that the head describes: what is known, and the missing chunks after it, without what was removed since. The
 * very same entries where nothing is missing and nothing was removed. `undefined` where the chunks do not make that
 * list, because another one was stored in its place.
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
  // What came before the first chunk is unknown where that is not the list's very first.
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
 * The list without its first entries, and without the chunks that hold nothing else. `undefined` where there
 * are not so many entries.
 *
 * @param removed - How many entries; 0 gives the very same list.
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

/** The sizes of a list's chunks and of those after them. */
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

/** About how many bytes all that is known takes as text. */
export function bytesOf({ headBytes, lists }: KnownSession): number {
  let sum = headBytes
  for (const { bytes } of lists.values()) sum += bytes
  return sum
}

/** How many entries a list lost on the way to the head. */
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
 * Whether chunks follow each other, to the last tip.
 *
 * @param tip - The tip before them; `undefined`: any.
 */
function isChain(tip: string | undefined, chunks: readonly ListChunk[], last: string): boolean {
  let before = tip
  for (const { previous, revision, entries } of chunks) {
    // No save writes a chunk without entries.
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
