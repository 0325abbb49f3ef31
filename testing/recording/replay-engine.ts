/**
 * The engine of a replay: it runs the recorded messages at their times, over its own store. A turn that hangs is
 * reported, and no replay leaves anything under way.
 */
import {
  type ExecuteResult,
  type FlowConstructor,
  FlowEngine,
  type FlowEngineOptions,
  type FlowRunInput,
  MemorySessionStore,
  type RuntimeModel,
  type SendEventInput,
  type SessionDocument,
} from '../../src/index.js'
import { modelsOfPolicies } from '../conversation/world/conversation-engines.js'
import { EngineActivity } from '../conversation/world/engine-activity.js'
import { hangText } from '../conversation/world/hang-report.js'
import { ExpectationError } from '../expectations/expectation-error.js'
import { instrumentFlow } from '../flow-coverage/instrumented-flow.js'
import type { ToolDoubles } from '../tool-doubles/tool-doubles.js'
import { unlessHanging } from '../virtual-clock/hang-watch.js'
import { VirtualClock } from '../virtual-clock/virtual-clock.js'
import type { RecordedTurn, Recording } from './recorded-turn.js'
import { replayHang } from './replay-differences.js'

/** What the engine of a replay is made of. */
export interface ReplaySurroundings {
  readonly recording: Recording
  /** Answers for every provider that the flow names. */
  readonly model: RuntimeModel
  readonly doubles: ToolDoubles
  readonly options: Pick<FlowEngineOptions, 'services' | 'limits' | 'logger' | 'models'>
  /** Milliseconds of real time in which nothing happens, after which a turn hangs. */
  readonly hangAfterMs: number
}

/** The engine of one replay. */
export class ReplayEngine {
  readonly #recording: Recording
  readonly #hangAfterMs: number
  readonly #clock: VirtualClock
  readonly #engine: FlowEngine
  readonly #activity: EngineActivity
  #turn: RecordedTurn | undefined

  constructor(flow: FlowConstructor, { recording, model, doubles, options, hangAfterMs }: ReplaySurroundings) {
    this.#recording = recording
    this.#hangAfterMs = hangAfterMs
    this.#clock = new VirtualClock(Date.parse(recording.startedAt))
    const flows = [
      instrumentFlow(flow, {
        onModel: ({ provider }) => this.#engine.registerProvider({ provider, resolve: () => model }),
        replaceTools: (offered) => doubles.replace(offered),
      }),
    ]
    let revisions = 0
    this.#engine = new FlowEngine({
      ...options,
      flows,
      clock: this.#clock,
      // The recording has the turns of the timers.
      schedule: () => undefined,
      sessionStore: new MemorySessionStore({ clock: this.#clock }),
      generateId: (kind) => {
        if (kind === 'session') return recording.sessionId
        return (kind === 'turn' ? this.#turn?.id : undefined) ?? `${kind}-${++revisions}`
      },
    })
    for (const { provider } of modelsOfPolicies(flow)) this.#engine.registerProvider({ provider, resolve: () => model })
    this.#activity = new EngineActivity(this.#clock)
    this.#activity.watch(this.#engine)
  }

  /** Runs a turn at the time at which it was recorded. Rejects if it hangs. */
  async run(turn: RecordedTurn, input: FlowRunInput | SendEventInput): Promise<ExecuteResult> {
    this.#turn = turn
    await this.#clock.advance(Math.max(0, Date.parse(turn.at) - this.#clock.now()))
    const running = 'userMessage' in input ? this.#engine.execute(input) : this.#engine.sendEvent(input)
    return this.#unlessHanging(running, false)
  }

  /** The session as it is stored now. */
  document(): Promise<SessionDocument | undefined> {
    return this.#engine.getSession(this.#recording.sessionId)
  }

  /** Waits for the summaries that the turns have left behind. Rejects if one hangs. */
  settled(): Promise<void> {
    return this.#unlessHanging(this.#engine.settled(), true)
  }

  /**
   * Closes the engine. The clock advances as far as a turn that hangs is given time to end; then its signal is aborted.
   */
  async close(): Promise<void> {
    await this.#clock.runUntil(this.#engine.close()).catch(() => undefined)
  }

  #unlessHanging<T>(promise: Promise<T>, isAfterTurn: boolean): Promise<T> {
    const afterMs = this.#hangAfterMs
    return unlessHanging(promise, {
      afterMs,
      progress: () => this.#activity.happened,
      report: () => {
        const { requests, tools, summaries } = this.#activity
        // A turn always has a timer, for its deadline: to name it would explain nothing.
        const nothingElse = { journal: [], timers: 0, isMovedByHand: false }
        const report = hangText({ afterMs, isAfterTurn, requests, tools, summaries, ...nothingElse })
        return new ExpectationError(replayHang(this.#recording, this.#turn as RecordedTurn, report))
      },
    })
  }
}
