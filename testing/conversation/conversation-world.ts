/**
 * The surroundings of a conversation: the clock, the data, the engine over it and the models behind it. It makes them,
 * makes new ones at a restart, and advances the clock while only a test's own delay is waited for.
 */
import {
  type ExecuteResult,
  type FlowConstructor,
  FlowEngine,
  type FlowEngineOptions,
  type FlowRunInput,
  MemorySessionStore,
  type ModelProviderAdapter,
  type ModelSelection,
  type SessionDocument,
  type SessionStore,
  type ToolCallPart,
} from '../../src/index.js'
import { FakeSessionStore } from '../fake-session-store/fake-session-store.js'
import { instrumentFlow } from '../flow-coverage/instrumented-flow.js'
import { type ModelScript, ScriptedModel } from '../scripted-model/scripted-model.js'
import { type ToolDouble, ToolDoubles } from '../tool-doubles/tool-doubles.js'
import { VirtualClock } from '../virtual-clock/virtual-clock.js'
import type { TurnEnd } from './conversation-turn.js'
import { type ConversationTurn, replyIn, resultsIn, stoppedReply, type TurnEvent } from './conversation-turn.js'
import { type DeathBefore, EffectLog } from './effect-log.js'
import { type LoggedCall, watchProvider } from './model-log.js'
import { ReadingGate } from './reading-gate.js'
import { WaitingClock } from './waiting-clock.js'

type IdKind = Parameters<NonNullable<FlowEngineOptions['generateId']>>[0]

/** The options of a conversation's surroundings: the engine's options, and more. */
export interface ConversationWorldOptions extends Omit<FlowEngineOptions, 'flows' | 'sessionStore' | 'clock'> {
  /**
   * The replies of the models, for each provider that the flow names, unless `providers` has it. Default: none, so that a
   * model call fails.
   */
  readonly script?: ModelScript
  /** Doubles for tools, by name. Default: the tools run themselves. */
  readonly tools?: Readonly<Record<string, ToolDouble>>
  /**
   * Makes a store over the data of this test. It is called for each engine: at the beginning, at each `restart` and for
   * each `fork`. Default: a memory store over data that the conversation shares with its forks, and that counts as durable, because
   * the data outlive every engine.
   */
  readonly createStore?: () => SessionStore | Promise<SessionStore>
  /** The clock of everything. Default: a new one. */
  readonly clock?: VirtualClock
  /** Called with each engine when it is made, for example to listen to its events. */
  readonly onEngine?: (engine: FlowEngine) => void
}

/** In place of random numbers: each delay between two attempts is half of its maximum. */
export const noLuck: () => number = () => 0.5

/** An engine and the stores below it. */
interface Running {
  readonly engine: FlowEngine
  readonly store: FakeSessionStore
  /** Below the faults and the journal: for reading what is stored. */
  readonly inner: SessionStore
}

/** How a request ended. */
export interface RequestEnd {
  /** The turn that was to run it; `undefined` if the engine refused it before. */
  readonly turnId: string | undefined
  readonly end: TurnEnd
}

/** The surroundings of one conversation. */
export class ConversationWorld {
  readonly clock: VirtualClock
  readonly model: ScriptedModel
  readonly tools: ToolDoubles
  /** The IDs of the steps that the flow lists, once the engine has called `steps()`. */
  steps: readonly string[] = []
  /** What happened, in order; emptied at the beginning of each turn. */
  events: TurnEvent[] = []
  readonly effects: EffectLog
  readonly #flow: FlowConstructor
  readonly #options: ConversationWorldOptions
  readonly #waiting: WaitingClock
  readonly #createStore: () => SessionStore | Promise<SessionStore>
  readonly #ids: Map<IdKind, number> | undefined
  /** Models answer behind it. */
  readonly #gate = new ReadingGate()
  /** Ends the waits for another attempt. */
  readonly #stopWaits = new Set<() => void>()
  #running: Promise<Running> | undefined
  #current: Running | undefined
  #movedByHand = false
  /** The last turn that an engine made an ID for. */
  #turnId: string | undefined
  /** The turns that asked a model last, by session. */
  readonly #asking = new Map<string, string>()
  /** Fires when the process dies; `undefined` if it is not to die. */
  #mortal: AbortController | undefined
  /** The effect after which the process died; `undefined` while it lives. */
  #diedAfter: string | undefined
  /** The providers that the script answers for in the current engine. */
  readonly #scripted = new Set<string>()

