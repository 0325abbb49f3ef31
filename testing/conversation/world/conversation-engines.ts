/**
 * The engines of a conversation, one at a time, over the same data. Makes and closes them, and reads and writes the
 * stored data directly.
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
import { thrownFailure } from '../../expectations/failed-assertion.js'
import { isObject } from '../../expectations/value-kinds.js'
import { FakeSessionStore } from '../../fake-session-store/fake-session-store.js'
import type { ScriptedModel } from '../../scripted-model/scripted-model.js'
import { defaultHangAfterMs, unlessHanging } from '../../virtual-clock/hang-watch.js'
import type { VirtualClock } from '../../virtual-clock/virtual-clock.js'
import type { ConversationData, IdKind } from './conversation-data.js'
import type { EventLog } from './event-log.js'
import type { TurnDriver } from './turn-driver.js'
import { type ConversationWorldOptions, engineOptionsOf } from './world-options.js'

/** Replaces random numbers: each delay between two attempts is half of its maximum. */
export const fixedRandom: () => number = () => 0.5

/** An engine and the stores below it. */
export interface RunningEngine {
  readonly engine: FlowEngine
  readonly store: FakeSessionStore
  /** Below the faults and the journal: for reading what is stored. */
  readonly inner: SessionStore
}

/** The parts of an engine. */
export interface EngineSurroundings {
  readonly flow: FlowConstructor
  readonly options: ConversationWorldOptions
  readonly data: ConversationData
  readonly clock: VirtualClock
  readonly driver: TurnDriver
  readonly log: EventLog
  readonly model: ScriptedModel
  /** The line of the test that made the conversation. */
  readonly made: CallPlace
  newId(kind: IdKind): string
}

/** The engines of one conversation. */
export class ConversationEngines {
  readonly #surroundings: EngineSurroundings
  #running: Promise<RunningEngine> | undefined
  #current: RunningEngine | undefined
  #hasEnded = false
  /** The session stored before the first engine; `undefined` if there is none. */
  #beginning: SessionDocument | undefined
  /** What the first failing listener threw; `undefined` if the test has its own `onListenerError`. */
  #listenerError: ExpectationError | undefined
  /** The first fault that never struck in a replaced store. */
  #unusedFault: ExpectationError | undefined
  /** The store of a killed process; its outage is not a fault of the test. */
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

  /** The stored session, read without the journal and the faults. */
  async load(sessionId: string): Promise<SessionDocument | undefined> {
    if (sessionId === '') return undefined
    const { inner } = await this.open()
    if (this.#hasEnded) return this.#loadAfterEnd(sessionId)
    const loading = inner.load(sessionId)
    return this.#surroundings.data.isOwn ? loading : this.#unlessHanging('load() of the store', loading)
  }

  /** The error for a message that was still running at the end. */
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

  /** Closes the engine, even one that is still being made; the next use makes another one over the same data. */
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

  /** Closes the engine for good: a running message finds it closed, and gets no new one. */
  end(): Promise<void> {
    this.#hasEnded = true
    const running = this.#running
    const closing = this.stop()
    this.#running = running
    return closing
  }

  /** Fails if a listener of an engine threw, or rejected. */
  assertListeners(): void {
    if (this.#listenerError !== undefined) throw this.#listenerError
  }

  /** Fails for a fault that never struck, including faults of stores before a restart. Called after the end. */
  assertFaultsUsed(): void {
    if (this.#unusedFault !== undefined) throw this.#unusedFault
  }

  /**
   * Kills the process. Records now whether the faults of its store struck, because the outage itself is not a fault of
   * the test.
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
    // The conversation ended meanwhile: nothing may run in this engine, and only this code closes it.
    if (this.#hasEnded) await engine.close()
    return running
  }

  /** Adds the line that made the conversation to errors about options, and about the flow. */
  async #makeEngine(store: FakeSessionStore): Promise<FlowEngine> {
    const { flow, options: given, clock, log, made, newId } = this.#surroundings
    const { providers = [], models = [], ...options } = engineOptionsOf(given)
    try {
      return new FlowEngine({
        random: fixedRandom,
        // `Conversation.advance` wakes the session.
        schedule: () => undefined,
        onListenerError: (error, event) => {
          this.#listenerError ??= thrownFailure(`A listener of '${event}' failed`, error)
        },
        ...options,
        generateId: newId,
        flows: [flow],
        providers: providers.map((provider) => log.watchProvider(provider)),
        // The parameters are still checked; the script answers.
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

  /** Waits outside of turns. Within a turn, the driver reports what hangs. */
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
export function modelsOfPolicies({ compaction = {} }: FlowConstructor): readonly ModelSelection[] {
  return Object.values(compaction).flatMap((policy) => ('model' in policy ? policy.model : []))
}
