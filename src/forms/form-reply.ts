/** What a form says: its sentences, and the options of a question as buttons. */
import { flowCodeError } from '../errors/engine-errors.js'
import { reply, type Transition } from '../flow/transition.js'
import type { Turn } from '../flow/turn.js'
import { comparableText } from '../model/comparable-text.js'
import { markPart, maxPartBytes, type ReplyPart } from '../model/reply-part.js'
import { deepFreeze, utf8Length } from '../util/json.js'
import type { Option } from './form-fields.js'

/**
 * Buttons; none, with a warning, if they cannot be shown. Options such as free slots come from other systems: a question
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
  if (new Set(said).size === said.length && fitsReply(part)) return [part]
  turn.log.warn(
    `The choices of '${name}' have no buttons: two are alike, one is the number of another, or they are too long.`,
  )
  return []
}

/** Whether a reply may have a part, which must be its only one. */
export function fitsReply(part: ReplyPart): boolean {
  return utf8Length(JSON.stringify([part])) <= maxPartBytes
}

/** A reply of sentences, one after the other. */
export function replyWith(texts: readonly string[], parts: readonly ReplyPart[]): Transition {
  if (!texts.every((text: unknown) => typeof text === 'string')) throw flowCodeError('A form must ask with texts.')
  // Schema libraries end their own messages without a full stop.
  const transition = reply(
    texts
      .map((text) => `${text}${/[.!?…。！？]$/.test(text) ? ' ' : '\n'}`)
      .join('')
      .trimEnd(),
  )
  return parts.length === 0 ? transition : transition.withParts(parts)
}
