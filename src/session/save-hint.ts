/** What a store has to know of the lists of a document that it saves: what they lost and gained since it was loaded. */
import type { GrowingList } from './lists/growing-list.js'
import type { SessionDocument } from './session-document.js'
import type { SessionSaveHint } from './session-store.js'

/**
 * Whether a document has the lists of the stored one, under the same names. Lists are frozen: one that
 * is the same is unchanged.
 *
 * @param other - The stored document; `undefined` where none is stored, and nothing can differ.
 */
export function hasSameLists(one: SessionDocument, other: SessionDocument | undefined): boolean {
  if (other === undefined || one === other) return true
  const isSame = (name: 'history' | 'attachments' | 'receipts'): boolean => one[name] === other[name]
  if (!isSame('history') || !isSame('attachments') || !isSame('receipts')) return false
  if (JSON.stringify(one.effects) !== JSON.stringify(other.effects)) return false
  const [memory, otherMemory] = [Object.entries(one.flow.memory), other.flow.memory]
  return (
    memory.length === Object.keys(otherMemory).length &&
    memory.every(([name, { messages }]) => Object.hasOwn(otherMemory, name) && otherMemory[name]?.messages === messages)
  )
}

/** The hint of a save that changes no list. */
export const unchangedLists: SessionSaveHint = Object.freeze({ appended: Object.freeze({}) })

/** What a store has to know of lists that may have changed. */
export function hintOf(
  lists: readonly (readonly [name: string, list: GrowingList<unknown> | undefined])[],
): SessionSaveHint {
  const appended: Record<string, number> = {}
  const removed: Record<string, number> = {}
  const rewritten: string[] = []
  for (const [name, list] of lists) {
    if (list === undefined) continue
    const { change } = list
    if (change.isRewritten) {
      rewritten.push(name)
      continue
    }
    if (change.appended !== 0) appended[name] = change.appended
    if (change.removed > 0) removed[name] = change.removed
  }
  return { appended, ...(isEmpty(removed) ? {} : { removed }), ...(rewritten.length === 0 ? {} : { rewritten }) }
}

function isEmpty(record: object): boolean {
  for (const _key in record) return false
  return true
}
