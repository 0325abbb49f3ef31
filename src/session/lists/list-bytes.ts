/** How many bytes the entries of a list take as JSON. A frozen list is measured once. */
import { jsonSize } from '../../util/json.js'
import { isFrozenList } from './shared-lists.js'

const sizes = new WeakMap<readonly unknown[], number>()

/** About how many bytes an entry adds to a list: itself and the comma after it. */
export function entryBytes(entry: unknown): number {
  return jsonSize(entry) + 1
}

/** About how many bytes the entries of a list take as JSON. */
export function listBytes(list: readonly unknown[]): number {
  let bytes = sizes.get(list)
  if (bytes === undefined) {
    bytes = 0
    for (const entry of list) bytes += entryBytes(entry)
    if (isFrozenList(list)) sizes.set(list, bytes)
  }
  return bytes
}

/** Remembers the bytes of a frozen list, from a caller that has counted them. */
export function rememberListBytes(list: readonly unknown[], bytes: number): void {
  sizes.set(list, bytes)
}
