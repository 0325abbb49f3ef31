/**
 * The surroundings of a conversation: the clock, the data, the engine over it and the models behind it. It makes them, makes new ones
 * at a restart, and sends requests. `conversation/turn-driver.ts` waits for them.
 */
import {
  type FlowConstructor,
  FlowEngine,
  type FlowRunInput,
  type ModelSelection,
  type SessionDocument,
  type SessionStore,
} from '../../src/index.js'
import { ExpectationError, show } from '../expectations/expectation-error.js'
import { FakeSessionStore } from '../fake-session-store/fake-session-store.js'
import { instrumentFlow } from '../flow-coverage/instrumented-flow.js'
import { ScriptedModel } from '../scripted-model/scripted-model.js'
import { ToolDoubles } from '../tool-doubles/tool-doubles.js'
import { defaultHangAfterMs, unlessHanging } from '../virtual-clock/hang-watch.js'
import { VirtualClock } from '../virtual-clock/virtual-clock.js'
import { ConversationData, type IdKind } from './conversation-data.js'
import { type EndedTurn, endedTurn, type TurnEnd, type TurnEvent } from './conversation-turn.js'
import { type DeathBefore, EffectLog } from './effect-log.js'
import { EventLog } from './event-log.js'
import { ProcessDeath } from './process-death.js'
import { TurnDriver } from './turn-driver.js'
import { isObject } from './value-kinds.js'
import type { ConversationWorldOptions } from './world-options.js'

/** In place of random numbers: each delay between two attempts is half of its maximum. */
export const noLuck: () => number = () => 0.5

/** An engine and the stores below it. */
interface Running {
  readonly engine: FlowEngine
  readonly store: FakeSessionStore
  /** Below the faults and the journal: for reading what is stored. */
  readonly inner: SessionStore
}

/** A request, and how it ended. */
export interface RequestSoFar {
  /** The turn that was to run it; `undefined` if the engine refused it before. */
  readonly turnId: string | undefined
  /** `undefined` while it is under way. */
  end: TurnEnd | undefined
}

/** How a request ended. */
export interface RequestEnd extends RequestSoFar {
  readonly end: TurnEnd
}

/** The surroundings of one conversation. */
export class ConversationWorld {
  readonly clock: VirtualClock
  readonly model: ScriptedModel
  readonly tools: ToolDoubles
  /** Waits for turns, and advances the clock. */
  readonly driver: TurnDriver
  readonly effects: EffectLog
  /** Whether the process dies, and when. */
  readonly death: ProcessDeath
  /** The IDs of the steps that the flow lists, once the engine has called `steps()`. */
  steps: readonly string[] = []
  /** The requests that were sent last, in their order. */
  requests: readonly RequestSoFar[] = []
  readonly #flow: FlowConstructor
  readonly #options: ConversationWorldOptions
  readonly #data: ConversationData
  readonly #log: EventLog
  #running: Promise<Running> | undefined
  #current: Running | undefined
  #hasEnded = false
  /** The last turn that an engine made an ID for. */
  #turnId: string | undefined
  /** What is stored before the first engine; `undefined` if nothing is. */
  #beginning: SessionDocument | undefined
  /** The first fault that never struck, of the stores that are not used any more. */
  #unusedFault: ExpectationError | undefined
  /** The store of a process that died: its outage is not the test's. */
  #deadStore: FakeSessionStore | undefined
  /** The providers that the script answers for in the current engine. */
  readonly #scripted = new Set<string>()

  constructor(flow: FlowConstructor, options: ConversationWorldOptions, from?: ConversationWorld) {
    this.#options = options
    this.clock = options.clock ?? new VirtualClock(from?.clock.now())
    this.#data = new ConversationData(options, this.clock, from === undefined ? undefined : from.#data)
    const { hangAfterMs } = options
    const { clock } = this
    this.driver = new TurnDriver({ clock, current: () => this.#current, hangAfterMs, ownsData: this.#data.isOwn })
    this.#log = new EventLog(this.driver.gate)
    const { waiting } = this.driver
    this.model =
      from?.model.fork(options.script, { clock: waiting }) ??
      new ScriptedModel(options.script ?? [], { clock: waiting })
    this.tools = options.tools === undefined && from ? from.tools.fork() : new ToolDoubles(options.tools ?? {})
    this.effects = new EffectLog(from?.effects)
    this.death = new ProcessDeath(this.effects)
    const hasDoubles = options.tools !== undefined || from !== undefined
    this.#flow = instrumentFlow(flow, {
      onModel: (selection) => this.#scriptProviderOf(selection),
      onSteps: (ids) => {
        this.steps = ids
      },
      replaceTools: (offered) => this.effects.watchTools(hasDoubles ? this.tools.replace(offered) : offered),
      onTurn: (turn) => this.effects.watch(turn),
    })
  }

