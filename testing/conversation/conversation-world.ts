/**
 * The surroundings of a conversation: the clock, the data, the engine over it and the models behind it. It makes them,
 * makes new ones at a restart, and advances the clock while only a test's own delay is waited for.
 */
import {
  type FlowConstructor,
  FlowEngine,
  type FlowEngineOptions,
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
import { watchProvider } from './model-log.js'
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
   * each `fork`. Default: a memory store over data that the conversation shares with its forks.
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

/** The surroundings of one conversation. */
export class ConversationWorld {
  readonly clock: VirtualClock
  readonly model: ScriptedModel
  readonly tools: ToolDoubles
  /** The IDs of the steps that the flow lists, once the engine has called `steps()`. */
  steps: readonly string[] = []
  /** What happened, in order; emptied at the beginning of each turn. */
  events: TurnEvent[] = []
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
  /** The providers that the script answers for in the current engine. */
  readonly #scripted = new Set<string>()

  constructor(flow: FlowConstructor, options: ConversationWorldOptions, from?: ConversationWorld) {
    this.#options = options
    this.clock = options.clock ?? new VirtualClock(from?.clock.now())
    this.#waiting = new WaitingClock(this.clock)
    const clock = this.#waiting
    this.model = from?.model.fork(options.script, { clock }) ?? new ScriptedModel(options.script ?? [], { clock })
    this.tools = options.tools === undefined && from ? from.tools.fork() : new ToolDoubles(options.tools ?? {})
    const data = new Map<string, SessionDocument>()
    const inherited = from === undefined ? undefined : { createStore: from.#createStore, ids: from.#ids }
    this.#createStore =
      options.createStore ??
      inherited?.createStore ??
      (() => new MemorySessionStore({ backing: data, clock: this.clock }))
    // IDs can be counted if the data belongs to this test alone.
    this.#ids = options.createStore === undefined ? (inherited?.ids ?? new Map()) : undefined
    this.#flow = instrumentFlow(flow, {
      onModel: (selection) => this.#scriptProviderOf(selection),
      onSteps: (ids) => {
        this.steps = ids
      },
      ...(options.tools === undefined && from === undefined
        ? {}
        : { replaceTools: (offered) => this.tools.replace(offered) }),
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
   */
  async turnOf(said: string, end: TurnEnd, sessionId: string): Promise<Omit<ConversationTurn, 'afterRestart'>> {
    const session = end.reply === undefined ? end.session : end.reply.session
    const events = session === '' ? this.events : this.events.filter((event) => event.sessionId === session)
    // A store that is down is reported when the document is read.
    const document = await this.load(session === '' ? sessionId : session).catch(() => undefined)
    const turn = { said, events, document }
    if (end.reply !== undefined) {
      const { reply } = end
      return { ...turn, reply, results: reply.success && document !== undefined ? resultsIn(document) : [] }
    }
    const isCommitted = events.some((event) => event.kind === 'end' && event.success)
    if (isCommitted && document !== undefined) {
      return { ...turn, reply: replyIn(document), results: resultsIn(document) }
    }
    const { stoppedAfter } = end
    return { ...turn, reply: stoppedReply(document?.id ?? ''), stoppedAfter, results: [] }
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
    const inner = await this.#createStore()
    const store = new FakeSessionStore({ inner, clock: this.#waiting })
    const engine = new FlowEngine({
      ...(this.#ids === undefined ? {} : { generateId: (kind) => this.#countedId(kind) }),
      random: noLuck,
      ...options,
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
    engine.on('step:enter', ({ sessionId, step }) => this.events.push({ kind: 'enter', sessionId, step }))
    engine.on('turn:end', ({ sessionId, success }) => this.events.push({ kind: 'end', sessionId, success }))
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
    return watchProvider(provider, this.#gate, (call, event) => {
      const { sessionId } = call.request.origin
      if (event === 'asked') this.events.push({ kind: 'asked', sessionId, call })
      else {
        // What it answered may be anything: the engine has not checked it yet.
        const parts: unknown = call.response?.parts
        const calls = (Array.isArray(parts) ? parts : []).filter(
          (part): part is ToolCallPart => part?.type === 'tool-call',
        )
        for (const part of calls) this.events.push({ kind: 'tool-call', sessionId, part })
      }
    })
  }
}

/** The models that summarize the memories of a flow: no step names them. */
function modelsOfPolicies({ compaction = {} }: FlowConstructor): readonly ModelSelection[] {
  return Object.values(compaction).flatMap((policy) => ('model' in policy ? policy.model : []))
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
