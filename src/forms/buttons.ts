/** The options of a question as buttons. */
import type { Turn } from '../flow/turn.js'
import { comparableText } from '../model/comparable-text.js'
import { markPart, maxPartBytes, type ReplyPart } from '../model/reply-part.js'
import { deepFreeze, utf8Length } from '../util/json.js'
import type { Option } from './form-fields.js'

/**
 * Buttons; none, with a warning, if they cannot be shown. Free slots and the like come from other systems: a question
 * without buttons is better than a turn that fails.
 *
 * @param name - What is chosen.
 */
export function buttonsFor(name: string, options: readonly Option[], turn: Turn): readonly ReplyPart[] {
  if (options.length === 0) return []
  // What a user may say for an option: channels of plain text show numbers.
  const said = options.flatMap(({ value, label }, index) => [
    ...new Set([comparableText(value), comparableText(label), String(index + 1)]),
  ])
  const part = deepFreeze(markPart({ type: 'choices', name, options } as const))
  if (new Set(said).size === said.length && utf8Length(JSON.stringify(part)) <= maxPartBytes) return [part]
  turn.log.warn(
    `The choices of '${name}' have no buttons: two are alike, one is the number of another, or they are too long.`,
  )
  return []
}
