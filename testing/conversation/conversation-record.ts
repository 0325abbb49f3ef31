/**
 * What a conversation keeps in memory: its turns, the turn under way, and whether the last turn's failure must still be
 * expected. Its failures carry the transcript so far. The expectations are in `conversation/expectations.ts`.
 */
import { ExpectationError, list, show } from '../expectations/expectation-error.js'
import type { ToolDoubles } from '../tool-doubles/tool-doubles.js'
import type { ConversationTurn, RunningTurn } from './conversation-turn.js'
import { failureOf, type Problem } from './expectations.js'
import { transcriptOf } from './transcript.js'

/** The turn under way, and how it was started. */
export interface Saying {
  readonly by: 'say' | 'stream' | 'atOnce'
  readonly text: string
  /** What happened so far, if the turn is read event by event. */
  readonly soFar?: () => RunningTurn
}

/** The turns of one conversation. */
export class ConversationRecord {
  readonly turns: ConversationTurn[] = []
  /** What the messages of the last `atOnce` became, in their order; `undefined` after another message. */
  atOnce: readonly ConversationTurn[] | undefined
  /** The turn under way, if there is one. */
  saying: Saying | undefined
  /** The last failure that no expectation has named yet; `undefined` if there is none. */
  unexpected: ConversationTurn | undefined
  closed = false
  /** Whether a failure was reported already: a second one would only hide it. */
  told = false
  readonly #flowName: string

  constructor(flowName: string) {
    this.#flowName = flowName
  }

  transcript(): string {
    return transcriptOf(this.#flowName, this.turns, this.saying?.soFar?.())
  }

  /** The last turn. */
  last(operation: string): ConversationTurn {
    this.requireIdle(operation)
    // Of messages that were sent at once, some did not become a turn.
    const turn =
      this.turns.findLast((one) => this.atOnce?.includes(one) !== true || one.isNoTurn !== true) ?? this.turns.at(-1)
    if (turn === undefined) throw new ExpectationError(`${operation} needs a turn: await conversation.say(...) first.`)
    return turn
  }

  /** Fails while a turn is under way. */
  requireIdle(operation: string): void {
    if (this.saying !== undefined) this.fail({ text: this.busyText(operation, this.saying) })
  }

  /** The message for calling `operation` while a turn is under way. */
  busyText(operation: string, { by, text }: Saying): string {
    const advice =
      by !== 'stream'
        ? 'await that first. For messages at the same time use conversation.atOnce([...]).'
        : 'read it to its end with reply(), or stop() it.'
    return `${operation}() was called while ${by}(${show(text, 60)}) is under way: ${advice}`
  }

  /** Fails while a turn is under way, and after the end. */
  requireOpen(operation: string): void {
    this.requireIdle(operation)
    if (this.closed)
      throw new ExpectationError(
        `${operation}() was called after close(): make a new Conversation, or fork() this one before.`,
      )
  }

  /** Fails if the last turn failed and was not expected to. */
  requireExpected({ notOffered, offered }: ToolDoubles): void {
    const turn = this.unexpected
    if (turn === undefined) return
    this.unexpected = undefined
    const missing = `\n  doubles that no step offered so far: ${list(notOffered)} (offered: ${list(offered)})`
    const text = `${failureOf(turn)?.text}${notOffered.length === 0 ? '' : missing}`
    const code = turn.reply.error?.code
    const expectation =
      this.atOnce === undefined ? `expectError('${code}')` : `expectReplies([..., { code: '${code}' }])`
    this.fail({ text: `${text}\nIf it should fail, say so after it: conversation.${expectation}.` })
  }

  /** Fails with what went wrong outside of the engine's envelope, if anything did. */
  requireNo(complaint: unknown): void {
    if (complaint === undefined) return
    this.unexpected = undefined
    if (ExpectationError.isInstance(complaint)) this.fail({ text: complaint.message })
    // What a test's own function threw is thrown unchanged, for the test runner to show.
    this.told = true
    throw complaint
  }

  /** Fails if there is a problem. */
  check(problem: Problem | undefined): void {
    if (problem !== undefined) this.fail(problem)
  }

  /** Fails if `act` fails. */
  checked(act: () => void): void {
    try {
      act()
    } catch (error) {
      this.fail({ text: (error as Error).message })
    }
  }

  /** Fails, with the transcript so far. */
  fail({ text, expected, actual }: Problem): never {
    this.told = true
    throw new ExpectationError(`${text}\n\nThe conversation so far:\n\n${this.transcript()}`, { expected, actual })
  }
}
