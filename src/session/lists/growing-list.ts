/**
 * One list of a session during a turn. It begins as the stored list, loses entries at its start and gains entries at
 * its end. It hands out frozen lists, and avoids copying a long one entry by entry each time.
 */
import { entryBytes, listBytes, shareList } from './shared-lists.js'

/**
 * The entries of long frozen lists, in arrays that are not frozen: the runtime copies those as one block, but reads a
 * frozen array entry by entry. The first list that is made from a frozen one takes over its array.
 */
const unfrozen = new WeakMap<readonly unknown[], unknown[]>()

/** At this length and above, a second array costs less than reading the frozen one. */
const longList = 256

/** How a list differs from the stored one. */
export interface ListChange {
  /** How many entries it lost at its start. */
  readonly removed: number
  /** How many entries it gained at its end. */
  readonly appended: number
  /** Whether the whole list has to be stored again, because it lost entries behind its first one. */
  readonly isRewritten: boolean
}

/** A list that changes. Its entries must be deeply frozen and checked, like the entries of every shared list. */
export class GrowingList<T> {
  readonly #stored: readonly T[]
  #list: readonly T[] | undefined
  #entries: T[] | undefined
  #bytes: number | undefined
  #removed = 0
  #appended = 0
  #isRewritten = false

  /** @param list - The stored list: a shared list, which is not changed. */
  constructor(list: readonly T[]) {
    this.#stored = list
    this.#list = list
  }

  /** All entries as a shared list. It is the same object until something changes. */
  get list(): readonly T[] {
    this.#list ??= this.#freeze(this.#entries as T[])
    return this.#list
  }

  get length(): number {
    return (this.#list ?? this.#entries)?.length ?? 0
  }

  /** The last entry. Unlike {@link list}, it never copies a long list. */
  get last(): T | undefined {
    return (this.#list ?? this.#entries)?.at(-1)
  }

  /** About how many bytes the entries take as JSON. */
  get bytes(): number {
    this.#bytes ??= listBytes(this.#stored)
    return this.#bytes
  }

  /** How many bytes the list has grown; negative if it has shrunk. */
  get addedBytes(): number {
    return this.#bytes === undefined ? 0 : this.#bytes - listBytes(this.#stored)
  }

  get change(): ListChange {
    return { removed: this.#removed, appended: this.#appended, isRewritten: this.#isRewritten }
  }

  push(entry: T): void {
    this.#bytes = this.bytes + entryBytes(entry)
    this.#thaw().push(entry)
    this.#appended++
  }

  /** Replaces each entry that was added. */
  replaceAdded(replace: (entry: T) => T): void {
    if (this.#appended === 0) return
    let bytes = this.bytes
    const entries = this.#thaw()
    for (let index = entries.length - this.#appended; index < entries.length; index++) {
      const before = entries[index] as T
      const after = replace(before)
      bytes += entryBytes(after) - entryBytes(before)
      entries[index] = after
    }
    this.#bytes = bytes
  }

  /**
   * Removes the oldest entries.
   *
   * @param kept - How many entries at the very start are kept. Default: none.
   * @returns What was removed.
   */
  removeOldest(count: number, kept = 0): readonly T[] {
    let bytes = this.bytes
    const removed = this.#thaw().splice(kept, count)
    for (const entry of removed) bytes -= entryBytes(entry)
    this.#bytes = bytes
    if (kept > 0) this.#isRewritten = true
    const ofStored = Math.min(removed.length, this.#stored.length - this.#removed)
    this.#removed += ofStored
    this.#appended -= removed.length - ofStored
    return removed
  }

  #thaw(): T[] {
    if (this.#list !== undefined) {
      this.#entries = takeEntries(this.#list)
      this.#list = undefined
    }
    return this.#entries as T[]
  }

  #freeze(entries: T[]): readonly T[] {
    // Copies short lists, too: an array that grew has spare room, which a stored list would keep forever.
    const list = shareList(entries.slice(), this.bytes)
    if (entries.length >= longList) unfrozen.set(list, entries)
    return list
  }
}

function takeEntries<T>(list: readonly T[]): T[] {
  const entries = unfrozen.get(list) as T[] | undefined
  if (entries === undefined) return [...list]
  unfrozen.delete(list)
  return entries
}
