/**
 * The flow that storms talk to, and an engine for it. Each turn changes everything that a turn can change: the state
 * counts the turns, a model's messages fill the memory, and the reply contains the count; so half a turn would be
 * noticed. The state also knows each sender's last message, so a turn that came twice is noticed when
 * the history has lost it.
 */
import {
  Flow,
  FlowEngine,
  type FlowEngineOptions,
  finish,
  type ModelProviderAdapter,
  type ModelSelection,
  type SessionStore,
  Step,
  type StepConstructor,
  type Transition,
} from '../../../src/index.js'
import { kindOf, replyTo, senderOf } from './turn-record.js'

/** The limits of the engines in a storm: short times, so that much happens in little of it. */
const stormLimits = {
  storeTimeoutMs: 2_000,
  turnTimeoutMs: 10_000,
}

/** The limits of sessions whose lists are cut again and again. */
const smallLimits = {
  ...stormLimits,
  maxHistoryTurns: 24,
  maxMemoryBytes: 3_000,
}

/** So many turns are in the history of every session that had as many: three quarters of the small limit. */
export const leastHistory = 18
/** The default of `attachmentTurns`. */
export const attachmentTurns = 2

/**
 * Milliseconds within which every turn is answered: its wait for the session, its work, its commit (three times the
 * store's timeout), and if that failed, the save that marks the session as aborted.
 */
export const longestTurnMs: number = 2 * stormLimits.turnTimeoutMs + 2 * 3 * stormLimits.storeTimeoutMs

/** A model that repeats the text of the user's message. */
const echo: ModelProviderAdapter = {
  provider: 'echo',
  resolve: ({ provider, name }) => ({
    provider,
    name,
    generate: async ({ messages }) => ({
      parts: (messages.at(-1)?.parts ?? []).filter((part) => part.type === 'text'),
    }),
  }),
}

/** What the step counts: it stays even if the turns themselves are cut. */
export interface Counts {
  turns: number
  /** By sender: the number of the last message, of the senders that were received last. */
  senders: Record<string, number>
  /** Messages that came a second time, or behind a later one of the same sender. */
  repeated: string[]
}

/** More senders than talk at the same time. */
const mostSenders = 64

/** The one step. */
export class Listen extends Step<Counts> {
  static override readonly id: string = 'Listen'
  override initialState(): Counts {
    return { turns: 0, senders: {}, repeated: [] }
  }
  override onReply(text: string): string | Transition {
    this.#count(text)
    if (this.fails(text)) throw new Error('It fails on purpose.')
    const answer = replyTo(text, this.state.turns)
    return kindOf(text) === 'last' ? finish(answer) : answer
  }

  protected fails(text: string): boolean {
    return kindOf(text) === 'failing'
  }

  #count(text: string): void {
    const { state } = this
    const { sender, count } = senderOf(text)
    state.turns++
    if (count <= (state.senders[sender] ?? 0)) state.repeated.push(text)
    const { [sender]: _, ...others } = state.senders
    state.senders = Object.fromEntries([...Object.entries(others).slice(1 - mostSenders), [sender, count]])
  }
}

/** The one step's ID, and the namespace of its messages. */
export const stepId: string = Listen.id

/** The flow. */
export class Talk extends Flow {
  static override readonly id: string = 'Talk'
  override model(): ModelSelection {
    return { provider: 'echo', name: 'echo' }
  }
  override steps(): readonly StepConstructor[] {
    return [Listen]
  }
}

/** An engine for {@link Talk}. @param isSmall - Whether its sessions have small limits. */
export function talkEngine(sessionStore: SessionStore, isSmall: boolean, options: FlowEngineOptions = {}): FlowEngine {
  const limits = isSmall ? smallLimits : stormLimits
  return new FlowEngine({ flows: [Talk], providers: [echo], sessionStore, limits, ...options })
}
