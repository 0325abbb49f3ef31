/**
 * What a process knows of a stored session: its head, its document, and of each list the entries, the number of chunks and
 * the tip that identifies their contents. Decides whether chunks that were read continue a known list. Reading them is the
 * work of read-session.ts.
 */
import { extendList, freezeList } from '../../../session/lists/shared-lists.js'
import type { SessionDocument } from '../../../session/session-document.js'
import type { ListChunk, ListHead } from './parts.js'

/** One list, as it was stored under its tip. Its entries are frozen. */
export interface KnownList {
  readonly entries: readonly unknown[]
  readonly chunks: number
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
const nothing: KnownList = { entries: Object.freeze([]), chunks: 0, tip: '', bytes: 0 }

/**
 * The indexes of the chunks that the head counts and that are not known; none where the head counts fewer. A generator,
 * because a corrupt head may count more chunks than fit into memory.
 */
export function* missingChunks(known: KnownList | undefined, head: ListHead): Generator<number> {
  for (let index = (known ?? nothing).chunks; index < head.chunks; index++) yield index
}

/**
 * The list that the head describes: what is known, and the missing chunks after it. The very same entries where nothing is
 * missing. `undefined` where the chunks do not make that list, because another one was stored in its place.
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

/** Whether the head describes a list that cannot continue the known one: it has no more chunks, and another tip. */
export function isRewritten(known: KnownList | undefined, head: ListHead): boolean {
  return known !== undefined && head.chunks <= known.chunks && head.tip !== known.tip
}

/** The known lists without those of these names. */
export function without(
  lists: ReadonlyMap<string, KnownList>,
  names: readonly string[],
): ReadonlyMap<string, KnownList> {
  if (names.length === 0) return lists
  const rest = new Map(lists)
  for (const name of names) rest.delete(name)
  return rest
}

/** About how many bytes all that is known takes as text. */
export function bytesOf({ headBytes, lists }: KnownSession): number {
  let sum = headBytes
  for (const { bytes } of lists.values()) sum += bytes
  return sum
}

function extended(entries: readonly unknown[], added: readonly unknown[]): readonly unknown[] {
  if (entries.length > 0) return added.length > 0 ? extendList(entries, added) : entries
  freezeList(added)
  return added
}
