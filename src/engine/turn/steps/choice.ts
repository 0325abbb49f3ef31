/** Which option of the open choices a message chose. */
import type { Turn } from '../../../flow/turn.js'
import { comparableText } from '../../../model/comparable-text.js'
import type { SessionStep } from '../../../session/session-document.js'
import { type Mask, maskText } from '../../core/mask-text.js'
import type { TurnInput } from '../../core/turn-input.js'

type Option = NonNullable<SessionStep['choices']>['options'][number]

/**
 * See `Turn.choice`.
 *
 * @param open - The list of the step in which the turn began. Its labels are masked.
 */
export function chosen(
  { choice, userMessage, event }: Pick<TurnInput, 'choice' | 'userMessage' | 'event'>,
  open: SessionStep['choices'],
  mask: Mask | undefined,
): Turn['choice'] {
  if (open === undefined || event !== undefined) return undefined
  const { turn, name, options } = open
  const masked = (text: string): string => (mask === undefined || text === '' ? text : maskText(mask, text, 'reply'))
  // A page that was loaded again has the masked parts.
  const isSame = (given: string, own: string): boolean => given === own || given === masked(own)
  // A button of an older reply is text, also if the open list has the same label.
  if (choice !== undefined && (choice.turn !== turn || !isSame(choice.name, name))) return undefined
  const said = userMessage.trim()
  const label = comparableText(masked(userMessage))
  const found =
    onlyOne(options, ({ value }) => choice !== undefined && isSame(choice.value, value)) ??
    options.find(({ value }) => value === said) ??
    onlyOne(options, (one) => label !== '' && comparableText(one.label) === label) ??
    options[Number(/^(\d{1,3})[.)]?$/.exec(said)?.[1]) - 1]
  return found && Object.freeze({ name, value: found.value })
}

/** The option that fits, unless a mask has made several the same. */
function onlyOne(options: readonly Option[], isMeant: (option: Option) => boolean): Option | undefined {
  const [found, ...others] = options.filter(isMeant)
  return others.length === 0 ? found : undefined
}
