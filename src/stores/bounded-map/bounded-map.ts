/**
 * A map with limits. Above a limit the least recently used entries are evicted. Reading, setting and evicting an entry
 * take the same time however many there are.
 */
import { type Linked, LinkedList } from '../../util/linked-list.js'

/** The limits of a {@link BoundedMap}. */
export interface Bound<Key, Value> {
  /** Default: any number. */
  readonly maxEntries?: number
  /** The most that the sizes of all entries may add up to. Default: any sum. */
  readonly maxSize?: number
  /** Called after an entry was evicted. */
  readonly onEvicted?: (key: Key, value: Value) => void
}

interface Entry<Key, Value> extends Linked<Entry<Key, Value>> {
  readonly key: Key
  readonly value: Value
  readonly size: number
}

/** Values by key, within limits. */
export class BoundedMap<Key, Value> {
  readonly #bound: Bound<Key, Value>
  readonly #entries = new Map<Key, Entry<Key, Value>>()
  /** The least recently used entry is the first. */
  readonly #byUse = new LinkedList<Entry<Key, Value>>()
  #size = 0

  constructor(bound: Bound<Key, Value>) {
    this.#bound = bound
  }

  /** The value of a key, which counts as used now. */
  get(key: Key): Value | undefined {
    const entry = this.#entries.get(key)
    if (entry === undefined) return undefined
    this.#byUse.remove(entry)
    this.#byUse.append(entry)
    return entry.value
  }

  /** The value of a key, which does not count as used. */
  peek(key: Key): Value | undefined {
    return this.#entries.get(key)?.value
  }

  /** @param size - An entry that is larger than `maxSize` is not kept. Default 0. */
  set(key: Key, value: Value, size = 0): void {
    this.delete(key)
    const { maxEntries = Infinity, maxSize = Infinity, onEvicted } = this.#bound
    // It would evict all others, and then itself.
    if (size > maxSize) return
    const entry = { key, value, size, previous: undefined, next: undefined }
    this.#entries.set(key, entry)
    this.#byUse.append(entry)
    this.#size += size
    let first = this.#byUse.first
    while (first !== undefined && (this.#entries.size > maxEntries || this.#size > maxSize)) {
      this.delete(first.key)
      onEvicted?.(first.key, first.value)
      first = this.#byUse.first
    }
  }

  /** Removes an entry, and returns whether there was one. */
  delete(key: Key): boolean {
    const entry = this.#entries.get(key)
    if (entry === undefined) return false
    this.#entries.delete(key)
    this.#byUse.remove(entry)
    this.#size -= entry.size
    return true
  }

  /** Removes entries, beginning with the least recently used one, up to the first whose value is not to be dropped. */
  deleteOldestWhile(isToDrop: (value: Value) => boolean): void {
    let first = this.#byUse.first
    while (first !== undefined && isToDrop(first.value)) {
      this.delete(first.key)
      first = this.#byUse.first
    }
  }

  clear(): void {
    for (const key of this.#entries.keys()) this.delete(key)
  }

  /** All entries, in no particular order. None counts as used by this. */
  *[Symbol.iterator](): IterableIterator<[key: Key, value: Value]> {
    for (const [key, { value }] of this.#entries) yield [key, value]
  }
}
