/**
 * The state of a conversation: its turns, the running turn, and whether the last turn's failure must still be expected.
 * Failures include the transcript so far. The expectations are in `conversation/expect`.
 */
import type { SessionDocument } from '../../src/index.js'
import { type CallPlace, placeText } from '../expectations/call-place.js'
import { ExpectationError, list, show } from '../expectations/expectation-error.js'
import type { ToolDoubles } from '../tool-doubles/tool-doubles.js'
import { failureOf, type Problem } from './expect/problem.js'
import type { ConversationTurn, RunningTurn } from './turns/conversation-turn.js'
import { transcriptOf } from './turns/transcript.js'
import { whereText } from './turns/where-text.js'

/** The running turn, and how it was started. */
export interface Saying {
  readonly by: 'say' | 'stream' | 'atOnce' | 'sendEvent' | 'advance'
  /** The message, the name of the event, or the milliseconds. */
  readonly text: string
  /** The events so far of its messages without a reply. */
  underWay(): readonly RunningTurn[]
}

/** A question to the judge that has no answer yet. */
export interface Judging {
  readonly meaning: string
  /** The turn with the reply. */
  readonly turn: ConversationTurn
  /** The line of the test that asked it. */
  readonly place: CallPlace
}

/** The turns of one conversation. */
export class ConversationRecord {
  readonly turns: ConversationTurn[] = []
  /** The step at which a conversation begins in the middle, for the transcript. */
  beginsAt: string | undefined
  /** The session with which a conversation begins in the middle, or a fork. */
  start: SessionDocument | undefined
  /** The outcomes of the messages of the last `atOnce`, in their order; `undefined` after another message. */
  atOnce: readonly ConversationTurn[] | undefined
  /** The running turn, if there is one. */
  saying: Saying | undefined
  /** The running restart, if there is one. */
  restarting: Promise<void> | undefined
  /** The current question to the judge. */
  readonly judging: Set<Judging> = new Set()
  /** The line of the test that sent the last message. */
  place: CallPlace | undefined
  /** The last failure that no expectation has named yet; `undefined` if there is none. */
  unexpected: ConversationTurn | undefined
  closed = false
  /** Whether a failure was reported since the last message or restart; reports about leftovers would only hide it. */
  hasFailed = false
  readonly #flowName: string
  /** The errors thrown by {@link fail}, which already have their place. */
  readonly #failures = new WeakSet<ExpectationError>()

  constructor(flowName: string) {
    this.#flowName = flowName
  }

  transcript(running: readonly RunningTurn[] = this.#read): string {
    const { turns, start, beginsAt } = this
    return transcriptOf(this.#flowName, { turns, running, start }, beginsAt)
  }

  /** The running turn, if the test reads it event by event. Other turns have ended before a test can look at them. */
  get #read(): readonly RunningTurn[] {
    return this.saying?.by === 'stream' ? this.saying.underWay() : []
  }

  /** The last turn. */
  last(operation: string): ConversationTurn {
    this.requireIdle(operation)
    const turn = this.#last
    if (turn === undefined) this.fail({ text: `${operation} needs a turn: await conversation.say(...) first.` })
    return turn
  }

