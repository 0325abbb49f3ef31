/** Which option of the open choices a message chose. */
import type { Turn } from '../../../flow/turn.js'
import type { SessionStep } from '../../../session/session-document.js'
import type { TurnInput } from '../../core/turn-input.js'

/** See `Turn.choice`. @param open - The list of the step in which the turn began. */
export function chosen(
  { choice, userMessage, event }: Pick<TurnInput, 'choice' | 'userMessage' | 'event'>,
  open: SessionStep['choices'],
): Turn['choice'] {
  if (open === undefined || event !== undefined) return undefined
  const { turn, name, options } = open
  // A button of an older reply is text, also if the open list has the same label.
  if (choice !== undefined && (choice.turn !== turn || choice.name !== name)) return undefined
  const text = comparable(userMessage)
  const found =
    options.find(({ value }) => value === choice?.value) ??
    options.find(({ value }) => value === userMessage.trim()) ??
    options.find(({ label }) => comparable(label) === text) ??
    (/^[1-9]\d?$/.test(text) ? options[Number(text) - 1] : undefined)
  return found && Object.freeze({ name, value: found.value })
}

/** Case and spaces do not count. */
function comparable(text: string): string {
  return text.toLowerCase().replace(/\s+/g, '')
}