  constructor(flow: FlowConstructor, options: ConversationWorldOptions, from?: ConversationWorld) {
    this.#options = options
    this.clock = options.clock ?? new VirtualClock(from?.clock.now())
    this.#waiting = new WaitingClock(this.clock)
    const clock = this.#waiting
    this.model = from?.model.fork(options.script, { clock }) ?? new ScriptedModel(options.script ?? [], { clock })
    this.tools = options.tools === undefined && from ? from.tools.fork() : new ToolDoubles(options.tools ?? {})
    this.effects = new EffectLog(from?.effects)
    const data = new Map<string, SessionDocument>()
    const inherited = from === undefined ? undefined : { createStore: from.#createStore, ids: from.#ids }
    this.#createStore =
      options.createStore ??
      inherited?.createStore ??
      (() => {
        const store = new MemorySessionStore({ backing: data, clock: this.clock })
        return Object.assign(store, { guarantees: { ...store.guarantees, durable: true } })
      })
    // IDs can be counted if the data belongs to this test alone.
    this.#ids = options.createStore === undefined ? (inherited?.ids ?? new Map()) : undefined
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

  /** The current engine, made now if there is none. */
  open(): Promise<Running> {
    this.#running ??= this.#start()
    return this.#running
  }

  /** What is stored, read without the journal and the faults. */
  async load(sessionId: string): Promise<SessionDocument | undefined> {
    if (sessionId === '') return undefined
    const { inner } = await this.open()
    return inner.load(sessionId)
  }

  /**
   * What the conversation keeps of a turn that has ended.
   *
   * @param sessionId - The session that the message was sent to; empty for a new one.
   * @param turnId - Where others ran at the same time. Default: what happened in the session is of this turn.
   */
  async turnOf(
    said: string,
    end: TurnEnd,
    sessionId: string,
    turnId?: string,
  ): Promise<Omit<ConversationTurn, 'afterRestart'>> {
    const session = end.reply === undefined ? end.session : end.reply.session
    const isOfTurn = (event: TurnEvent): boolean =>
      turnId === undefined ? session === '' || event.sessionId === session : event.turnId === turnId
    const events = this.events.filter(isOfTurn)
    // A store that is down is reported when the document is read.
    const document = await this.load(session === '' ? sessionId : session).catch(() => undefined)
    const turn = { said, events, document }
    if (end.reply !== undefined) {
      const { reply } = end
      const hasResults = reply.success && reply.replayed !== true && document !== undefined
      return { ...turn, reply, results: hasResults ? resultsIn(document, turnId) : [] }
    }
    const isCommitted = events.some((event) => event.kind === 'end' && event.success)
    if (isCommitted && document !== undefined) {
      return { ...turn, reply: replyIn(document, turnId), results: resultsIn(document, turnId) }
    }
    const { stoppedAfter, diedAfter } = end
    const stopped = { ...turn, reply: stoppedReply(document?.id ?? ''), stoppedAfter, results: [] }
    return diedAfter === undefined ? stopped : { ...stopped, diedAfter, isNoTurn: true }
  }

  /**
   * Sends requests at the same time, in this order, and waits for all of them. {@link begin} comes first, and {@link bury} after it.
   * The client of a process that dies gets no reply.
   */
  async request(inputs: readonly FlowRunInput[]): Promise<readonly RequestEnd[]> {
    const { engine } = await this.open()
    const ends: Promise<RequestEnd>[] = []
    const keys = new Set<string>()
    for (const input of inputs) {
      const { idempotencyKey: key, sessionId } = input
      const isRepeat = key !== undefined && keys.has(key)
      if (key !== undefined) keys.add(key)
      const isLast = ends.length === inputs.length - 1
      // The engine looks for the receipt of a key first: a message without one would overtake it.
      const queued =
        isLast || isRepeat || key === undefined || sessionId === undefined ? undefined : this.#queued(engine)
      const [turnId, result] = this.begun(() => engine.execute(this.mortal(input)))
      ends.push(result.then((ended) => ({ turnId, end: this.endOf(ended) })))
      await queued?.(result)
    }
    return this.drive(Promise.all(ends))
  }

  /** Waits until the next request has its place at the lock of its session, if it gets that without waiting for a timer. */
  #queued(engine: FlowEngine): (result: Promise<unknown>) => Promise<void> {
    let stop: (() => void) | undefined
    const requested = new Promise<void>((resolve) => {
      stop = engine.getFlowSession().watchLocks(({ kind }) => {
        if (kind === 'requested') resolve()
      })
    })
    return async (result) => {
      await nextTask(Promise.race([requested, result]))
      stop?.()
    }
  }

  /** How a turn ended for its client, who gets no reply of a process that has died. */
  endOf({ response, ...more }: ExecuteResult): TurnEnd {
    const diedAfter = this.#diedAfter
    if (diedAfter !== undefined) return { session: '', stoppedAfter: '', diedAfter }
    return { reply: { ...response, ...more } }
  }

  /** The effect after which the process died; `undefined` while it lives. */
  get diedAfter(): string | undefined {
    return this.#diedAfter
  }

  /** Begins a turn: the ID that the engine makes for it, and what `begin` returns. */
  begun<T>(begin: () => T): readonly [turnId: string | undefined, result: T] {
    this.#turnId = undefined
    const result = begin()
    return [this.#turnId, result]
  }

  /** An input whose turn ends with the process, if it is to die. */
  mortal(input: FlowRunInput): FlowRunInput {
    if (this.effects.awaited === undefined) return input
    this.#mortal ??= new AbortController()
    const { signal } = this.#mortal
    return { ...input, signal: input.signal === undefined ? signal : AbortSignal.any([input.signal, signal]) }
  }

  /** Has the process die after the next run of an effect: what it would store from then on is lost. */
  dieAfter(name: string, before: DeathBefore): void {
    const die = (): void => {
      this.#diedAfter = name
      const store = this.#current?.store
      // A fault that was prepared earlier could let a write pass.
      store?.heal()
      store?.outage()
      this.#mortal?.abort()
    }
    this.effects.dieAfter({ name, before, die })
  }

  /**
   * If the process has died, makes a new one over the same data.
   *
   * @returns The effect after which it died; `undefined` if it lives.
   */
  async bury(): Promise<string | undefined> {
    const name = this.#diedAfter
    if (name === undefined) return undefined
    this.#diedAfter = undefined
    this.#mortal = undefined
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
    await running?.engine.close()
  }

  /** Advances the clock. From now on a turn under way depends on the caller's clock. */
  async advance(ms: number): Promise<void> {
    this.#movedByHand = true
    await this.clock.advance(ms)
  }

  /** Prepares a turn: summaries that earlier turns have left behind come first. */
  async begin(): Promise<Running> {
    // Now, and not later: after this a caller may advance the clock.
    this.#movedByHand = false
    const running = await this.open()
    await this.settled()
    this.events = []
    return running
  }

  /** Waits for the summaries that turns have left behind, and advances the clock as far as they need. */
  async settled(): Promise<void> {
    if (this.#current !== undefined) await this.drive(this.#current.engine.settled(), () => false)
  }

  /**
   * Waits for a turn, or for something of it. While only a delay of the test is waited for, the clock advances by itself.
   *
   * @param isLeftToCaller - Whether the caller advances the clock. Default: since the first `advance` of this turn.
   */
  async drive<T>(something: Promise<T>, isLeftToCaller = (): boolean => this.#movedByHand): Promise<T> {
    let over = false
    const settled = something.finally(() => {
      over = true
    })
    // Most turns need no timer at all.
    await nextTask(settled)
    while (!over && !isLeftToCaller()) {
      const delay = this.#nextDelay()
      if (delay?.isCertain === true) await this.clock.advance(delay.ms)
      // Only up to the deadline that ends it, whichever that is.
      else if (delay !== undefined) await this.clock.runUntil(settled, { withinMs: delay.ms }).catch(() => undefined)
      await nextTask(settled)
    }
    return settled
  }

  /** Makes models answer only while {@link read} waits, until {@link answerFreely} is called. */
  answerWhileRead(): void {
    this.#gate.begin()
  }

  /** {@link drive} for one event of a stream: models answer until it is there. */
  read<T>(piece: Promise<T>): Promise<T> {
    return this.drive(this.#gate.read(piece))
  }

  /** The turn has ended: from now on models answer at once. */
  answerFreely(): void {
    this.#gate.end()
    for (const stop of this.#stopWaits) stop()
    this.#stopWaits.clear()
  }

  /** What a second engine over the same data needs: the same clock, and no random numbers. */
  watch(engine: FlowEngine): void {
    engine.on('model:retry', ({ delayMs }) => {
      if (delayMs > 0) this.#stopWaits.add(this.#waiting.setTimer(() => undefined, delayMs))
    })
  }

  #nextDelay(): { readonly ms: number; readonly isCertain: boolean } | undefined {
    const { engine, store } = this.#current as Running
    const { turnTimeoutMs, storeTimeoutMs } = engine.limits
    const { next } = this.#waiting
    if (next !== undefined && next !== Number.POSITIVE_INFINITY) return { ms: next, isCertain: true }
    const longest = next ?? (this.#ids !== undefined && isHanging(store) ? storeTimeoutMs : undefined)
    if (longest === undefined) return undefined
    const ms = Math.min(longest, turnTimeoutMs)
    return Number.isFinite(ms) ? { ms, isCertain: false } : undefined
  }

  async #start(): Promise<Running> {
    const { script: _script, tools: _tools, createStore: _createStore, clock: _clock, ...rest } = this.#options
    const { onEngine, providers = [], models = [], ...options } = rest
    const counted = this.#ids === undefined ? randomId : (kind: IdKind): string => this.#countedId(kind)
    const { generateId = counted } = options
    const inner = await this.#createStore()
    const store = new FakeSessionStore({ inner, clock: this.#waiting })
    const engine = new FlowEngine({
      random: noLuck,
      ...options,
      generateId: (kind) => {
        const id = generateId(kind)
        if (kind === 'turn') this.#turnId = id
        return id
      },
      flows: [this.#flow],
      providers: providers.map((provider) => this.#watched(provider)),
      // The parameters are checked, and the script answers.
      models: models.map(({ create, ...model }) =>
        this.#isGiven(model.provider) && create ? { ...model, create } : model,
      ),
      clock: this.clock,
      sessionStore: store,
    })
    this.watch(engine)
    engine.on('step:enter', ({ sessionId, turnId, step }) =>
      this.events.push({ kind: 'enter', sessionId, turnId, step }),
    )
    engine.on('turn:end', ({ sessionId, turnId, success }) =>
      this.events.push({ kind: 'end', sessionId, turnId, success }),
    )
    engine.on('model:start', ({ sessionId, turnId }) => this.#asking.set(sessionId, turnId))
    const running = { engine, store, inner }
    this.#current = running
    for (const selection of modelsOfPolicies(this.#flow)) this.#scriptProviderOf(selection)
    onEngine?.(engine)
    return running
  }

  #isGiven(provider: string): boolean {
    return this.#options.providers?.some((given) => given.provider === provider) === true
  }

  #countedId(kind: IdKind): string {
    const number = (this.#ids?.get(kind) ?? 0) + 1
    this.#ids?.set(kind, number)
    return `${kind}-${number}`
  }

  /** The script answers for a provider that the flow names and no option has. */
  #scriptProviderOf({ provider }: ModelSelection): void {
    if (typeof provider !== 'string' || this.#scripted.has(provider) || this.#isGiven(provider)) return
    this.#scripted.add(provider)
    this.#current?.engine.registerProvider(this.#watched({ provider, resolve: () => this.model }))
  }

  #watched(provider: ModelProviderAdapter): ModelProviderAdapter {
    const turns = new WeakMap<LoggedCall, string>()
    return watchProvider(provider, this.#gate, (call, event) => {
      const { sessionId } = call.request.origin
      const turnId = turns.get(call) ?? this.#asking.get(sessionId) ?? ''
      turns.set(call, turnId)
      if (event === 'asked') this.events.push({ kind: 'asked', sessionId, turnId, call })
      else {
        // What it answered may be anything: the engine has not checked it yet.
        const parts: unknown = call.response?.parts
        const calls = (Array.isArray(parts) ? parts : []).filter(
          (part): part is ToolCallPart => part?.type === 'tool-call',
        )
        for (const part of calls) this.events.push({ kind: 'tool-call', sessionId, turnId, part })
      }
    })
  }
}

/** The models that summarize the memories of a flow: no step names them. */
function modelsOfPolicies({ compaction = {} }: FlowConstructor): readonly ModelSelection[] {
  return Object.values(compaction).flatMap((policy) => ('model' in policy ? policy.model : []))
}

/** An ID for data that other tests may share. */
function randomId(): string {
  return crypto.randomUUID()
}

function isHanging(store: FakeSessionStore): boolean {
  return store.journal.at(-1)?.outcome === 'pending'
}

/** Waits for the next task of the event loop, or for a turn that ends before. */
function nextTask(turn: Promise<unknown>): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, 0)
    const end = (): void => {
      clearTimeout(timer)
      resolve()
    }
    turn.then(end, end)
  })
}
