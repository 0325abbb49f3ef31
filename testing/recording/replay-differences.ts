/**
 * Where a replayed turn differs from the recorded one, and how that is shown. `recording/recording.ts` runs the turn.
 */
import type { ExecuteResult, JsonValue, ReplyPart, SessionDocument, StoredMessage } from '../../src/index.js'
import { eventText } from '../conversation/turns/conversation-turn.js'
import { causesText } from '../expectations/author-frames.js'
import { list, show } from '../expectations/expectation-error.js'
import type { ModelProblems } from './recorded-model.js'
import {
  type RecordedToolCall,
  type RecordedTurn,
  type Recording,
  toolCallsOf,
  turnMessagesOf,
} from './recorded-turn.js'

/** Longer texts are cut. */
const mostShown = 2000

/** One difference. */
export interface Difference {
  /** `reply`, `step`, `state of AskName` and so on. */
  readonly what: string
  /** Absent if there was none. */
  readonly recorded?: string
  readonly replayed?: string
}

/** The result of a replayed turn. */
export interface ReplayedTurn {
  readonly result: ExecuteResult
  readonly document: SessionDocument | undefined
  readonly model: ModelProblems
}

/** The differences of a turn; steps and namespaces have their current names. */
export function differencesOf(
  recording: Recording,
  recorded: RecordedTurn,
  { result, document, model }: ReplayedTurn,
  currentName: (name: string) => string,
): Difference[] {
  const { response, error, encoding, parts } = result
  const { tooMany, unused } = model
  const unanswered = tooMany.map((problem) => ({ what: 'model calls', replayed: problem }))
  // If the model had no answer to give, the turn failed for that alone.
  if (unanswered.length > 0 && !response.success) return unanswered
  if (error !== undefined || document === undefined) {
    const text =
      error === undefined
        ? 'nothing is stored'
        : `failed with ${error.code}: ${response.message}${causesText(error, response.message)}`
    return [{ what: 'reply', recorded: recorded.reply, replayed: text }]
  }
  const isLast = recorded === recording.turns.at(-1)
  const groups = turnMessagesOf(document).filter(({ turn }) => turn === recorded.number)
  const after: MessagesByNamespace = new Map(groups.map(({ namespace, messages }) => [namespace, messages]))
  const calls = [...after].flatMap(([namespace, messages]) => toolCallsOf(namespace, messages))
  const found: Difference[] = [
    ...unused.map((answers) => ({ what: 'model calls', recorded: answers })),
    ...compare('reply', recorded.reply, response.message),
    ...compare('content type', recorded.contentType, response.contentType),
    ...compare('encoding', recorded.encoding, encoding),
    ...compare('parts', sortedJson(recorded.parts), sortedJson(parts)),
    ...compare('step', currentName(recorded.step), document.history.at(-1)?.step),
    ...compare('completed', String(isLast && recording.completed), String(response.completed)),
    ...compareCalls(recorded, calls, currentName),
  ]
  // A difference above shows in memory as well; it is reported once.
  if (found.length === 0) found.push(...compareMemory(recorded, after, currentName))
  if (isLast) found.push(...compareEnd(recording, document, currentName))
  // If the flow handles a model that fails, it may have done so when it was recorded: nothing is stored of such a call.
  return found.length > 0 && unanswered.length > 0 ? unanswered : found
}

function compare(what: string, before: string | undefined, after: string | undefined): Difference[] {
  if (before === after) return []
  const recorded = before === undefined ? {} : { recorded: before }
  return [{ what, ...recorded, ...(after === undefined ? {} : { replayed: after }) }]
}

function compareCalls(
  recorded: RecordedTurn,
  calls: readonly RecordedToolCall[],
  currentName: (name: string) => string,
): Difference[] {
  if (recorded.shortened === true) return []
  return compare('tool calls', callLines(recorded.toolCalls, currentName), callLines(calls, currentName))
}

type MessagesByNamespace = ReadonlyMap<string, readonly StoredMessage[]>

function compareMemory(
  { messages: recorded, shortened }: RecordedTurn,
  after: MessagesByNamespace,
  currentName: (name: string) => string,
): Difference[] {
  if (shortened === true) return []
  const before = new Map(Object.entries(recorded).map(([name, messages]) => [currentName(name), messages]))
  return [...new Set([...before.keys(), ...after.keys()])].flatMap((namespace) => {
    const [one, other] = firstDifferent(before.get(namespace) ?? [], after.get(namespace) ?? [])
    return compare(`memory '${namespace}'`, one, other)
  })
}

/** The states and the context, which are recorded only as they were at the end. */
function compareEnd(
  { states, context }: Recording,
  { flow }: SessionDocument,
  currentName: (name: string) => string,
): Difference[] {
  const before = new Map(Object.entries(states).map(([name, state]) => [currentName(name), state]))
  const steps = [...new Set([...before.keys(), ...Object.keys(flow.steps)])]
  return [
    ...steps.flatMap((step) =>
      compare(`state of ${step}`, sortedJson(before.get(step)), sortedJson(flow.steps[step]?.state)),
    ),
    ...compare('context', sortedJson(context), sortedJson(flow.context)),
  ]
}

