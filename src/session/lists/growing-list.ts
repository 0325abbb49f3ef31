/**
 * A shared list that takes more entries. What it gives out is a frozen list; a long one is not copied entry by entry each
 * time.
 */
import { shareList } from './shared-lists.js'

/**
 * The entries of a long frozen list, in an array that is not frozen: that one is copied by the block, where reading a
 * frozen array goes entry by entry. Each belongs to one list, and to the one that is made of it first after that.
 */
const unfrozen = new WeakMap<readonly unknown[], unknown[]>()

/** From this length on a second array costs less than reading the frozen one. */
const longList = 256

/** A list in the making. Entries must be deeply frozen and checked, as those of every shared list. */
export class GrowingList<T> {
  #list: readonly T[] | undefined
  #entries: T[] | undefined

  /** @param list - Where it starts: a shared list, which stays as it is. */
  constructor(list: readonly T[]) {
    this.#list = list
  }

  /** Everything up to now: a shared list. The same one until something is added. */
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

  push(entry: T): void {
    if (this.#list !== undefined) {
      this.#entries = takeEntries(this.#list)
      this.#list = undefined
    }
    this.#entries?.push(entry)
  }

  #freeze(entries: T[]): readonly T[] {
    // A copy, also of a short list: an array that grew has room for more entries, which a stored list would keep for ever.
    const list = shareList(entries.slice())
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
