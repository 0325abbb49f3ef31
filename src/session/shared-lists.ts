/**
 * Lists that can be shared by reference. History and messages only grow, so a turn copies references, checks what it
 * added, and leaves the rest alone. Such lists are known by identity; anything else is copied and checked before it is
 * believed.
 */
import { deepFreeze } from '../json.js'

/** Frozen, all the way down, and nothing more is known. */
const frozen = new WeakSet<readonly unknown[]>()

/** Frozen, all the way down, and checked. */
const shared = new WeakSet<readonly unknown[]>()

/** Whether `list` is frozen, deeply, and was checked. */
export function isSharedList(list: readonly unknown[]): boolean {
  return shared.has(list)
}

/** Vouches for `list`: its entries are deeply frozen and checked already. Freezes the list itself. */
export function shareList<T>(list: T[]): readonly T[] {
  shared.add(Object.freeze(list))
  return list
}

/** Whether `list` is known to be frozen, deeply; it may be unchecked. */
export function isFrozenList(list: readonly unknown[]): boolean {
  return shared.has(list) || frozen.has(list)
}

/** Freezes a list deeply, and remembers it. Expects a tree. */
export function freezeList(list: readonly unknown[]): void {
  if (!isFrozenList(list)) frozen.add(deepFreeze(list))
}

/** Freezes a list that came from elsewhere, deeply, and vouches for it. Expects plain JSON that was checked. */
export function adoptList<T>(list: readonly T[]): readonly T[] {
  if (shared.has(list)) return list
  freezeList(list)
  return shareList(list as T[])
}

/** How many entries of a list, from its start, were checked as part of a shorter one. */
const checkedStarts = new WeakMap<readonly unknown[], number>()

/** How many entries of `list`, from its start, need no check: they were checked in the list that it extends. */
export function checkedLength(list: readonly unknown[]): number {
  return checkedStarts.get(list) ?? 0
}

/** A frozen list with more entries after it, frozen deeply, too. What was checked of `list` stays checked. */
export function extendList<T>(list: readonly T[], entries: readonly T[]): readonly T[] {
  const extended = Object.freeze([...list, ...deepFreeze(entries)])
  frozen.add(extended)
  checkedStarts.set(extended, isSharedList(list) ? list.length : checkedLength(list))
  return extended
}
