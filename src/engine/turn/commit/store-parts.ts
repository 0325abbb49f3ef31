/** Puts the parts of a reply into the session: masked into the history, and its choices to the current step. */

import { checkParts } from '../../../flow/transition.js'
import type { ReplyPart } from '../../../model/reply-part.js'
import { deepFreeze, type JsonValue } from '../../../util/json.js'
import { type Mask, maskJson, maskText } from '../../core/mask-text.js'
import { setChoices } from '../draft/call-stack.js'
import type { TurnDraft } from '../draft/turn-draft.js'

/** What is not a text of the part: the mask must not change what the part is. */
const keywords: readonly string[] = ['type', 'format']

/** @throws `FlowCodeError` if the parts before the reply and its own are too many */
export function storeParts(draft: TurnDraft, mask: Mask | undefined): void {
  const { parts, stepId, turnNumber: turn } = draft
  if (parts === undefined) return
  if (draft.calls?.leadParts !== undefined) checkParts(parts)
  const masked = (text: string): string => (mask === undefined || text === '' ? text : maskText(mask, text, 'reply'))
  draft.storedParts =
    mask === undefined ? parts : deepFreeze(parts.map((part) => maskPart(masked, part as never) as ReplyPart))
  const list = parts.find((part) => part.type === 'choices')
  if (list === undefined || draft.completed) return
  // The step must find the values that it gave.
  const options = list.options.map(({ value, label }) => ({ value, label: masked(label) }))
  setChoices(draft, stepId, { turn, name: list.name, options })
}

function maskPart(mask: (text: string) => string, value: JsonValue): JsonValue {
  if (typeof value !== 'object' || value === null) return maskJson(mask, value, 'reply')
  if (Array.isArray(value)) return value.map((one: JsonValue) => maskPart(mask, one))
  const entries = Object.entries(value).map(([key, one]) => [key, keywords.includes(key) ? one : maskPart(mask, one)])
  return Object.fromEntries(entries)
}