function callLines(calls: readonly RecordedToolCall[], currentName: (name: string) => string): string | undefined {
  const lines = calls.map(({ namespace, name, input, output, isError }) => ({
    namespace: currentName(namespace),
    line: `${name} ${sortedJson(input)} ${isError ? 'failed:' : '='} ${sortedJson(output)}`,
  }))
  // The messages of two namespaces have no common order.
  lines.sort((one, other) => (one.namespace < other.namespace ? -1 : one.namespace > other.namespace ? 1 : 0))
  return lines.length === 0 ? undefined : lines.map(({ line }) => line).join('\n')
}

function firstDifferent(
  before: readonly StoredMessage[],
  after: readonly StoredMessage[],
): [string | undefined, string | undefined] {
  for (let index = 0; index < Math.max(before.length, after.length); index++) {
    const [one, other] = [lineOf(before[index]), lineOf(after[index])]
    if (one !== other) return [one, other]
  }
  return [undefined, undefined]
}

function lineOf(message: StoredMessage | undefined): string | undefined {
  if (message === undefined) return undefined
  const parts = message.parts.map((part) =>
    part.type === 'text' ? part.text : sortedJson(part as unknown as JsonValue),
  )
  return `${message.role}: ${parts.join(' + ')}`
}

/** JSON in which the order of keys does not count. */
function sortedJson(value: JsonValue | readonly ReplyPart[] | undefined): string | undefined {
  return JSON.stringify(value, (_key, part: unknown) =>
    typeof part === 'object' && part !== null && !Array.isArray(part)
      ? Object.fromEntries(Object.entries(part).sort(([one], [other]) => (one < other ? -1 : 1)))
      : part,
  )
}

/** The failure of a replay. */
export function replayFailure(
  recording: Recording,
  recorded: RecordedTurn,
  found: readonly Difference[],
  rewriting: readonly string[],
): string {
  const { sessionId, flow, turns } = recording
  const lines = [
    `Session '${sessionId}' of flow '${flow}', replayed, differs at turn ${recorded.number} of ${turns.length}.`,
    '',
    `  ${requestOf(recorded)}`,
    '',
    ...found.flatMap(({ what, recorded: before, replayed }) => [
      `  ${what}`,
      ...marked('-', before),
      ...marked('+', replayed),
    ]),
    '',
    '  - as recorded, + as replayed',
    '',
    ...shortenedNote(turns),
    ...notesOn(found, rewriting),
    ...payloadNote(recorded, found),
    'Correct the flow, or record the session again if the change is intended.',
  ]
  return lines.join('\n')
}

/** The reason to look for first, if the recording is not complete. */
function shortenedNote(turns: readonly RecordedTurn[]): string[] {
  const numbers = turns.filter(({ shortened }) => shortened === true).map(({ number }) => String(number))
  if (numbers.length === 0) return []
  return [
    `The memory was shortened before the session was recorded: of turn ${list(numbers)} only the message and the reply are left. If a model called tools there, record the session before its memory is shortened.`,
  ]
}

/** The failure of a replay with a hanging turn; `report` describes the hang. */
export function replayHang({ sessionId, flow, turns }: Recording, turn: RecordedTurn, report: string): string {
  return [
    `Session '${sessionId}' of flow '${flow}', replayed, hangs at turn ${turn.number} of ${turns.length}.`,
    '',
    `  ${requestOf(turn)}`,
    '',
    report,
  ].join('\n')
}

/** What the turn was sent. */
function requestOf({ said, event, choice }: RecordedTurn): string {
  if (event !== undefined) return `Event: ${eventText(event)}`
  return `User${choice === undefined ? '' : ' chooses'}: ${show(said)}`
}

/** The advice if the cause may be that the payload of an event is not in the history. */
function payloadNote({ number, event }: RecordedTurn, found: readonly Difference[]): string[] {
  if (event === undefined || event.payload !== undefined || !found.some(({ what }) => what === 'reply')) return []
  return [
    `The history has no payload of this event: it had none, or one above 1 KiB. If it had one, name it: recordingOf(document, { payloads: { ${number}: ... } }).`,
  ]
}

/** The advice if the cause may be that a step changes what its model says. */
function notesOn(found: readonly Difference[], rewriting: readonly string[]): string[] {
  if (!found.some(({ what }) => what === 'reply' || what === 'model calls')) return []
  return rewriting.map(
    (step) => `Step '${step}' has an onReply: the recording has what it sent, and not what the model said to it.`,
  )
}

function marked(sign: '-' | '+', text: string | undefined): string[] {
  if (text === undefined) return []
  const shown = text.length <= mostShown ? text : `${text.slice(0, mostShown)}… (${text.length} characters)`
  return shown.split('\n').map((line) => `    ${sign} ${line}`)
}