  /** The current engine and its stores; `undefined` before the first turn. */
  get current(): Running | undefined {
    return this.#current
  }

  /** What happened, in order; emptied at the beginning of each turn. */
  get events(): readonly TurnEvent[] {
    return this.#log.events
  }

  /** An ID, as the engine makes them. */
  newId(kind: IdKind): string {
    return this.#options.generateId?.(kind) ?? this.#data.nextId(kind)
  }

  /** Stores a session before the first engine is made. */
  beginWith(document: SessionDocument): void {
    this.#beginning = document
  }

  /** The current engine, made now if there is none. */
  open(): Promise<Running> {
    this.#running ??= this.#start()
    return this.#running
  }

  /** What is stored, read without the journal and the faults. */
  async load(sessionId: string): Promise<SessionDocument | undefined> {
    if (sessionId === '') return undefined
    const { inner } = await this.open()
    if (this.#hasEnded) return this.#loadAfterEnd(sessionId)
    const loading = inner.load(sessionId)
    return this.#data.isOwn ? loading : this.#unlessHanging('load() of the store', loading)
  }

  /** For a message that was under way at the end. */
  async #loadAfterEnd(sessionId: string): Promise<SessionDocument | undefined> {
    const store = await this.#data.createStore()
    try {
      return await store.load(sessionId)
    } finally {
      await store.close()
    }
  }

  /** A message begins: what happened before belongs to earlier ones. */
  forget(): void {
    this.#log.events = []
    this.requests = []
  }

  /** Stores a session without the journal and the faults. */
  async create(document: SessionDocument): Promise<void> {
    const { inner } = await this.open()
    await this.#createIn(inner, document)
  }

  /** Prepares a turn: summaries that earlier turns have left behind come first. */
  async begin(): Promise<Running> {
    // Now, and not later: after this a caller may advance the clock.
    this.driver.begin()
    const running = await this.open()
    await this.settled()
    this.#log.events = []
    return running
  }

