/**
 * Writes a conversation as Markdown, for snapshots and failures. The text does not depend on IDs and times.
 * `conversation/turns/conversation-turn.ts` has the record of a turn.
 */
import { HttpContentType } from '../../../src/index.js'
import { show } from '../../expectations/expectation-error.js'
import {
  type ConversationReply,
  type ConversationToolCall,
  type ConversationTurn,
  eventText,
  type LoggedCall,
  type RunningTurn,
  toolCallsOf,
} from './conversation-turn.js'
import { partLines } from './part-lines.js'
import { namesOf, type TurnName, type TurnsSoFar } from './turn-names.js'

const isoTime = /\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)/g

/**
 * The transcript of a flow's turns, running ones included.
 *
 * @param beginsAt - The step at which the conversation begins in the middle, if it does.
 */
export function transcriptOf(flowName: string, soFar: TurnsSoFar, beginsAt?: string): string {
  const { turns, running } = soFar
  const names = namesOf(soFar)
  const sections = turns.map((turn, index) => sectionOf(turn, names[index] as TurnName, turns[index - 1]))
  const underWay = running.map((one, index) => sectionUnderWay(one, names[turns.length + index] as TurnName))
  const beginning = beginsAt === undefined ? [] : [`Begins at ${beginsAt}.`]
  return [`# ${flowName}`, ...beginning, ...sections, ...underWay].join('\n\n').concat('\n')
}

function sectionUnderWay(running: RunningTurn, name: TurnName): string {
  const lines = [headingOf(name, running), ...beginningOf({ ...running, results: [] }), endSoFar(running)]
  return lines.map((line) => stable(line, [])).join('\n\n')
}

function endSoFar({ text }: RunningTurn): string {
  if (text === undefined) return 'No reply so far.'
  return text === '' ? 'Nothing was streamed so far.' : `Streamed so far: ${indented(text)}`
}

function sectionOf(turn: ConversationTurn, name: TurnName, before: ConversationTurn | undefined): string {
  const ids = [turn.reply.session, before?.reply.session ?? '']
  return [headingOf(name, turn), ...[...beginningOf(turn), endOf(turn)].map((line) => stable(line, ids))].join('\n\n')
}

function headingOf(
  { name, note: session }: TurnName,
  { afterRestart, note }: Pick<ConversationTurn, 'afterRestart' | 'note'>,
): string {
  const notes = [afterRestart ? 'after a restart' : undefined, note, session].filter((text) => text !== undefined)
  return `## ${name}${notes.length === 0 ? '' : ` (${notes.join(', ')})`}`
}

/** The message and the events. */
function beginningOf(turn: Pick<ConversationTurn, 'said' | 'event' | 'choice' | 'events' | 'results'>): string[] {
  const calls = toolCallsOf(turn)
  let made = 0
  const lines: string[] = []
  for (const event of turn.events) {
    if (event.kind === 'enter') lines.push(`- enters ${event.step}`)
    if (event.kind === 'return') lines.push(`- returns to ${event.step}`)
    if (event.kind === 'asked') lines.push(...attemptOf(event.call))
    if (event.kind !== 'tool-call') continue
    lines.push(callText(calls[made++] ?? { name: event.part.toolName, input: event.part.input }))
  }
  return [requestOf(turn), ...(lines.length === 0 ? [] : [entersJoined(lines).join('\n')])]
}

/** What the turn was sent. */
function requestOf({ said, event, choice }: Pick<ConversationTurn, 'said' | 'event' | 'choice'>): string {
  if (event !== undefined) return `Event: ${eventText(event)}`
  return `User${choice === undefined ? '' : ' chooses'}: ${indented(said)}`
}

function callText({ name, input, output, isError }: ConversationToolCall): string {
  const result = output === undefined ? '' : `${isError === true ? ' fails' : ''}: ${show(output)}`
  return `- calls ${name} ${show(input)}${result}`
}

/** An attempt that the engine aborted: its reply is not in the conversation. */
function attemptOf({ request, exceeded }: LoggedCall): string[] {
  return exceeded === undefined
    ? []
    : [`- attempt ${request.origin.attempt} of the model: no answer within ${exceeded}`]
}

/** A step may move to itself again and again: that is one line. */
function entersJoined(lines: readonly string[]): string[] {
  const firsts = lines.flatMap((line, index) =>
    line.startsWith('- enters ') && line === lines[index - 1] ? [] : [index],
  )
  return firsts.map((first, index) => {
    const times = (firsts[index + 1] ?? lines.length) - first
    return times === 1 ? (lines[first] as string) : `${lines[first]}, ${times} times`
  })
}

function endOf({ reply, document, unread, stoppedAfter, diedAfter }: ConversationTurn): string {
  if (diedAfter !== undefined) return `The process died after ${diedAfter}: there was no reply.`
  if (stoppedAfter === '') return 'Stopped before any text.'
  if (stoppedAfter !== undefined) return `Stopped after: ${indented(stoppedAfter)}`
  if (!reply.success) return `Failed with ${reply.error?.code ?? 'no code'}: ${indented(reply.message)}`
  const said = [textOf(reply), ...(reply.parts === undefined ? [] : [partLines(reply.parts).join('\n')])].join('\n\n')
  if (unread !== undefined) return `${said}\n\nThe session could not be read after it.`
  const at = document?.flow.currentStep
  const end = reply.completed ? `Completed at ${at}.` : `Now at ${at}.`
  return at === undefined || at === null ? said : `${said}\n\n${end}`
}

/** The part that the user sees. */
function textOf({ message, contentType, encoding }: ConversationReply): string {
  if (encoding !== undefined) return `Reply: ${contentType}, ${message.length} characters of ${encoding}`
  if (message === '') return 'No reply.'
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
