/**
 * A stored session as a test: what the user said and what models answered, taken from its document, and run again on
 * the current code. `recording/whole-session.ts` checks that a session is complete, `recording/replay-differences.ts`
 * shows what differs.
 */
import type {
  FlowConstructor,
  FlowEngineOptions,
  FlowRunInput,
  JsonObject,
  JsonValue,
  MessagePart,
  SendEventInput,
  SessionDocument,
} from '../../src/index.js'
import { checkNumber, checkOptionNames, type OptionNames } from '../../src/util/options.js'
import { checkFlow } from '../expectations/check-flow.js'
import { ExpectationError } from '../expectations/expectation-error.js'
import type { ScriptedAnswer } from '../scripted-model/scripted-model.js'
import { type ToolDouble, ToolDoubles } from '../tool-doubles/tool-doubles.js'
import { defaultHangAfterMs } from '../virtual-clock/hang-watch.js'
import { wholeDocument, wholeRecording } from './file-parts.js'
import { RecordedModel, StepNames } from './recorded-model.js'
import {
  answerOf,
  attachmentsOf,
  configOf,
  type RecordedTurn,
  type Recording,
  statesOf,
  toolCallsOf,
  turnMessagesOf,
} from './recorded-turn.js'
import { differencesOf, replayFailure } from './replay-differences.js'
import { ReplayEngine } from './replay-engine.js'
import { restoredMessages } from './shortened-memory.js'
import { ownTextsOf, requireWhole } from './whole-session.js'

/** The options of {@link recordingOf}. */
export interface RecordingOptions {
  /**
   * The turns whose last reply in memory the flow made itself, without a model, if the document does not show it; and
   * those that its `onMessage` answered, of which memory has nothing. Default: such a session is refused, and the turns
   * in question are named.
   */
  readonly ownReplies?: readonly number[]
  /**
   * How many attempts at model calls failed: the document counts them in its `usage.modelCalls`, without saying how
   * many. Default: as few as the document allows.
   */
  readonly failedAttempts?: number
  /**
   * The payloads of events, by the number of the turn: the history has none above 1 KiB, and masked ones. Default: those
   * of the history.
   */
  readonly payloads?: Readonly<Record<number, JsonValue>>
}

const recordingNames: OptionNames<RecordingOptions> = { ownReplies: true, failedAttempts: true, payloads: true }

export type { Recording }

/**
 * Makes a recording of a stored session, from any store.
 *
 * If a step's `onReply` changed a text, the text that was sent is recorded, because the model's own text is not stored.
 * Failed attempts are not stored either: a call that was tried again is recorded with its final answer. If compaction
 * has shortened a memory, the replies of the turns that are gone come from the history; their tool calls are not known.
 *
 * @throws `ExpectationError` if the session was aborted, its history or its messages are incomplete, or it is not clear
 * which replies came from a model. `InvalidInputError` for an unknown option.
 * @example
 * ```ts
 * const recording = recordingOf(await engine.getSession(sessionId))
 * await replay(Onboarding, recording)
 * ```
 */
export function recordingOf(document: SessionDocument | undefined, options: RecordingOptions = {}): Recording {
  if (document === undefined)
    throw new ExpectationError('There is no session to record: the store has none by that ID.')
  checkOptionNames('recordingOf', options, recordingNames)
  wholeDocument('recordingOf: the session document', document)
  const { groups, shortened, summaries } = restoredMessages(document, turnMessagesOf(document), options.ownReplies)
  requireWhole(document, groups, options.ownReplies)
  const payloads = payloadsFor(document, options.payloads)
  const own = ownTextsOf(document, groups, options.ownReplies, options.failedAttempts)
  const turns = document.history.map(({ turn, message, ...entry }): RecordedTurn => {
    const ofTurn = groups.filter((group) => group.turn === turn)
    const replies = ofTurn.map(({ namespace, messages }) => {
      const isOwn = own.some((text) => text.turn === turn && text.namespace === namespace)
      const spoken = (isOwn ? messages.slice(0, -1) : messages).filter(({ role }) => role === 'assistant')
      return [namespace, spoken.map(({ parts }) => parts as readonly MessagePart[])] as const
    })
    const { attachments, event, ...rest } = entry
    const payload = payloads.get(turn)
    return {
      number: turn,
      said: message,
      ...(event === undefined ? {} : { event: { ...event, ...(payload === undefined ? {} : { payload }) } }),
      ...(attachments === undefined ? {} : { attachments: attachmentsOf(document, attachments) }),
      ...rest,
      replies: Object.fromEntries(replies.filter(([, parts]) => parts.length > 0)),
      toolCalls: ofTurn.flatMap(({ namespace, messages }) => toolCallsOf(namespace, messages)),
      messages: Object.fromEntries(
        shortened.has(turn) ? [] : ofTurn.map(({ namespace, messages }) => [namespace, messages]),
      ),
      ...(shortened.has(turn) ? { shortened: true as const } : {}),
    }
  })
  const config = configOf(document)
  const { flow, owner } = document
  const script: Record<string, ScriptedAnswer[]> = {}
  for (const [namespace, replies] of turns.flatMap(({ replies }) => Object.entries(replies))) {
    script[namespace] = [...(script[namespace] ?? []), ...replies.map(answerOf)]
  }
  return {
    flow: flow.name,
    sessionId: document.id,
    startedAt: document.createdAt,
    ...(owner === undefined ? {} : { owner }),
    ...(config === undefined ? {} : { config }),
    turns,
    completed: document.runStatus === 'completed',
    states: statesOf(flow.steps),
    context: flow.context,
    script,
    ...(Object.keys(summaries).length === 0 ? {} : { summaries }),
  }
}

