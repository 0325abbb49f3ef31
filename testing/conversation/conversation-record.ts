/**
 * What a conversation remembers: its turns, the one under way, and whether a failure is still to be expected. And how it
 * fails: with the transcript so far. What is expected of a turn is decided elsewhere.
 */
import { ExpectationError, list, show } from '../expectations/expectation-error.js'
import type { ToolDoubles } from '../tool-doubles/tool-doubles.js'
import type { ConversationTurn, RunningTurn } from './conversation-turn.js'
import { failureOf, type Problem } from './expectations.js'
import { transcriptOf } from './transcript.js'

/** What is being said, and how. */
export interface Saying {
  readonly by: 'say' | 'stream'
  readonly text: string
  /** What happened so far, where it is read piece by piece. */
  readonly soFar?: () => RunningTurn
}

/** The memory of one conversation. */
export class ConversationRecord {
  readonly turns: ConversationTurn[] = []
  /** What is being said, while it is. */
  saying: Saying | undefined
  /** Whether the last turn's failure is still to be expected. */
  unexpected = false
  closed = false
  /** Whether a failure was told already; the rest would only hide it. */
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
    const turn = this.turns.at(-1)
    if (turn === undefined) throw new ExpectationError(`${operation} needs a turn: await conversation.say(...) first.`)
    return turn
  }

  /** Fails while something is being said. */
  requireIdle(operation: string): void {
    if (this.saying !== undefined) this.fail({ text: this.busyText(operation, this.saying) })
  }

  /** What is told of `operation` while something is being said. */
  busyText(operation: string, { by, text }: Saying): string {
    const advice =
      by === 'say'
        ? 'await that first. For turns at the same time use conversation.engine.'
        : 'read it to its end with reply(), or stop() it.'
    return `${operation}() was called while ${by}(${show(text, 60)}) is under way: ${advice}`
  }

  /** Fails while something is being said, and after the end. */
  requireOpen(operation: string): void {
    this.requireIdle(operation)
    if (this.closed)
      throw new ExpectationError(
        `${operation}() was called after close(): make a new Conversation, or fork() this one before.`,
      )
  }

  /** Fails where the last turn failed and nobody expected it. */
  requireExpected({ notOffered, offered }: ToolDoubles): void {
    if (!this.unexpected) return
    this.unexpected = false
    const turn = this.turns.at(-1) as ConversationTurn
    const missing = `\n  doubles that no step offered so far: ${list(notOffered)} (offered: ${list(offered)})`
    const text = `${failureOf(turn)?.text}${notOffered.length === 0 ? '' : missing}`
    this.fail({
      text: `${text}\nIf it should fail, say so after it: conversation.expectError('${turn.reply.error?.code}').`,
    })
  }

  /** Fails with what went wrong outside of the engine's envelope, if anything did. */
  requireNo(complaint: unknown): void {
    if (complaint === undefined) return
    this.unexpected = false
    if (ExpectationError.isInstance(complaint)) this.fail({ text: complaint.message })
    // What a test's own function threw is its runner's to show.
    this.told = true
    throw complaint
  }

  /** Fails where there is a problem. */
  check(problem: Problem | undefined): void {
    if (problem !== undefined) this.fail(problem)
  }

  /** Fails where `act` does. */
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
