/** The hint for a store that saves a document: what its lists have lost and gained since it was loaded. */
import { listFields } from './document-lists.js'
import type { GrowingList } from './lists/growing-list.js'
import type { SessionDocument } from './session-document.js'
import type { SessionSaveHint } from './session-store.js'

/**
 * Whether two documents have the same lists under the same names. Lists are frozen, so a list with the same identity is
 * unchanged.
 *
 * @param other - The stored document. If nothing is stored, the result is `true`.
 */
export function hasSameLists(one: SessionDocument, other: SessionDocument | undefined): boolean {
  if (other === undefined || one === other) return true
  for (const field of listFields) if (one[field] !== other[field]) return false
  if (JSON.stringify(one.effects) !== JSON.stringify(other.effects)) return false
  const [memory, otherMemory] = [Object.entries(one.flow.memory), other.flow.memory]
  return (
    memory.length === Object.keys(otherMemory).length &&
    memory.every(([name, { messages }]) => Object.hasOwn(otherMemory, name) && otherMemory[name]?.messages === messages)
  )
}

/** The hint of a save that changes no list. */
export const unchangedLists: SessionSaveHint = Object.freeze({ appended: Object.freeze({}) })

/** A hint that is being made. */
interface GrowingHint {
  readonly appended: Record<string, number>
  removed?: Record<string, number>
  rewritten?: string[]
}

/** Adds a list's changes to a hint. @param list - `undefined` if the session has no list of this name. */
export function noteChange(hint: GrowingHint, name: string, list: GrowingList<unknown> | undefined): void {
  if (list === undefined) return
  const { appended, removed, isRewritten } = list.change
  if (isRewritten) {
    hint.rewritten ??= []
    hint.rewritten.push(name)
    return
  }
  if (appended !== 0) hint.appended[name] = appended
  if (removed > 0) {
    hint.removed ??= {}
    hint.removed[name] = removed
  }
}
