/**
 * Lists that can be shared by reference. History and messages only grow, so a turn copies references and checks what it
 * added. Such lists are known by identity; every other list is copied and checked before it is used.
 */
import { deepFreeze } from '../../util/json.js'

/** The lists that are frozen all the way down, and how many entries of each, from its start, were checked. */
const checkedEntries = new WeakMap<readonly unknown[], number>()

/** Remembers a list, and freezes it. Its entries are frozen already. */
function remember(list: readonly unknown[], checked: number): void {
  checkedEntries.set(list, checked)
  Object.freeze(list)
}

/** Whether `list` is frozen, deeply, and was checked. */
export function isSharedList(list: readonly unknown[]): boolean {
  return checkedEntries.get(list) === list.length
}

/** Freezes a list whose entries the caller has frozen, all the way down, and checked. */
export function shareList<T>(list: T[]): readonly T[] {
  remember(list, list.length)
  return list
}

/** Whether `list` is known to be frozen, deeply; it may be unchecked. */
export function isFrozenList(list: readonly unknown[]): boolean {
  return checkedEntries.has(list)
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
  return checkedEntries.get(list) ?? 0
}

/** A frozen list with more entries after it, frozen deeply, too. What was checked of `list` stays checked. */
export function extendList<T>(list: readonly T[], entries: readonly T[]): readonly T[] {
  const extended = [...list, ...deepFreeze(entries)]
  remember(extended, checkedLength(list))
  return extended
}