  /** Waits for the summaries that turns have left behind, and advances the clock as far as they need. */
  async settled(): Promise<void> {
    if (this.#current !== undefined) await this.driver.drive(this.#current.engine.settled(), { isAfterTurn: true })
  }

  /**
   * Sends requests at the same time, in this order, and waits for all of them. {@link begin} comes first, and {@link bury} after it.
   * The client of a process that dies gets no reply.
   */
  async request(inputs: readonly FlowRunInput[]): Promise<readonly RequestEnd[]> {
    const { engine } = await this.open()
    const requests: RequestSoFar[] = []
    const ends = inputs.map(async (input): Promise<RequestEnd> => {
      const [turnId, result] = this.begun(() => engine.execute(this.death.mortal(input)))
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
   * What the conversation keeps of a turn that has ended.
   *
   * @param sessionId - The session that the message was sent to; empty for a new one.
   * @param turnId - Where others ran at the same time. Default: what happened in the session is of this turn.
   */
  async turnOf(said: string, end: TurnEnd, sessionId: string, turnId?: string): Promise<EndedTurn> {
    const session = end.reply === undefined ? end.session : end.reply.session
    const isOfTurn = (event: TurnEvent): boolean =>
      turnId === undefined ? session === '' || event.sessionId === session : event.turnId === turnId
    const events = this.events.filter(isOfTurn)
    // A store that is down is reported by what needs the document.
    const read = await this.load(session === '' ? sessionId : session).then(
      (document) => ({ document }),
      (error: unknown) => ({ document: undefined, unread: { error } }),
    )
    return endedTurn({ said, events, ...read }, end, turnId)
  }

  /** Has the process die after the next run of an effect: what it would store from then on is lost. */
  dieAfter(name: string, before: DeathBefore): void {
    this.death.prepare(name, before, () => {
      const store = this.#current?.store
      if (store !== undefined) this.#noteFaults(store)
      this.#deadStore = store
      return store
    })
  }

  /**
   * If the process has died, makes a new one over the same data.
   *
   * @returns The effect after which it died; `undefined` if it lives.
   */
  async bury(): Promise<string | undefined> {
    const name = this.death.forget()
    if (name === undefined) return undefined
    // Nobody waits for what a dead process leaves behind.
    void this.stop().catch(() => undefined)
    await this.open()
    return name
  }

  /** Closes the engine; the next use makes another one over the same data. */
  async stop(): Promise<void> {
    const running = this.#current
    this.#running = undefined
    this.#current = undefined
    this.#scripted.clear()
    try {
      const closing = this.driver.close(running?.engine.close())
      await (running === undefined ? closing : this.#unlessHanging('close() of the engine and its store', closing))
    } finally {
      if (running !== undefined && running.store !== this.#deadStore) this.#noteFaults(running.store)
    }
  }

  /** Closes the engine for good: a message that is still under way finds it closed, and gets no other one. */
  end(): Promise<void> {
    this.#hasEnded = true
    const running = this.#running
    const closing = this.stop()
    this.#running = running
    return closing
  }

  /** Fails for a fault that never struck, also one of a store before a restart. It is called after the end. */
  assertFaultsUsed(): void {
    if (this.#unusedFault !== undefined) throw this.#unusedFault
  }

  #noteFaults(store: FakeSessionStore): void {
    try {
      store.assertFaultsUsed()
    } catch (error) {
      this.#unusedFault ??= error as ExpectationError
    }
  }

  async #start(): Promise<Running> {
    const { script: _script, tools: _tools, createStore: _createStore, clock: _clock, ...rest } = this.#options
    const { onEngine, coverage, hangAfterMs: _hangAfterMs, providers = [], models = [], ...options } = rest
    const inner = await this.#makeStore()
    if (this.#beginning !== undefined) await this.#createIn(inner, this.#beginning)
    this.#beginning = undefined
    const store = new FakeSessionStore({ inner, clock: this.driver.waiting })
    const engine = new FlowEngine({
      random: noLuck,
      ...options,
      generateId: (kind) => {
        const id = this.newId(kind)
        if (kind === 'turn') this.#turnId = id
        return id
      },
      flows: [this.#flow],
      providers: providers.map((provider) => this.#log.watchProvider(provider)),
      // The parameters are checked, and the script answers.
      models: models.map(({ create, ...model }) =>
        this.#isGiven(model.provider) && create ? { ...model, create } : model,
      ),
      clock: this.clock,
      sessionStore: store,
    })
    this.#log.watchEngine(engine)
    this.driver.watch(engine)
    const running = { engine, store, inner }
    this.#current = running
    for (const selection of modelsOfPolicies(this.#flow)) this.#scriptProviderOf(selection)
    coverage?.watch(engine)
    onEngine?.(engine)
    return running
  }

  async #makeStore(): Promise<SessionStore> {
    const making = this.#data.createStore()
    const made: unknown = making instanceof Promise ? await this.#unlessHanging('createStore()', making) : making
    // Without one the conversation would keep its data in memory.
    if (isObject(made) && 'load' in made) return made as SessionStore
    throw new ExpectationError(`createStore() must return a store; got ${show(made)}.`)
  }

  #createIn(inner: SessionStore, document: SessionDocument): Promise<void> {
    const creating = inner.create(document)
    return this.#data.isOwn ? creating : this.#unlessHanging('create() of the store', creating)
  }

  /** What is waited for outside of turns: within one, the driver reports who waits for what. */
  #unlessHanging<T>(what: string, promise: Promise<T>): Promise<T> {
    const { hangAfterMs: afterMs = defaultHangAfterMs } = this.#options
    return unlessHanging(promise, {
      afterMs,
      progress: () => this.clock.monotonic(),
      report: () =>
        new ExpectationError(
          `${what} has not settled, and nothing has happened for ${afterMs} ms of real time. If it is only slow, raise the option hangAfterMs.`,
        ),
    })
  }

  #isGiven(provider: string): boolean {
    return this.#options.providers?.some((given) => given.provider === provider) === true
  }

  /** The script answers for a provider that the flow names and no option has. */
  #scriptProviderOf({ provider }: ModelSelection): void {
    if (typeof provider !== 'string' || this.#scripted.has(provider) || this.#isGiven(provider)) return
    this.#scripted.add(provider)
    this.#current?.engine.registerProvider(this.#log.watchProvider({ provider, resolve: () => this.model }))
  }
}

/** The models that summarize the memories of a flow: no step names them. */
function modelsOfPolicies({ compaction = {} }: FlowConstructor): readonly ModelSelection[] {
  return Object.values(compaction).flatMap((policy) => ('model' in policy ? policy.model : []))
}