  get #last(): ConversationTurn | undefined {
    // Some messages of `atOnce` may not have become turns.
    return (
      this.turns.findLast((one) => this.atOnce?.includes(one) !== true || one.isNoTurn !== true) ?? this.turns.at(-1)
    )
  }

  /** Fails while a turn or a restart is under way. */
  requireIdle(operation: string): void {
    const { saying } = this
    if (saying !== undefined) this.failUnderWay(saying, { text: this.busyText(operation, saying) })
    if (this.restarting !== undefined) this.fail({ text: notAwaitedText(operation, 'restart()') }, { isAfter: true })
  }

  /** The call that a test did not await before `close`, besides a turn; `undefined` if there is none. */
  notAwaited(): Problem | undefined {
    if (this.restarting !== undefined) return { text: notAwaitedText('close', 'restart()') }
    const [judging] = this.judging
    if (judging === undefined) return undefined
    const { meaning, turn, place } = judging
    const text = notAwaitedText('close', `expectMeaning(${show(meaning, 60)})`)
    return { text: `${text}${placeText('expected', place)}`, turn }
  }

  /** Fails because of a turn that is under way. */
  failUnderWay(saying: Saying, problem: Problem): never {
    this.fail(problem, { running: saying.underWay() })
  }

  /** The message for calling `operation` while a turn is under way. */
  busyText(operation: string, { by, text }: Saying): string {
    const call = `${by}(${show(text, 60)})`
    if (by === 'stream') return underWayText(operation, call, 'read it to its end with reply(), or stop() it.')
    return `${notAwaitedText(operation, call)} For messages at the same time use conversation.atOnce([...]).`
  }

  /** Fails while a turn is under way, and after the end. */
  requireOpen(operation: string): void {
    this.requireIdle(operation)
    if (!this.closed) return
    const text = `${operation}() was called after close(): make a new Conversation, or fork() this one before.`
    this.fail({ text }, { isAfter: true })
  }

  /** Fails if the last turn failed and was not expected to. */
  requireExpected({ notOffered, offered }: ToolDoubles): void {
    const turn = this.unexpected
    if (turn === undefined) return
    this.unexpected = undefined
    const missing = `\n  doubles that no step offered so far: ${list(notOffered)} (offered: ${list(offered)})`
    const failure = failureOf(turn)
    const text = `${failure?.text}${placeText('said', this.place)}${notOffered.length === 0 ? '' : missing}`
    const code = turn.reply.error?.code
    const expectation =
      this.atOnce === undefined ? `expectError('${code}')` : `expectReplies([..., { code: '${code}' }])`
    this.fail({
      text: `${text}\nIf it should fail, say so after it: conversation.${expectation}.`,
      cause: failure?.cause,
      turn,
    })
  }

  /** Fails if anything went wrong outside of the engine's envelope. */
  requireNo(complaint: unknown): void {
    if (complaint === undefined) return
    this.unexpected = undefined
    const turn = this.turns.find(({ reply }) => reply.error?.cause === complaint)
    this.fail({ ...problemOf(complaint as Error), ...(turn === undefined ? {} : { turn }) })
  }

  /** Fails if there is a problem. */
  check(problem: Problem | undefined): void {
    if (problem !== undefined) this.fail(problem)
  }

  /** Fails if `act` fails, which checks the last turn. */
  checked(act: () => void): void {
    try {
      act()
    } catch (error) {
      this.fail(problemOf(error as Error))
    }
  }

  /** Fails if `act` fails, which checks for leftovers at the end. @param made - The line that made the conversation. */
  requireNothingLeft(act: () => void, made: string): void {
    try {
      act()
    } catch (error) {
      const problem = problemOf(error as Error)
      this.fail({ ...problem, text: `${problem.text}${made}` }, { isAfter: true })
    }
  }

  /**
   * Fails, with the place in the conversation and the transcript so far. If the last turn failed and this was not
   * reported yet, the message mentions it as the likely reason.
   *
   * @param options - `running`: the running turns. `isAfter`: whether the failure happened after the last turn.
   */
  fail(
    { text, expected, actual, cause, turn = this.#last }: Problem,
    {
      running = this.#read,
      isAfter = false,
    }: { readonly running?: readonly RunningTurn[]; readonly isAfter?: boolean } = {},
  ): never {
    this.hasFailed = true
    const failure = this.unexpected === undefined || cause !== undefined ? undefined : failureOf(this.unexpected)
    const whole = failure === undefined ? text : `${text}\n${failure.text}`
    const { turns, start } = this
    const where = whereText({ flowName: this.#flowName, turns, turn, running, start, isAfter })
    const placed = whole.includes(where) ? whole : `${whole}\nWhere: ${where}`
    const error = new ExpectationError(`${placed}\n\nThe conversation so far:\n\n${this.transcript(running)}`, {
      expected,
      actual,
      cause: cause ?? failure?.cause,
    })
    this.#failures.add(error)
    throw error
  }

  /** Throws an error of the running turn, or of the work after the last one. A failure without a place gets one. */
  rethrow(error: unknown): never {
    if (!ExpectationError.isInstance(error) || this.#failures.has(error)) throw error
    if (this.saying !== undefined) this.failUnderWay(this.saying, problemOf(error))
    this.fail(problemOf(error), { isAfter: true })
  }

  /** Settles like `promise`; its rejection goes through {@link rethrow}. */
  placed<T>(promise: Promise<T>): Promise<T> {
    return promise.catch((error: unknown) => this.rethrow(error))
  }
}

function notAwaitedText(operation: string, call: string): string {
  return underWayText(operation, call, 'await that first.')
}

function underWayText(operation: string, call: string, advice: string): string {
  return `${operation}() was called while ${call} is under way: ${advice}`
}

function problemOf(error: Error): Problem {
  const { message: text } = error
  if (!ExpectationError.isInstance(error)) return { text, cause: error }
  const { expected, actual, cause } = error
  return { text, expected, actual, cause }
}
