/**
 * Lists that can be shared by reference. A turn removes entries at the start of a list and adds some at its end, so it
 * copies references and checks only what it added. Such lists are known by identity; any other list is copied and
 * checked before it is used.
 */
import { deepFreeze, jsonSize } from '../../util/json.js'

/** What is known about a deeply frozen list. */
interface FrozenList {
  /** How many entries, from its start, were checked. */
  checked: number
  /** About how many bytes its entries take as JSON, if they were counted. */
  bytes: number | undefined
}

/** A subclass adds its private fields to the object that it passes to this constructor, and not to a new object. */
class GivenObject {
  constructor(object: object) {
    // biome-ignore lint/correctness/noConstructorReturn: see above.
    return object
  }
}

/**
 * Keeps what is known about a list in a private field of the list itself, invisible to all other code. Each turn makes
 * some lists, and a WeakMap takes ten times as long for each, and as long again when they are collected.
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

/** For lists that were frozen by other code: not every runtime can add a private field to a frozen object. */
const frozenElsewhere = new WeakMap<readonly unknown[], FrozenList>()

function knownOf(list: readonly unknown[]): FrozenList | undefined {
  return Mark.of(list) ?? frozenElsewhere.get(list)
}

/** Remembers and freezes a list. Its entries must be frozen already. */
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

/** Whether `list` is deeply frozen and was checked. */
export function isSharedList(list: readonly unknown[]): boolean {
  return knownOf(list)?.checked === list.length
}

/**
 * Freezes a list whose entries the caller has deeply frozen and checked.
 *
 * @param bytes - What {@link listBytes} returns for the list. Default: counted when it is first needed.
 */
export function shareList<T>(list: T[], bytes?: number): readonly T[] {
  remember(list, list.length, bytes)
  return list
}

/** Whether `list` is known to be deeply frozen; it may be unchecked. */
export function isFrozenList(list: readonly unknown[]): boolean {
  return knownOf(list) !== undefined
}

/** About how many bytes an entry adds to a list: itself and the comma after it. */
export function entryBytes(entry: unknown): number {
  return jsonSize(entry) + 1
}

/** About how many bytes the entries of a list take as JSON. A frozen list is measured only once. */
export function listBytes(list: readonly unknown[]): number {
  const known = knownOf(list)
  if (known?.bytes !== undefined) return known.bytes
  let bytes = 0
  for (const entry of list) bytes += entryBytes(entry)
  if (known !== undefined) known.bytes = bytes
  return bytes
}

/** Deeply freezes a list, and remembers it. Its entries must not contain cycles. */
export function freezeList(list: readonly unknown[]): void {
  if (isFrozenList(list)) return
  for (const entry of list) deepFreeze(entry)
  remember(list, 0)
}

/** Deeply freezes a list of plain JSON that the caller has checked. */
export function adoptList<T>(list: readonly T[]): readonly T[] {
  freezeList(list)
  return shareList(list as T[])
}

/** How many entries at the start of `list` need no check, because they were checked in the list that it extends. */
export function checkedLength(list: readonly unknown[]): number {
  return knownOf(list)?.checked ?? 0
}

/** A deeply frozen list with more entries at its end. Entries of `list` that were checked stay checked. */
export function extendList<T>(list: readonly T[], entries: readonly T[]): readonly T[] {
  const extended = [...list, ...deepFreeze(entries)]
  remember(extended, checkedLength(list))
  return extended
}
