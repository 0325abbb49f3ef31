/** Puts the parts of a reply into the session: masked into the history, and its choices to the current step. */
import { flowCodeError } from '../../../errors/engine-errors.js'
import type { ReplyPart } from '../../../model/reply-part.js'
import { deepFreeze, type JsonObject, type JsonValue } from '../../../util/json.js'
import { type Mask, maskJson } from '../../core/mask-text.js'
import { setChoices } from '../draft/call-stack.js'
import type { TurnDraft } from '../draft/turn-draft.js'

/** @param mask - The mask of the turn, which gives equal texts the same result. */
export function storeParts(draft: TurnDraft, mask: Mask | undefined): void {
  const { parts = [], answer, calls, turnNumber: turn } = draft
  if (draft.reply.encoding !== undefined) throw flowCodeError('A reply of bytes may not have parts.')
  const masked = (text: string): string => (mask === undefined ? text : mask(text, 'reply'))
  draft.storedParts = mask === undefined ? parts : deepFreeze(parts.map((part) => maskPart(masked, part)))
  const list = parts.find((part) => part.type === 'choices')
  if (list === undefined || draft.completed) return
  // The step must find the values that it gave.
  const options = list.options.map(({ value, label }) => ({ value, label: masked(label) }))
  // A step that waits for a return may answer an event.
  const asking = calls?.callers.find(({ step }) => step === answer?.from)?.step ?? draft.stepId
  setChoices(draft, asking, { turn, name: list.name, options })
}

type MaskTexts = (text: string) => string

/** The mask must not change what a part is: its type, and the keywords of a schema. */
function maskPart(mask: MaskTexts, { type, ...fields }: ReplyPart): ReplyPart {
  const entries = Object.entries(fields).map(([name, value]) => {
    const masked = type === 'form' && name === 'schema' ? maskSchema(mask, value as JsonObject) : maskAll(mask, value)
    return [name, masked]
  })
  return { type, ...Object.fromEntries(entries) }
}

function maskSchema(mask: MaskTexts, { type, properties, ...more }: JsonObject): JsonObject {
  const fields = Object.entries(properties as JsonObject).map(([name, field]) => {
    const { type: kind, format, ...rest } = field as JsonObject
    return [mask(name), { type: kind, ...(format !== undefined && { format }), ...maskValues(mask, rest) }]
  })
  return { type: type as string, properties: Object.fromEntries(fields), ...maskValues(mask, more) }
}

/** Masks the values of an object whose keys are keywords. */
function maskValues(mask: MaskTexts, keywords: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(keywords).map(([keyword, value]) => [keyword, maskAll(mask, value)]))
}

function maskAll(mask: MaskTexts, value: JsonValue): JsonValue {
  return maskJson(mask, value, 'reply')
}
