/**
 * Lists that can be shared by reference. A turn removes entries at the start of a list and adds some at its end, so it
 * copies references and checks what it added. Such lists are known by identity; every other list is copied and
 * checked before it is used.
 */
import { deepFreeze, jsonSize } from '../../util/json.js'

/** What is known of a list that is frozen all the way down. */
interface FrozenList {
  /** How many entries, from its start, were checked. */
  checked: number
  /** About how many bytes its entries take as JSON, once they were counted. */
  bytes: number | undefined
}

/** What extends it has its private fields in the object that the constructor is given, and not in a new one. */
class GivenObject {
  constructor(object: object) {
    // biome-ignore lint/correctness/noConstructorReturn: see above.
    return object
  }
}

/**
 * Keeps what is known of a list in the list itself, unseen by everything else: each turn makes some lists, and a
 * WeakMap takes ten times as long for each, and again as long when they are collected.
 */
class Mark extends GivenObject {
  readonly #known: FrozenList

  constructor(list: readonly unknown[], known: FrozenList) {
    super(list)
    this.#known = known
  }

  static of(list: object): FrozenList | undefined {
    return #known in list ? list.#known : undefined
  }
}

/** For lists that somebody else has frozen: not every runtime lets those have a mark. */
const frozenElsewhere = new WeakMap<readonly unknown[], FrozenList>()

function knownOf(list: readonly unknown[]): FrozenList | undefined {
  return Mark.of(list) ?? frozenElsewhere.get(list)
}

/** Remembers a list, and freezes it. Its entries are frozen already. */
function remember(list: readonly unknown[], checked: number, bytes?: number): void {
  const known = knownOf(list)
  if (known !== undefined) {
    known.checked = checked
    known.bytes = bytes
    return
  }
  if (Object.isExtensible(list)) new Mark(list, { checked, bytes })
  else frozenElsewhere.set(list, { checked, bytes })
  Object.freeze(list)
}

/** Whether `list` is frozen, deeply, and was checked. */
export function isSharedList(list: readonly unknown[]): boolean {
  return knownOf(list)?.checked === list.length
}

/**
 * Freezes a list whose entries the caller has frozen, all the way down, and checked.
 *
 * @param bytes - What {@link listBytes} returns for it. Default: it is counted when it is asked for.
 */
export function shareList<T>(list: T[], bytes?: number): readonly T[] {
  remember(list, list.length, bytes)
  return list
}

/** Whether `list` is known to be frozen, deeply; it may be unchecked. */
export function isFrozenList(list: readonly unknown[]): boolean {
  return knownOf(list) !== undefined
}

/** About how many bytes an entry adds to a list: itself and the comma after it. */
export function entryBytes(entry: unknown): number {
  return jsonSize(entry) + 1
}

/** About how many bytes the entries of a list take as JSON. A frozen list is measured once. */
export function listBytes(list: readonly unknown[]): number {
  const known = knownOf(list)
  if (known?.bytes !== undefined) return known.bytes
  let bytes = 0
  for (const entry of list) bytes += entryBytes(entry)
  if (known !== undefined) known.bytes = bytes
  return bytes
}

/** Freezes a list deeply, and remembers it. Expects a tree. */
export function freezeList(list: readonly unknown[]): void {
  if (isFrozenList(list)) return
  for (const entry of list) deepFreeze(entry)
  remember(list, 0)
}

/** Freezes a list of plain JSON, all the way down, which the caller has checked. */
export function adoptList<T>(list: readonly T[]): readonly T[] {
  freezeList(list)
  return shareList(list as T[])
}

/** How many entries of `list`, from its start, need no check: they were checked in the list that it extends. */
export function checkedLength(list: readonly unknown[]): number {
  return knownOf(list)?.checked ?? 0
}

/** A frozen list with more entries after it, frozen deeply, too. What was checked of `list` stays checked. */
export function extendList<T>(list: readonly T[], entries: readonly T[]): readonly T[] {
  const extended = [...list, ...deepFreeze(entries)]
  remember(extended, checkedLength(list))
  return extended
}
