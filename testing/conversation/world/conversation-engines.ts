/**
 * The engines of a conversation, one at a time, over the same data: it makes them, closes them, and reads and writes
 * what is stored below them.
 */
import {
  type FlowConstructor,
  FlowEngine,
  type ModelSelection,
  type SessionDocument,
  type SessionStore,
} from '../../../src/index.js'
import { thrownText } from '../../expectations/author-frames.js'
import { type CallPlace, placeText } from '../../expectations/call-place.js'
import { ExpectationError, show } from '../../expectations/expectation-error.js'
import { isObject } from '../../expectations/value-kinds.js'
import { FakeSessionStore } from '../../fake-session-store/fake-session-store.js'
import type { ScriptedModel } from '../../scripted-model/scripted-model.js'
import { defaultHangAfterMs, unlessHanging } from '../../virtual-clock/hang-watch.js'
import type { VirtualClock } from '../../virtual-clock/virtual-clock.js'
import type { ConversationData, IdKind } from './conversation-data.js'
import type { EventLog } from './event-log.js'
import type { TurnDriver } from './turn-driver.js'
import type { ConversationWorldOptions } from './world-options.js'

/** In place of random numbers: each delay between two attempts is half of its maximum. */
export const fixedRandom: () => number = () => 0.5

/** An engine and the stores below it. */
export interface RunningEngine {
  readonly engine: FlowEngine
  readonly store: FakeSessionStore
  /** Below the faults and the journal: for reading what is stored. */
  readonly inner: SessionStore
}

/** What an engine is made of. */
export interface EngineSurroundings {
  readonly flow: FlowConstructor
  readonly options: ConversationWorldOptions
  readonly data: ConversationData
  readonly clock: VirtualClock
  readonly driver: TurnDriver
  readonly log: EventLog
  readonly model: ScriptedModel
  /** Where the conversation was made. */
  readonly made: CallPlace
  newId(kind: IdKind): string
}

/** The engines of one conversation. */
export class ConversationEngines {
  readonly #surroundings: EngineSurroundings
  #running: Promise<RunningEngine> | undefined
  #current: RunningEngine | undefined
  #hasEnded = false
  /** What is stored before the first engine; `undefined` if nothing is. */
  #beginning: SessionDocument | undefined
  /** The first fault that never struck, of the stores that are not used any more. */
  #unusedFault: ExpectationError | undefined
  /** The store of a process that died: its outage is not the test's. */
  #deadStore: FakeSessionStore | undefined
  /** The providers that the script answers for in the current engine. */
  readonly #scripted = new Set<string>()

  constructor(surroundings: EngineSurroundings) {
    this.#surroundings = surroundings
  }

  /** The current engine and its stores; `undefined` before the first turn. */
  get current(): RunningEngine | undefined {
    return this.#current
  }

  /** Stores a session before the first engine is made. */
  beginWith(document: SessionDocument): void {
    this.#beginning = document
  }

  /** The current engine, made now if there is none. */
  open(): Promise<RunningEngine> {
    this.#running ??= this.#start()
    return this.#running
  }

  /** What is stored, read without the journal and the faults. */
  async load(sessionId: string): Promise<SessionDocument | undefined> {
    if (sessionId === '') return undefined
    const { inner } = await this.open()
    if (this.#hasEnded) return this.#loadAfterEnd(sessionId)
    const loading = inner.load(sessionId)
    return this.#surroundings.data.isOwn ? loading : this.#unlessHanging('load() of the store', loading)
  }

  /** For a message that was under way at the end. */
  async #loadAfterEnd(sessionId: string): Promise<SessionDocument | undefined> {
    const store = await this.#surroundings.data.createStore()
    try {
      return await store.load(sessionId)
    } finally {
      await store.close()
    }
  }

  /** Stores a session without the journal and the faults. */
  async create(document: SessionDocument): Promise<void> {
    const { inner } = await this.open()
    await this.#createIn(inner, document)
  }

