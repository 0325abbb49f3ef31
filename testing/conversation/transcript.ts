/**
 * A conversation as Markdown, for snapshots and for failures: the same text for the same conversation, whatever IDs and
 * times it had. What belongs to a turn is decided elsewhere.
 */
import { HttpContentType } from '../../src/index.js'
import { show } from '../expectation-error.js'
import { type ConversationReply, type ConversationTurn, toolCallsOf } from './conversation-turn.js'

const isoTime = /\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)/g

/** The transcript of a flow's turns. */
export function transcriptOf(flowName: string, turns: readonly ConversationTurn[]): string {
  const sections = turns.map((turn, index) => sectionOf(turn, index + 1, turns[index - 1]))
  return [`# ${flowName}`, ...sections].join('\n\n').concat('\n')
}

function sectionOf(turn: ConversationTurn, number: number, before: ConversationTurn | undefined): string {
  const { said, reply, afterRestart } = turn
  const notes = [
    ...(afterRestart ? ['after a restart'] : []),
    ...(before !== undefined && before.reply.session !== reply.session && before.reply.session !== ''
      ? ['in a new session']
      : []),
  ]
  const heading = `## Turn ${number}${notes.length === 0 ? '' : ` (${notes.join(', ')})`}`
  const happened = linesOf(turn)
  const lines = [`User: ${indented(said)}`, ...(happened === '' ? [] : [happened]), endOf(turn)]
  return [heading, ...lines.map((line) => stable(line, turn, before))].join('\n\n')
}

function linesOf(turn: ConversationTurn): string {
  const calls = toolCallsOf(turn)
  let made = 0
  const lines: string[] = []
  for (const event of turn.events) {
    if (event.kind === 'enter') lines.push(`- enters ${event.step}`)
    if (event.kind !== 'tool-call') continue
    const { name, input, output, isError } = calls[made++] ?? { name: event.part.toolName, input: event.part.input }
    const result = output === undefined ? '' : `${isError === true ? ' fails' : ''}: ${show(output)}`
    lines.push(`- calls ${name} ${show(input)}${result}`)
  }
  return lines.join('\n')
}

function endOf({ reply, document }: ConversationTurn): string {
  if (!reply.success) return `Failed with ${reply.error?.code ?? 'no code'}: ${indented(reply.message)}`
  const at = document?.flow.currentStep
  const end = reply.completed ? `Completed at ${at}.` : `Now at ${at}.`
  return at === undefined || at === null ? textOf(reply) : `${textOf(reply)}\n\n${end}`
}

/** What the user gets to see. */
function textOf({ message, contentType, encoding }: ConversationReply): string {
  if (encoding !== undefined) return `Reply: ${contentType}, ${message.length} characters of ${encoding}`
  return contentType === HttpContentType.Plain
    ? `Reply: ${indented(message)}`
    : `Reply (${contentType}): ${indented(message)}`
}

function stable(text: string, turn: ConversationTurn, before: ConversationTurn | undefined): string {
  let result = text.replace(isoTime, '<time>')
  for (const id of [turn.reply.session, before?.reply.session ?? '']) {
    if (id !== '') result = result.replaceAll(id, '<session>')
  }
  return result
}

/** A text whose further lines cannot be taken for lines of the transcript. */
function indented(text: string): string {
  return text.replaceAll(/\r?\n(?=.)/g, '\n  ')
}
