/**
 * Lists that can be shared by reference: frozen, all the way down, and checked. History and messages only grow, so a
 * turn copies references, checks what it added, and leaves the rest alone. Lists are known by identity; anything else
 * is copied and checked before it is believed.
 */
import { deepFreeze } from '../json.js'

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

/** Freezes a list that came from elsewhere, deeply, and vouches for it. Expects plain JSON that was checked. */
export function adoptList<T>(list: readonly T[]): readonly T[] {
  return shared.has(list) ? list : shareList(deepFreeze(list) as T[])
}
