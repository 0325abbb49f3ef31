/**
 * Lists that can be shared by reference. History and messages only grow, so a turn copies references, checks what it
 * added, and leaves the rest alone. Such lists are known by identity; anything else is copied and checked before it is
 * believed.
 */
import { deepFreeze } from '../../util/json.js'

/** Makes no object, but goes on with the one it is given: so a private field can be put on a list. */
const Given = function given(list: unknown): unknown {
  return list
} as unknown as new (
  list: readonly unknown[],
) => object

/**
 * The mark of a list that is frozen, all the way down: how many entries from its start were checked. A private field on
 * the list itself, which nobody else can see or put there; a WeakMap does the same at fifty times the cost.
 */
class Mark extends Given {
  #checked: number

  private constructor(list: readonly unknown[], checked: number) {
    super(list)
    this.#checked = checked
  }

  static of(list: object): number | undefined {
    return #checked in list ? list.#checked : undefined
  }

  static put(list: readonly unknown[], checked: number): void {
    if (#checked in list) list.#checked = checked
    else new Mark(list, checked)
  }
}

/** The same for lists that somebody else has frozen: an engine may refuse to put a field on those. */
const markOfForeign = new WeakMap<readonly unknown[], number>()

function markOf(list: readonly unknown[]): number | undefined {
  return Mark.of(list) ?? markOfForeign.get(list)
}

/** Marks a list, and freezes it. Its entries are frozen already, or will be. */
function mark(list: readonly unknown[], checked: number): void {
  if (Mark.of(list) !== undefined || Object.isExtensible(list)) Mark.put(list, checked)
  else markOfForeign.set(list, checked)
  Object.freeze(list)
}

/** Whether `list` is frozen, deeply, and was checked. */
export function isSharedList(list: readonly unknown[]): boolean {
  return markOf(list) === list.length
}

/** Vouches for `list`: its entries are deeply frozen and checked already. Freezes the list itself. */
export function shareList<T>(list: T[]): readonly T[] {
  mark(list, list.length)
  return list
}

/** Whether `list` is known to be frozen, deeply; it may be unchecked. */
export function isFrozenList(list: readonly unknown[]): boolean {
  return markOf(list) !== undefined
}

/** Freezes a list deeply, and remembers it. Expects a tree. */
export function freezeList(list: readonly unknown[]): void {
  if (isFrozenList(list)) return
  for (const entry of list) deepFreeze(entry)
  mark(list, 0)
}

/** Freezes a list that came from elsewhere, deeply, and vouches for it. Expects plain JSON that was checked. */
export function adoptList<T>(list: readonly T[]): readonly T[] {
  freezeList(list)
  return shareList(list as T[])
}

/** How many entries of `list`, from its start, need no check: they were checked in the list that it extends. */
export function checkedLength(list: readonly unknown[]): number {
  return markOf(list) ?? 0
}

/** A frozen list with more entries after it, frozen deeply, too. What was checked of `list` stays checked. */
export function extendList<T>(list: readonly T[], entries: readonly T[]): readonly T[] {
  const extended = [...list, ...deepFreeze(entries)]
  mark(extended, checkedLength(list))
  return extended
}