  /** Closes the engine, also one that is being made; the next use makes another one over the same data. */
  async stop(): Promise<void> {
    const starting = this.#running
    this.#running = undefined
    if (this.#current === undefined) await starting?.catch(() => undefined)
    const running = this.#current
    this.#current = undefined
    this.#scripted.clear()
    try {
      const closing = this.#surroundings.driver.close(running?.engine.close())
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

  /**
   * The process dies. Whether the faults of its store struck is noted now: its outage is not the test's.
   *
   * @returns The store that is lost; `undefined` before the first engine.
   */
  loseStore(): FakeSessionStore | undefined {
    const store = this.#current?.store
    if (store !== undefined) this.#noteFaults(store)
    this.#deadStore = store
    return store
  }

  /** The script answers for a provider that the flow names and no option has. */
  scriptProviderOf({ provider }: ModelSelection): void {
    if (typeof provider !== 'string' || this.#scripted.has(provider) || this.#isGiven(provider)) return
    this.#scripted.add(provider)
    this.#current?.engine.registerProvider(
      this.#surroundings.log.watchProvider({ provider, resolve: () => this.#surroundings.model }),
    )
  }

  #noteFaults(store: FakeSessionStore): void {
    try {
      store.assertFaultsUsed()
    } catch (error) {
      this.#unusedFault ??= error as ExpectationError
    }
  }

  async #start(): Promise<RunningEngine> {
    const { flow, options, driver, log } = this.#surroundings
    const { onEngine, coverage } = options
    const inner = await this.#makeStore()
    if (this.#beginning !== undefined) await this.#createIn(inner, this.#beginning)
    this.#beginning = undefined
    const store = new FakeSessionStore({ inner, clock: driver.waiting })
    const engine = await this.#makeEngine(store)
    log.watchEngine(engine)
    driver.watch(engine)
    const running = { engine, store, inner }
    this.#current = running
    for (const selection of modelsOfPolicies(flow)) this.scriptProviderOf(selection)
    coverage?.watch(engine)
    onEngine?.(engine)
    // The conversation has ended meanwhile: nothing may run in this engine, and nobody else closes it.
    if (this.#hasEnded) await engine.close()
    return running
  }

  /** Fails with the line at which the conversation was made for options that the engine refuses, and for a flow. */
  async #makeEngine(store: FakeSessionStore): Promise<FlowEngine> {
    const { flow, options: given, clock, log, made, newId } = this.#surroundings
    const { script: _script, tools: _tools, createStore: _createStore, clock: _clock, ...rest } = given
    const { onEngine: _onEngine, coverage: _coverage, hangAfterMs: _hangAfterMs, ...forEngine } = rest
    const { providers = [], models = [], ...options } = forEngine
    try {
      return new FlowEngine({
        random: fixedRandom,
        ...options,
        generateId: newId,
        flows: [flow],
        providers: providers.map((provider) => log.watchProvider(provider)),
        // The parameters are checked, and the script answers.
        models: models.map(({ create, ...model }) =>
          this.#isGiven(model.provider) && create ? { ...model, create } : model,
        ),
        clock,
        sessionStore: store,
      })
    } catch (cause) {
      await store.close().catch(() => undefined)
      const where = placeText('the conversation was made', made)
      throw new ExpectationError(`The engine cannot be made: ${thrownText(cause)}${where}`, { cause })
    }
  }

  async #makeStore(): Promise<SessionStore> {
    const making = this.#surroundings.data.createStore()
    const made: unknown = making instanceof Promise ? await this.#unlessHanging('createStore()', making) : making
    // Without one the conversation would keep its data in memory.
    if (isObject(made) && 'load' in made) return made as SessionStore
    throw new ExpectationError(`createStore() must return a store; got ${show(made)}.`)
  }

  #createIn(inner: SessionStore, document: SessionDocument): Promise<void> {
    const creating = inner.create(document)
    return this.#surroundings.data.isOwn ? creating : this.#unlessHanging('create() of the store', creating)
  }

  /** What is waited for outside of turns: within one, the driver reports who waits for what. */
  #unlessHanging<T>(what: string, promise: Promise<T>): Promise<T> {
    const { hangAfterMs: afterMs = defaultHangAfterMs } = this.#surroundings.options
    return unlessHanging(promise, {
      afterMs,
      progress: () => this.#surroundings.clock.monotonic(),
      report: () =>
        new ExpectationError(
          `${what} has not settled, and nothing has happened for ${afterMs} ms of real time. If it is only slow, raise the option hangAfterMs.`,
        ),
    })
  }

  #isGiven(provider: string): boolean {
    return this.#surroundings.options.providers?.some((given) => given.provider === provider) === true
  }
}

/** The models that summarize the memories of a flow: no step names them. */
function modelsOfPolicies({ compaction = {} }: FlowConstructor): readonly ModelSelection[] {
  return Object.values(compaction).flatMap((policy) => ('model' in policy ? policy.model : []))
}