/** The payloads that are given, by turn. @throws `ExpectationError` for a turn that took no event. */
function payloadsFor(
  { id, history }: SessionDocument,
  given: RecordingOptions['payloads'] = {},
): Map<number, JsonValue> {
  const payloads = new Map(Object.entries(given).map(([turn, payload]) => [Number(turn), payload]))
  const wrong = [...payloads.keys()].find((turn) => history.find((one) => one.turn === turn)?.event === undefined)
  if (wrong === undefined) return payloads
  throw new ExpectationError(`Session '${id}' cannot be recorded: payloads names turn ${wrong}, which took no event.`)
}

/** The options of {@link replay}: options of the engine, and what was never stored. */
export interface ReplayOptions extends Pick<FlowEngineOptions, 'services' | 'limits' | 'logger' | 'models'> {
  /** The `serverContext` of each turn; it is not stored. Default: none. */
  readonly serverContext?: JsonObject
  /** The `config` of the first turn. Default: the recorded one. */
  readonly config?: JsonObject
  /** Doubles for tools that must not run, by name: results in order, or one for every call. Default: all tools run. */
  readonly tools?: Readonly<Record<string, ToolDouble>>
  /**
   * Milliseconds of real time in which nothing happens, after which a turn hangs: that fails. `Infinity`: never.
   * Default 2 000.
   */
  readonly hangAfterMs?: number
}

/**
 * Runs a recording on the current code: the user sends the same messages, models give the same answers, at the first
 * attempt, and tools run again with the given `services`. Each turn runs at its recorded time. Events are sent again
 * by the application, also the events of the clock and of the user.
 *
 * @returns The session as it is stored at the end.
 * @throws `ExpectationError` (rejects) at the first turn whose reply, parts, content type, step, tool calls, model calls or
 * memory differ, and at the end if state or context differ; if a turn hangs, with what it waits for; and if the
 * recording is incomplete. `InvalidInputError` (rejects) if `flow` is not a flow, or the engine refuses an option.
 */
export async function replay(
  flow: FlowConstructor,
  recording: Recording,
  options: ReplayOptions = {},
): Promise<SessionDocument> {
  checkFlow('replay', flow)
  wholeRecording('replay: the recording', recording)
  if (recording.flow !== flow.id && !flow.aliases.includes(recording.flow)) {
    throw new ExpectationError(
      `The recording is of flow '${recording.flow}', and not of '${flow.id}' or a former name of it.`,
    )
  }
  const {
    serverContext,
    config = recording.config,
    tools = {},
    hangAfterMs = defaultHangAfterMs,
    ...engineOptions
  } = options
  checkNumber('replay', 'hangAfterMs', hangAfterMs)
  const names = new StepNames(flow)
  const model = new RecordedModel(recording, names)
  const doubles = new ToolDoubles(tools)
  const engine = new ReplayEngine(flow, { recording, model, doubles, options: engineOptions, hangAfterMs })
  try {
    for (const turn of recording.turns) {
      const result = await engine.run(turn, inputOf(flow, recording, turn, { serverContext, config }))
      const replayed = { result, document: await engine.document(), model: model.problemsOf(turn) }
      const found = differencesOf(recording, turn, replayed, (name) => names.current(name))
      if (found.length > 0) {
        const failure = replayFailure(recording, turn, found, model.rewritten)
        throw new ExpectationError(failure, { cause: result.error?.cause })
      }
      // A summary that the turn left behind is stored before the next turn.
      await engine.settled()
    }
    return (await engine.document()) as SessionDocument
  } finally {
    await engine.close()
  }
}

/** What a turn is run with; `given` is what the document does not show. */
function inputOf(
  flow: FlowConstructor,
  recording: Recording,
  { number, said, event, choice, attachments }: RecordedTurn,
  given: { readonly serverContext: JsonObject | undefined; readonly config: JsonObject | undefined },
): FlowRunInput | SendEventInput {
  const { owner, sessionId } = recording
  if (event !== undefined) {
    const { name, ...more } = event
    return { sessionId, event: name, ...more }
  }
  const { serverContext, config } = given
  return {
    flowName: flow.id,
    userMessage: said,
    ...(choice === undefined ? {} : { choice }),
    ...(attachments === undefined ? {} : { attachments }),
    ...(number === 1 ? {} : { sessionId }),
    ...(number > 1 || config === undefined ? {} : { config }),
    ...(owner === undefined ? {} : { owner }),
    ...(serverContext === undefined ? {} : { serverContext }),
  }
}
