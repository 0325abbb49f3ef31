/** The last steps that a session entered: `flow.sequence` of its document. */
import type { BaseStep } from '../../../flow/base-step.js'
import { shareList } from '../../../session/lists/shared-lists.js'
import type { SessionSequenceEntry } from '../../../session/session-document.js'

/** How many entries are kept. */
const maxSequence = 20

/** The sequence plus the steps that a turn entered; the same object if it entered none. */
export function extendSequence(
  sequence: readonly SessionSequenceEntry[],
  entered: readonly SessionSequenceEntry[],
): readonly SessionSequenceEntry[] {
  return entered.length === 0 ? sequence : shareList(sequence.concat(entered).slice(-maxSequence))
}

/** By step class: the entry that the sequences of all its sessions share, if no call is open. */
const sequenceEntries = new WeakMap<object, SessionSequenceEntry>()

/** The entry of a step. @param level - How many calls are open. */
export function sequenceEntry(stepId: string, step: BaseStep, level: number): SessionSequenceEntry {
  if (level > 0) return Object.freeze({ step: stepId, level })
  let entry = sequenceEntries.get(step.constructor)
  if (entry?.step !== stepId) {
    entry = Object.freeze({ step: stepId, level: 0 })
    sequenceEntries.set(step.constructor, entry)
  }
  return entry
}
