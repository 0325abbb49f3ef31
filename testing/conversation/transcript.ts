/**
 * A conversation as Markdown, for snapshots and for failures: the same text for the same conversation, with any IDs and
 * times. What belongs to a turn is in `conversation/conversation-turn.ts`.
 */
import { HttpContentType } from '../../src/index.js'
import { show } from '../expectations/expectation-error.js'
import { type ConversationReply, type ConversationTurn, type RunningTurn, toolCallsOf } from './conversation-turn.js'

const isoTime = /\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)/g

/** The transcript of a flow's turns, and of the one under way. */
export function transcriptOf(
  flowName: string,
  turns: readonly ConversationTurn[],
  running: RunningTurn | undefined,
): string {
  const names = namesOf(turns)
  const sections = turns.map((turn, index) => sectionOf(turn, names[index] as string, turns[index - 1]))
  if (running !== undefined) {
    const next = turns.filter(isNumbered).length + 1
    const lines = [headingOf(`Turn ${next}`, notesOf(running)), ...beginningOf({ ...running, results: [] })]
    const end = running.text === '' ? 'Nothing was streamed so far.' : `Streamed so far: ${indented(running.text)}`
    sections.push([...lines, end].map((line) => stable(line, [])).join('\n\n'))
  }
  return [`# ${flowName}`, ...sections].join('\n\n').concat('\n')
}

function isNumbered({ reply, isNoTurn }: ConversationTurn): boolean {
  return isNoTurn !== true && reply.replayed !== true
}

/** `Turn 2`; `Turn 2 again` for a repeat of its message that got the recorded reply; `No turn` for a message that became none. */
function namesOf(turns: readonly ConversationTurn[]): string[] {
  const byKey = new Map<string, string>()
  let number = 0
  return turns.map((turn) => {
    const { key = '', isNoTurn, reply } = turn
    if (isNoTurn === true) return 'No turn'
    if (reply.replayed === true) return `${byKey.get(key) ?? 'A turn'} again`
    const name = `Turn ${++number}`
    byKey.set(key, name)
    return name
  })
}

function sectionOf(turn: ConversationTurn, name: string, before: ConversationTurn | undefined): string {
  const { reply } = turn
  const isNew = before !== undefined && before.reply.session !== reply.session && before.reply.session !== ''
  const heading = headingOf(name, [...notesOf(turn), ...(isNew ? ['in a new session'] : [])])
  const ids = [reply.session, before?.reply.session ?? '']
  return [heading, ...[...beginningOf(turn), endOf(turn)].map((line) => stable(line, ids))].join('\n\n')
}

function headingOf(name: string, notes: readonly string[]): string {
  return `## ${name}${notes.length === 0 ? '' : ` (${notes.join(', ')})`}`
}

function notesOf({ afterRestart, note }: Pick<ConversationTurn, 'afterRestart' | 'note'>): string[] {
  return [...(afterRestart ? ['after a restart'] : []), ...(note === undefined ? [] : [note])]
}

/** The message, and what happened. */
function beginningOf(turn: Pick<ConversationTurn, 'said' | 'events' | 'results'>): string[] {
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
  return [`User: ${indented(turn.said)}`, ...(lines.length === 0 ? [] : [lines.join('\n')])]
}

function endOf({ reply, document, stoppedAfter, diedAfter }: ConversationTurn): string {
  if (diedAfter !== undefined) return `The process died after ${diedAfter}: there was no reply.`
  if (stoppedAfter === '') return 'Stopped before any text.'
  if (stoppedAfter !== undefined) return `Stopped after: ${indented(stoppedAfter)}`
  if (!reply.success) return `Failed with ${reply.error?.code ?? 'no code'}: ${indented(reply.message)}`
  const at = document?.flow.currentStep
  const end = reply.completed ? `Completed at ${at}.` : `Now at ${at}.`
  return at === undefined || at === null ? textOf(reply) : `${textOf(reply)}\n\n${end}`
}

/** What the user sees. */
function textOf({ message, contentType, encoding }: ConversationReply): string {
  if (encoding !== undefined) return `Reply: ${contentType}, ${message.length} characters of ${encoding}`
  return contentType === HttpContentType.Plain
    ? `Reply: ${indented(message)}`
    : `Reply (${contentType}): ${indented(message)}`
}

function stable(text: string, ids: readonly string[]): string {
  let result = text.replace(isoTime, '<time>')
  for (const id of ids) {
    if (id !== '') result = result.replaceAll(id, '<session>')
  }
  return result
}

/** A text whose further lines cannot be mistaken for lines of the transcript. */
function indented(text: string): string {
  return text.replaceAll(/\r?\n(?=.)/g, '\n  ')
}
