/**
 * A list of a session during one turn: it starts as the stored list, loses entries at its start and takes more at its
 * end. What it gives out is a frozen list; a long one is not copied entry by entry each time.
 */
import { entryBytes, listBytes, shareList } from './shared-lists.js'

/**
 * The entries of a long frozen list, in an array that is not frozen: that one is copied by the block, where reading a
 * frozen array goes entry by entry. Each belongs to one list, and to the one that is made of it first after that.
 */
const unfrozen = new WeakMap<readonly unknown[], unknown[]>()

/** From this length on a second array costs less than reading the frozen one. */
const longList = 256

/** How a list differs from the stored one. */
export interface ListChange {
  /** How many entries it lost at its start. */
  readonly removed: number
  /** How many entries it gained at its end. */
  readonly appended: number
  /** Whether it has to be stored anew: it lost entries behind its first one. */
  readonly isRewritten: boolean
}

/** A list that changes. Entries must be deeply frozen and checked, as those of every shared list. */
export class GrowingList<T> {
  readonly #stored: readonly T[]
  #list: readonly T[] | undefined
  #entries: T[] | undefined
  #bytes: number | undefined
  #removed = 0
  #appended = 0
  #isRewritten = false

  /** @param list - Where it starts: a shared list, which stays as it is. */
  constructor(list: readonly T[]) {
    this.#stored = list
    this.#list = list
  }

  /** Everything up to now: a shared list. The same one until something changes. */
  get list(): readonly T[] {
    this.#list ??= this.#freeze(this.#entries as T[])
    return this.#list
  }

  /** How many entries there are. */
  get length(): number {
    return (this.#list ?? this.#entries)?.length ?? 0
  }

  /** The entry that was added last. Unlike {@link list}, it needs no copy of a long list. */
  get last(): T | undefined {
    return (this.#list ?? this.#entries)?.at(-1)
  }

  /** About how many bytes the entries take as JSON. */
  get bytes(): number {
    this.#bytes ??= listBytes(this.#stored)
    return this.#bytes
  }

  /** How many bytes more it takes than the stored list; negative where it takes less. */
  get addedBytes(): number {
    return this.#bytes === undefined ? 0 : this.#bytes - listBytes(this.#stored)
  }

  /** How it differs from the stored list. */
  get change(): ListChange {
    return { removed: this.#removed, appended: this.#appended, isRewritten: this.#isRewritten }
  }

  push(entry: T): void {
    this.#bytes = this.bytes + entryBytes(entry)
    this.#thaw().push(entry)
    this.#appended++
  }

  /** Puts another entry in place of each that was added. */
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
   * @param kept - How many entries at the very start stay. Default: none.
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

  /** The entries in an array that may be changed. */
  #thaw(): T[] {
    if (this.#list !== undefined) {
      this.#entries = takeEntries(this.#list)
      this.#list = undefined
    }
    return this.#entries as T[]
  }

  #freeze(entries: T[]): readonly T[] {
    // A copy, also of a short list: an array that grew has room for more entries, which a stored
    // list would keep for ever.
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
