/** What a test may set about the surroundings of a conversation. */
import type { FlowEngine, FlowEngineOptions, SessionStore } from '../../../src/index.js'
import type { FlowCoverage } from '../../flow-coverage/flow-coverage.js'
import type { ModelScript } from '../../scripted-model/scripted-model.js'
import type { ToolDouble } from '../../tool-doubles/tool-doubles.js'
import type { VirtualClock } from '../../virtual-clock/virtual-clock.js'

/** The options of a conversation's surroundings: the engine's options, and more. */
export interface ConversationWorldOptions extends Omit<FlowEngineOptions, 'flows' | 'sessionStore' | 'clock'> {
  /**
   * The replies of the models, for each provider that the flow names, unless `providers` has it. Default: none, so that
   * a model call fails.
   */
  readonly script?: ModelScript
  /** Doubles for tools, by name. Default: the tools run themselves. */
  readonly tools?: Readonly<Record<string, ToolDouble>>
  /**
   * Makes a store over the data of this test. It is called for each engine: at the beginning, at each `restart` and for
   * each `fork`. Default: a memory store over data that the conversation shares with its forks, and that counts as
   * durable, because the data outlive every engine.
   */
  readonly createStore?: () => SessionStore | Promise<SessionStore>
  /** The clock of everything. Default: a new one. */
  readonly clock?: VirtualClock
  /**
   * Milliseconds of real time in which nothing happens, after which a turn under way counts as hanging: it fails with
   * who waits for what. `Infinity`: never. Default 2 000.
   */
  readonly hangAfterMs?: number
  /** Called with each engine when it is made, for example to listen to its events. */
  readonly onEngine?: (engine: FlowEngine) => void
  /**
   * Counts what the conversation reaches: make it with `coverageOf`, one for all conversations of a suite. Default:
   * none.
   */
  readonly coverage?: FlowCoverage
}

/** What of them an engine takes. */
export function engineOptionsOf({
  script: _script,
  tools: _tools,
  createStore: _createStore,
  clock: _clock,
  hangAfterMs: _hangAfterMs,
  onEngine: _onEngine,
  coverage: _coverage,
  ...options
}: ConversationWorldOptions): Omit<FlowEngineOptions, 'flows' | 'sessionStore' | 'clock'> {
  return options
}
