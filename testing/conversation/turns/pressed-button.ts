/** What a page sends if a button is pressed. */
import type { FlowRunInput } from '../../../src/index.js'
import { list, show } from '../../expectations/expectation-error.js'
import type { ConversationTurn } from './conversation-turn.js'

/** The option with a label, of the newest reply that has any; a problem as a text. */
export function pressed(
  label: string,
  turns: readonly ConversationTurn[],
): NonNullable<FlowRunInput['choice']> | string {
  const last = turns.findLast(({ reply }) => reply.parts?.some(({ type }) => type === 'choices'))
  const part = last?.reply.parts?.find((one) => one.type === 'choices')
  if (part === undefined) return `There is no button ${show(label)}: no reply had choices so far.`
  const option = part.options.find((one) => one.label === label)
  if (option !== undefined) return { turn: last?.reply.turn as number, name: part.name, value: option.value }
  return `There is no button ${show(label)}. The buttons: ${list(part.options.map((one) => one.label))}.`
}
