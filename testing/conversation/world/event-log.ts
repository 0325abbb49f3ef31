/** Records the events of a conversation's turns, in order: entered steps, model calls, tool calls. */
import type { FlowEngine, ModelProviderAdapter, ToolCallPart } from '../../../src/index.js'
import type { LoggedCall, TurnEvent } from '../turns/conversation-turn.js'
import { watchProvider } from './model-log.js'
import type { ReadingGate } from './reading-gate.js'

/** The events of one conversation. */
export class EventLog {
  /** Emptied at the beginning of each turn. */
  events: TurnEvent[] = []
  readonly #gate: ReadingGate
  /** The turns that asked a model last, by session. */
  readonly #asking = new Map<string, string>()

  /** @param gate - Models wait for it before they answer. */
  constructor(gate: ReadingGate) {
    this.#gate = gate
  }

  /** Logs the events of an engine. */
  watchEngine(engine: FlowEngine): void {
    // By turn: that a step was left.
    const left = new Set<string>()
    engine.on('step:exit', ({ turnId }) => left.add(turnId))
    engine.on('step:enter', ({ sessionId, turnId, step }) => {
      left.delete(turnId)
      this.events.push({ kind: 'enter', sessionId, turnId, step })
    })
    // Every turn resumes a step. After another one was left, it is the step that has called it.
    engine.on('step:resume', ({ sessionId, turnId, step }) => {
      if (left.delete(turnId)) this.events.push({ kind: 'return', sessionId, turnId, step })
    })
    engine.on('turn:end', ({ sessionId, turnId, success }) => {
      left.delete(turnId)
      this.events.push({ kind: 'end', sessionId, turnId, success })
    })
    engine.on('model:start', ({ sessionId, turnId }) => this.#asking.set(sessionId, turnId))
  }

  /** The same provider; its calls are logged. */
  watchProvider(provider: ModelProviderAdapter): ModelProviderAdapter {
    const turns = new WeakMap<LoggedCall, string>()
    return watchProvider(provider, this.#gate, (call, event) => {
      const { sessionId } = call.request.origin
      const turnId = turns.get(call) ?? this.#asking.get(sessionId) ?? ''
      turns.set(call, turnId)
      if (event === 'asked') this.events.push({ kind: 'asked', sessionId, turnId, call })
      else {
        // The answer may be anything: the engine has not checked it yet.
        const parts: unknown = call.response?.parts
        const calls = (Array.isArray(parts) ? parts : []).filter(
          (part): part is ToolCallPart => part?.type === 'tool-call',
        )
        for (const part of calls) this.events.push({ kind: 'tool-call', sessionId, turnId, part })
      }
    })
  }
}
