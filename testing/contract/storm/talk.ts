/**
 * The flow that storms talk to, and an engine for it. Each turn changes everything that a turn can change: the state
 * counts the turns, a model's messages fill the memory, and the reply contains the count; so half a turn would be noticed.
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
import { kindOf, replyTo } from './turn-record.js'

/** The limits of the engines in a storm: short ones, so that much happens in little time. */
const stormLimits = {
  storeTimeoutMs: 2_000,
  turnTimeoutMs: 10_000,
  maxSessionBytes: 64 * 1024 * 1024,
}

/**
 * Milliseconds within which every turn is answered: its wait for the session, its work, its commit (three times the
 * store's timeout), and where that failed the save that marks the session as aborted.
 */
export const longestTurnMs: number = 2 * stormLimits.turnTimeoutMs + 2 * 3 * stormLimits.storeTimeoutMs

/** A model that repeats the user's message. */
const echo: ModelProviderAdapter = {
  provider: 'echo',
  resolve: ({ provider, name }) => ({
    provider,
    name,
    generate: async ({ messages }) => ({ parts: messages.at(-1)?.parts ?? [] }),
  }),
}

class Listen extends Step<{ turns: number }> {
  static override readonly id: string = 'Listen'
  override initialState(): { turns: number } {
    return { turns: 0 }
  }
  override onReply(text: string): string | Transition {
    this.state.turns++
    if (kindOf(text) === 'failing') throw new Error('It fails on purpose.')
    const answer = replyTo(text, this.state.turns)
    return kindOf(text) === 'last' ? finish(answer) : answer
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

/** An engine for {@link Talk}. */
export function talkEngine(sessionStore: SessionStore, options: FlowEngineOptions = {}): FlowEngine {
  return new FlowEngine({ flows: [Talk], providers: [echo], sessionStore, limits: stormLimits, ...options })
}
