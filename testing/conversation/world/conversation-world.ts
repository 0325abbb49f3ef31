/**
 * Makes the surroundings of a conversation (the clock, the data, the tools and the models) and sends requests to the
 * engine. `conversation/world/conversation-engines.ts` makes the engine, and `conversation/world/turn-driver.ts` waits
 * for the requests.
 */
import type { FlowConstructor, FlowEvent, FlowRunInput, SendEventInput } from '../../../src/index.js'
import { type CallPlace, callPlace } from '../../expectations/call-place.js'
import type { ExpectationError } from '../../expectations/expectation-error.js'
import { failedAssertionIn, thrownFailure } from '../../expectations/failed-assertion.js'
import { instrumentFlow } from '../../flow-coverage/instrumented-flow.js'
import { ScriptedModel } from '../../scripted-model/scripted-model.js'
import { ToolDoubles } from '../../tool-doubles/tool-doubles.js'
import { VirtualClock } from '../../virtual-clock/virtual-clock.js'
import { type EndedTurn, endedTurn, type TurnEnd, type TurnEvent } from '../turns/conversation-turn.js'
import { ConversationData, type IdKind } from './conversation-data.js'
import { ConversationEngines, type RunningEngine } from './conversation-engines.js'
import { type DeathBefore, EffectLog } from './effect-log.js'
import { EventLog } from './event-log.js'
import { ProcessDeath } from './process-death.js'
import { TurnDriver } from './turn-driver.js'
import type { ConversationWorldOptions } from './world-options.js'

/** A message, or an event of the application. */
export type ConversationRequest = FlowRunInput | SendEventInput

/** A request, and how it ended. */
export interface RequestSoFar {
  /** The turn for it; `undefined` if the engine refused it before a turn. */
  readonly turnId: string | undefined
  /** `undefined` while it is running. */
  end: TurnEnd | undefined
}

/** How a request ended. */
export interface RequestEnd extends RequestSoFar {
  readonly end: TurnEnd
}

/** The surroundings of one conversation. */
export class ConversationWorld {
  readonly clock: VirtualClock
  /** Where the conversation was made. */
  readonly made: CallPlace = callPlace()
  readonly model: ScriptedModel
  readonly tools: ToolDoubles
  /** Waits for turns, and advances the clock. */
  readonly driver: TurnDriver
  readonly effects: EffectLog
  /** Whether the process dies, and when. */
  readonly death: ProcessDeath
  /** The events that a step takes, or a flow, since the engine asked last: by the ID of the step, or of the flow. */
  readonly declared: Map<string, readonly FlowEvent[]>
  /** The first failed assertion for which the flow's `onError` answered. */
  answeredAssertion: ExpectationError | undefined
  /** The last sent requests, in their order. */
  requests: readonly RequestSoFar[] = []
  /** Makes the engines over the data, one after the other. */
  readonly engines: ConversationEngines
  readonly #options: ConversationWorldOptions
  readonly #data: ConversationData
  readonly #log: EventLog
  /** The last turn that got an ID from an engine. */
  #turnId: string | undefined

  constructor(flow: FlowConstructor, options: ConversationWorldOptions, from?: ConversationWorld) {
    this.#options = options
    this.clock = options.clock ?? new VirtualClock(from?.clock.now())
    this.#data = new ConversationData(options, this.clock, from === undefined ? undefined : from.#data)
    const { hangAfterMs } = options
    const { clock } = this
    this.driver = new TurnDriver({
      clock,
      current: () => this.engines.current,
      hangAfterMs,
      ownsData: this.#data.isOwn,
    })
    this.declared = new Map(from?.declared)
    this.#log = new EventLog(this.driver.gate)
    const { waiting } = this.driver
    this.model =
      from?.model.fork(options.script, { clock: waiting }) ??
      new ScriptedModel(options.script ?? [], { clock: waiting })
    this.tools = options.tools === undefined && from ? from.tools.fork() : new ToolDoubles(options.tools ?? {})
    this.effects = new EffectLog(from?.effects)
    this.death = new ProcessDeath(this.effects)
    const hasDoubles = options.tools !== undefined || from !== undefined
    const instrumented = instrumentFlow(flow, {
      onModel: (selection) => this.engines.scriptProviderOf(selection),
      onEvents: (owner, declared) => void this.declared.set(owner, declared),
      replaceTools: (offered) => this.effects.watchTools(hasDoubles ? this.tools.replace(offered) : offered),
      onTurn: (turn) => this.effects.watch(turn),
      onAnsweredError: (error) => {
        const assertion = failedAssertionIn(error)
        if (assertion === undefined) return
        this.answeredAssertion ??= thrownFailure(
          "An assertion failed, and the flow's onError answered for it",
          assertion,
        )
      },
    })
    this.engines = new ConversationEngines({
      flow: instrumented,
      options,
      data: this.#data,
      clock,
      driver: this.driver,
      log: this.#log,
      model: this.model,
      made: this.made,
      newId: (kind) => {
        const id = this.newId(kind)
        if (kind === 'turn') this.#turnId = id
        return id
      },
    })
  }

