/**
 * What a process knows of a stored session's lists: the entries themselves, how many chunks they are stored in, and the
 * tip that names their contents. Decides whether chunks that were read go on from that; reading them is left to others.
 */
import { extendList, freezeList } from '../../../session/lists/shared-lists.js'
import type { ListChunk, ListHead } from './parts.js'

/** One list, as it was stored under its tip. Its entries are frozen. */
export interface KnownList {
  readonly entries: readonly unknown[]
  readonly chunks: number
  readonly tip: string
  /** About how many bytes its chunks take as text. */
  readonly bytes: number
}

/** The lists of one session, as they were stored under a revision. */
export interface KnownSession {
  readonly revision: string
  readonly lists: ReadonlyMap<string, KnownList>
}

/** A list before its first chunk. */
const nothing: KnownList = { entries: Object.freeze([]), chunks: 0, tip: '', bytes: 0 }

/**
 * The indexes of the chunks between what is known and what the head says; none where it says something else. One after
 * another: a head may lie, and tell of more chunks than there is memory.
 */
export function* missingChunks(known: KnownList | undefined, head: ListHead): Generator<number> {
  for (let index = (known ?? nothing).chunks; index < head.chunks; index++) yield index
}

/**
 * The list that the head speaks of: what is known, and the missing chunks after it. The very same entries where nothing
 * is missing. `undefined` where they do not make that list: another one was stored in its place.
 *
 * @param bytes - About how many bytes the missing chunks take as text.
 */
export function followChunks(
  known: KnownList | undefined,
  head: ListHead,
  missing: readonly ListChunk[],
  bytes: number,
): KnownList | undefined {
  const { entries, chunks, tip: knownTip, bytes: knownBytes } = known ?? nothing
  let tip = knownTip
  for (const chunk of missing) {
    if (chunk.previous !== tip) return undefined
    tip = chunk.revision
  }
  if (tip !== head.tip || chunks + missing.length !== head.chunks) return undefined
  const added = missing.flatMap(({ entries }) => entries)
  if (entries.length + added.length !== head.entries) return undefined
  return { entries: extended(entries, added), chunks: head.chunks, tip: head.tip, bytes: knownBytes + bytes }
}

/** Whether the head speaks of a list that cannot go on from what is known: it has no more chunks, and another tip. */
export function isRewritten(known: KnownList | undefined, head: ListHead): boolean {
  return known !== undefined && head.chunks <= known.chunks && head.tip !== known.tip
}

/** What is known beside these lists. */
export function without(known: KnownSession, names: readonly string[]): KnownSession {
  if (names.length === 0) return known
  const lists = new Map(known.lists)
  for (const name of names) lists.delete(name)
  return { ...known, lists }
}

/** About how many bytes all that is known takes as text. */
export function bytesOf({ lists }: KnownSession): number {
  let sum = 0
  for (const { bytes } of lists.values()) sum += bytes
  return sum
}

function extended(entries: readonly unknown[], added: readonly unknown[]): readonly unknown[] {
  if (entries.length > 0) return added.length > 0 ? extendList(entries, added) : entries
  freezeList(added)
  return added
}
