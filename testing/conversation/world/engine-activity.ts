/** Tracks the current activity of an engine, for the report of a hanging turn. */
import type { FlowEngine } from '../../../src/index.js'
import { locateTurns } from '../../lock-probe/locate-turns.js'
import { LockRequests } from '../../lock-probe/lock-requests.js'
import type { VirtualClock } from '../../virtual-clock/virtual-clock.js'

/** The activity of the current engine of a conversation. */
export class EngineActivity {
  /** Requests for the locks of sessions. */
  readonly requests: LockRequests = new LockRequests()
  /** The names of the running tools, by their calls. */
  readonly #tools = new Map<string, string>()
  /** The memories with a running summary, by turn. */
  readonly #summaries = new Map<string, string>()
  readonly #clock: VirtualClock
  #happened = 0

  constructor(clock: VirtualClock) {
    this.#clock = clock
  }

  /** Counts what happens in the engine. */
  get happened(): number {
    return this.#happened
  }

  /** The names of the tools that were called and have not settled. */
  get tools(): readonly string[] {
    return [...this.#tools.values()]
  }

  /** The names of the memories whose summary was begun and has not settled. */
  get summaries(): readonly string[] {
    return [...this.#summaries.values()]
  }

  /** Follows a new engine. The work of the previous one has ended. */
  watch(engine: FlowEngine): void {
    this.requests.endAll()
    this.#tools.clear()
    this.#summaries.clear()
    engine.getFlowSession().watchLocks((event) => {
      this.#happened++
      this.requests.note(event, this.#clock.now())
    })
    locateTurns(engine, this.requests, () => {
      this.#happened++
      return this.#clock.now()
    })
    engine.on('tool:start', ({ turnId, toolCallId, tool }) => this.#tools.set(`${turnId} ${toolCallId}`, tool))
    engine.on('tool:end', ({ turnId, toolCallId }) => this.#tools.delete(`${turnId} ${toolCallId}`))
    engine.on('model:start', ({ turnId, step }) => {
      // A summary calls its model in place of a step.
      const [, memory] = /^memory:(.*)$/.exec(step) ?? []
      if (memory !== undefined) this.#summaries.set(`${turnId} ${memory}`, memory)
    })
    for (const name of ['memory:compacted', 'memory:compaction-failed'] as const) {
      engine.on(name, ({ turnId, namespace }) => this.#summaries.delete(`${turnId} ${namespace}`))
    }
  }
}