  /** The events, in order; emptied at the beginning of each turn. */
  get events(): readonly TurnEvent[] {
    return this.#log.events
  }

  /** An ID, as the engine makes them. */
  newId(kind: IdKind): string {
    return this.#options.generateId?.(kind) ?? this.#data.nextId(kind)
  }

  /** A message begins: earlier events belong to earlier messages. */
  forget(): void {
    this.#log.events = []
    this.requests = []
    this.effects.forget()
  }

  /** Prepares a turn: summaries of earlier turns finish first. */
  async begin(): Promise<RunningEngine> {
    // Now, and not later: after this a caller may advance the clock.
    this.driver.begin()
    const running = await this.engines.open()
    await this.settled()
    this.#log.events = []
    return running
  }

  /** Waits for summaries that outlive their turns, and advances the clock as far as they need. */
  async settled(): Promise<void> {
    const { current } = this.engines
    if (current !== undefined) await this.driver.drive(current.engine.settled(), { isAfterTurn: true })
  }

  /**
   * Sends requests at the same time, in this order, and waits for all of them. {@link begin} comes first, and
   * {@link replaceDeadProcess} after it. The client of a process that dies gets no reply.
   */
  async request(inputs: readonly ConversationRequest[]): Promise<readonly RequestEnd[]> {
    const { engine } = await this.engines.open()
    const requests: RequestSoFar[] = []
    const ends = inputs.map(async (input): Promise<RequestEnd> => {
      const [turnId, result] = this.begun(() =>
        'userMessage' in input
          ? engine.execute(this.death.withDeathSignal(input))
          : engine.sendEvent(this.death.withDeathSignal(input)),
      )
      const request: RequestSoFar = { turnId, end: undefined }
      requests.push(request)
      const end = this.death.endOf(await result)
      return Object.assign(request, { end })
    })
    this.requests = requests
    return this.driver.drive(Promise.all(ends))
  }

  /** Begins a turn: the ID that the engine makes for it, and what `begin` returns. */
  begun<T>(begin: () => T): readonly [turnId: string | undefined, result: T] {
    this.#turnId = undefined
    const result = begin()
    return [this.#turnId, result]
  }

  /**
   * The record of an ended turn.
   *
   * @param sessionId - The session that the message was sent to; empty for a new one.
   * @param turnId - The ID of the turn, if others ran at the same time. Default: all events of the session belong to
   * this turn.
   */
  async turnOf(said: string, end: TurnEnd, sessionId: string, turnId?: string): Promise<EndedTurn> {
    const session = end.reply === undefined ? end.session : end.reply.session
    const isOfTurn = (event: TurnEvent): boolean =>
      turnId === undefined ? session === '' || event.sessionId === session : event.turnId === turnId
    const events = this.events.filter(isOfTurn)
    // Expectations that need the document report a store that is down.
    const read = await this.engines.load(session === '' ? sessionId : session).then(
      (document) => ({ document }),
      (error: unknown) => ({ document: undefined, unread: { error } }),
    )
    return endedTurn({ said, events, ...read }, end, turnId)
  }

  /** Kills the process after the next run of an effect: its later writes are lost. */
  dieAfter(name: string, before: DeathBefore): void {
    this.death.prepare(name, before, () => this.engines.loseStore())
  }

  /**
   * If the process has died, makes a new one over the same data.
   *
   * @returns The effect after which it died; `undefined` if it is alive.
   */
  async replaceDeadProcess(): Promise<string | undefined> {
    const name = this.death.forget()
    if (name === undefined) return undefined
    // The remaining work of a dead process is not awaited.
    void this.engines.stop().catch(() => undefined)
    await this.engines.open()
    return name
  }
}
