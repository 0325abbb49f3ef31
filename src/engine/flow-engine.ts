/**
 * The engine: the object through which an application runs flows. It only delegates: `engine-context.ts` makes what it
 * is made of, `execute-turn.ts` runs a turn, `cancel-turn.ts` cancels one, `get-session.ts` and `remove-session.ts`
 * load and remove a session, `sessions/` lists and removes many, `close-engine.ts` closes it.
 */
import { ConfigManager } from '../config/config-manager.js'
import type { FlowConstructor, FlowRegistration } from '../flow/flow-registry.js'
import type { Model, ModelProviderAdapter, ResolvedModelSelection, RuntimeModel } from '../model/model-provider.js'
import type { FlowSession } from '../session/flow-session.js'
import type { SessionDocument } from '../session/session-document.js'
import type { SessionStore, SessionSummary } from '../session/session-store.js'
import { prepareStore } from '../stores/create-store.js'
import { checkEngineOptions } from './check-engine-options.js'
import { closeEngine } from './close-engine.js'
import type { EngineContext } from './core/engine-context.js'
import type { EngineEventMap } from './core/engine-events.js'
import type { EngineLimits } from './core/engine-limits.js'
import type {
  CancelOptions,
  DeleteOptions,
  DeleteResult,
  ExecuteDeleteResult,
  ExecuteResult,
  FlowEngineOptions,
  FlowRunInput,
  RunResponseType,
} from './core/engine-options.js'
import type { FlowStream, StreamOptions } from './core/flow-stream.js'
import { createEngineContext } from './create-context.js'
import { checkEventName } from './event-names.js'
import { claimNamedSession } from './idempotency/claims.js'
import { cancelTurn } from './lock/cancel-turn.js'
import { Readiness } from './readiness.js'
import { eraseOwner } from './sessions/erase-owner.js'
import { getSession } from './sessions/get-session.js'
import { listSessions } from './sessions/list-sessions.js'
import { executeDelete } from './sessions/remove-session.js'
import type { ListSessionsQuery, RemovedSessions, SweepOptions } from './sessions/session-options.js'
import { sweep } from './sessions/sweep.js'
import { TurnStream } from './stream/turn-stream.js'
import { executeTurn } from './turn/execute-turn.js'

/**
 * Runs registered flows, one user turn at a time, over durable sessions.
 *
 * @example
 * ```ts
 * const engine = await FlowEngine.create({ flows: [Onboarding] })
 * const first = await engine.run({ flowName: 'Onboarding', userMessage: 'Hello' })
 * const second = await engine.run({ flowName: 'Onboarding', userMessage: 'Ada Lovelace', sessionId: first.session })
 * await engine.close()
 * ```
 */
export class FlowEngine {
  readonly #context: EngineContext
  readonly #readiness: Readiness
  #closed: Promise<void> | undefined

  /**
   * Makes an engine over the memory store or a given one. {@link FlowEngine.create} does the same, and prepares any
   * store that `SESSION_STORE` names.
   *
   * @throws `InvalidInputError`, `FlowRegistrationError` for options that cannot be used, and for a
   * `SESSION_STORE` that must be prepared.
   */
  constructor(options: FlowEngineOptions = {}) {
    checkEngineOptions(options)
    this.#context = createEngineContext(options)
    this.#readiness = new Readiness(this.#context)
    this.#context.models.registerProviders(options.providers ?? [], true)
    this.#context.models.registerModels(options.models ?? [], true)
    if (options.flows !== undefined) this.registerFlows(options.flows)
    this.#listenTo(this.#context.session.access.store)
  }

  /**
   * Makes an engine over the store that `SESSION_STORE` names, or a given one. Does not wait for a connection: a server
   * that is down now may be up for the first turn.
   *
   * @throws `InvalidInputError`, `FlowRegistrationError` (rejects) for options and settings that cannot be used, and
   * for a store whose package is not installed.
   */
  static async create(options: FlowEngineOptions = {}): Promise<FlowEngine> {
    checkEngineOptions(options)
    const prepared = options.sessionStore ?? (await prepareStore(options.configManager ?? new ConfigManager()))
    return new FlowEngine(prepared === undefined ? options : { ...options, sessionStore: prepared })
  }

  /** The limits in force. */
  get limits(): EngineLimits {
    return this.#context.limits
  }

  /**
   * Registers flows: a list, each under its `static id`, or a map whose keys equal those IDs. If one of them cannot be
   * registered, none is.
   *
   * @returns This engine.
   * @throws `FlowRegistrationError`
   */
  registerFlows(flowSpecs: FlowRegistration): this {
    this.#context.flows.register(flowSpecs)
    return this
  }

  /** Registers one flow, as {@link FlowEngine.registerFlows} does. */
  registerFlow(flow: FlowConstructor): this {
    return this.registerFlows([flow])
  }

  /** The class registered under a name. */
  getFlow(flowName: string): FlowConstructor | undefined {
    return this.#context.flows.get(flowName)
  }

  /** Every registered name, in the order of registration. */
  getFlowNames(): string[] {
    return this.#context.flows.names()
  }

  /**
   * Registers model providers.
   *
   * @param replace - Whether a provider of the same name is replaced. Default: it stays.
   */
  registerProviders(providers: readonly ModelProviderAdapter[], replace = false): this {
    this.#context.models.registerProviders(providers, replace)
    return this
  }

  /** Registers one provider, as {@link FlowEngine.registerProviders} does. */
  registerProvider(provider: ModelProviderAdapter, replace = false): this {
    return this.registerProviders([provider], replace)
  }

  /**
   * Registers entries of the model catalog.
   *
   * @param replace - Whether a model of the same provider and name is replaced. Default: it stays.
   * @throws `FlowRegistrationError` for a parameter schema that validates asynchronously.
   */
  registerModels(models: readonly Model[], replace = false): this {
    this.#context.models.registerModels(models, replace)
    return this
  }

  /** Registers one model, as {@link FlowEngine.registerModels} does. */
  registerModel(model: Model, replace = false): this {
    return this.registerModels([model], replace)
  }

  /**
   * Makes the model of a selection.
   *
   * @throws `InvalidInputError` where the provider is not registered or a parameter is not supported.
   */
  resolveModel(selection: ResolvedModelSelection): RuntimeModel {
    return this.#context.models.resolve(selection).model
  }

  /**
   * Checks a selection against the catalog and the registered providers.
   *
   * @throws `InvalidInputError` where the provider is not registered or a parameter is not supported.
   */
  validateModel(selection: ResolvedModelSelection): void {
    this.#context.models.validate(selection)
  }

  /** Runs one user turn. Never rejects: a failure is an envelope with `success: false`. */
  run(input: FlowRunInput): Promise<RunResponseType> {
    return this.execute(input).then(({ response }) => response)
  }

  /**
   * Runs one user turn under the session's lock. Never rejects.
   *
   * @param context - Added to the flow context of a new session.
   */
  async runFlow(
    flowName: string,
    userMessage: string,
    sessionId?: string,
    context?: Readonly<Record<string, unknown>>,
  ): Promise<RunResponseType> {
    // The types are the caller's promise. What was passed is checked.
    const input = { flowName, userMessage, sessionId } as FlowRunInput
    const result = await executeTurn(this.#context, input, context)
    return result.response
  }

  /** Runs one user turn like {@link FlowEngine.run}, and returns the error too. Never rejects. */
  execute(input: FlowRunInput): Promise<ExecuteResult> {
    return executeTurn(this.#context, input)
  }

  /**
   * Runs one user turn like {@link FlowEngine.run}, and streams it piece by piece while it runs: the text of the reply,
   * the steps and tools. All pieces are provisional until the last one, which is `result` after the commit, or `error`.
   * The turn begins when the first piece is read, and waits for a slow reader, up to its deadline. Leaving the loop
   * early aborts it; the session stays as it was, unless the commit has begun. With an `idempotencyKey` the turn
   * neither waits for its reader nor ends with it, and another call with the same key goes on reading: see
   * `onDisconnect` and `lastEventId`.
   *
   * @param options - `onDisconnect`: what becomes of the turn when its reader leaves; `lastEventId`: the last piece
   * that the reader has. A wrong option is an `error` piece.
   * @returns The pieces, to be read once. Reading never rejects.
   * @example
   * ```ts
   * for await (const event of engine.stream({ flowName: 'SupportDesk', userMessage: 'Where is my order?' })) {
   *   if (event.type === 'text-delta') process.stdout.write(event.text)
   *   if (event.type === 'reset') console.log('\\n[again]')
   *   if (event.type === 'result') console.log(event.response.session)
   * }
   * ```
   */
  stream(input: FlowRunInput, options?: StreamOptions): FlowStream {
    return new TurnStream((stream) => executeTurn(this.#context, input, undefined, stream), options)
  }

  /** The sessions of this engine. The application may use their locks. */
  getFlowSession(): FlowSession {
    return this.#context.session
  }

  /**
   * A stored session, frozen, for a page reload and for support; `undefined` where there is none.
   *
   * @param options - Where given, only a session of this owner is returned; without an `owner`, only one that has none.
   * Without options any session is: that is the application's own, and not for a route.
   * @throws `InvalidInputError` (rejects) for options that cannot be used; `SessionStoreError` where the store failed,
   * `SessionFlowInvariantError` where the document is malformed.
   */
  getSession(
    sessionId: string,
    options?: { readonly owner?: string; readonly requestId?: string },
  ): Promise<SessionDocument | undefined> {
    return getSession(this.#context, sessionId, options)
  }

  /**
   * One page of the stored sessions, without anything that was said in them. A page may have fewer sessions than
   * `limit`, and even none, while there is a `cursor`: pass it for the next page, with the same query.
   *
   * @returns The sessions, how many could not be read (`unreadable`, absent where there is none), and the cursor of the
   * next page, which is absent after the last one.
   * @throws `InvalidInputError` (rejects) for a query that cannot be used, and where the store cannot list;
   * `SessionStoreError` where the store failed, `EngineClosedError` where the engine closes.
   */
  listSessions(query: ListSessionsQuery = {}): Promise<{
    readonly sessions: readonly SessionSummary[]
    readonly unreadable?: number
    readonly cursor?: string
  }> {
    return listSessions(this.#context, query)
  }

  /**
   * Removes every stored session of an owner, each under its lock, and lists them again until there is none. Refuse the
   * owner's requests before: a turn that runs meanwhile in another process may begin a session after the last listing.
   * Sessions that the store cannot read stay, and `failed` counts those that it knows to be the owner's.
   *
   * @throws `InvalidInputError` (rejects) where the store cannot list; `SessionStoreError`, `EngineClosedError` where
   * it could not go on: call it again.
   */
  eraseOwner(owner: string): Promise<RemovedSessions> {
    return eraseOwner(this.#context, owner)
  }

  /**
   * Removes the sessions whose last save is longer ago than that, each under its lock, unless a
   * turn saved it meanwhile.
   *
   * @throws `InvalidInputError` (rejects) for options that cannot be used, and where the store cannot list;
   * `SessionStoreError`, `EngineClosedError` where it could not go on: call it again. And what `onProgress` throws.
   */
  sweep(options: SweepOptions): Promise<RemovedSessions> {
    return sweep(this.#context, options)
  }

  /** Removes a stored session for good. A missing one, or an empty ID, is a success. Never rejects. */
  async deleteSession(sessionId: string, options?: DeleteOptions): Promise<DeleteResult> {
    return (await this.executeDelete(sessionId, options)).result
  }

  /** Removes a stored session like {@link FlowEngine.deleteSession}, and returns the error too. Never rejects. */
  executeDelete(sessionId: string, options?: DeleteOptions): Promise<ExecuteDeleteResult> {
    return executeDelete(this.#context, sessionId, options)
  }

  /**
   * Cancels the turn of a session that is under way in this process: it fails with `TURN_ABORTED`, and leaves the
   * session as it was. Resolves when that turn is settled: `true` if it was cancelled; `false` if there is none, or its
   * commit has begun. Turns that wait are not touched. Never rejects.
   *
   * @param options - Where given, only a turn of this owner is cancelled; without an `owner`, only one that has none.
   */
  cancel(sessionId: string, options?: CancelOptions): Promise<boolean> {
    return cancelTurn(this.#context, sessionId, options)
  }

  /**
   * Emits `auth:refused`. For what refuses requests in front of the engine: the HTTP adapters call it. Never throws.
   *
   * @param refusal - What was refused, and why; it has nothing that the client wrote but its request ID. `owner` and
   * `flowName`, the principal and the registered name, are for the reason `flow`.
   */
  reportRefused(refusal: Omit<EngineEventMap['auth:refused'], 'at'>): void {
    const { events, clock } = this.#context
    if (events.hasListeners('auth:refused')) events.emit('auth:refused', { ...refusal, at: clock.now() })
  }

  /**
   * For a client that keeps its session apart from its messages, as the chats do: claims the named session for the
   * idempotency key of a message that is about to be sent to it.
   *
   * @returns The session that has answered the message before, in whatever process; else the named one, which later
   * calls with the key return from now on.
   * @throws `InvalidInputError` (rejects) for a key that cannot be used, `SessionStoreError` where the store failed.
   */
  claimSession(named: {
    readonly flowName: string
    readonly owner: string
    readonly idempotencyKey: string
    readonly sessionId: string
  }): Promise<string> {
    return claimNamedSession(this.#context, named)
  }

  /** @deprecated Use {@link FlowEngine.deleteSession}. */
  endChat(sessionId: string): Promise<DeleteResult> {
    return this.deleteSession(sessionId)
  }

  /**
   * Calls `listener` for each event of a name. What it throws or rejects with is passed to `onListenerError`.
   *
   * @returns This engine.
   * @throws `InvalidInputError` for a name that no event has, and a listener that is not a function.
   */
  on<Name extends keyof EngineEventMap>(
    name: Name,
    listener: (payload: Readonly<EngineEventMap[Name]>) => unknown,
  ): this {
    checkEventName(name)
    this.#context.events.on(name, listener)
    return this
  }

  /** Calls `listener` for the next event of a name, and not again. */
  once<Name extends keyof EngineEventMap>(
    name: Name,
    listener: (payload: Readonly<EngineEventMap[Name]>) => unknown,
  ): this {
    checkEventName(name)
    this.#context.events.once(name, listener)
    return this
  }

  /** Removes a listener. */
  off<Name extends keyof EngineEventMap>(
    name: Name,
    listener: (payload: Readonly<EngineEventMap[Name]>) => unknown,
  ): this {
    checkEventName(name)
    this.#context.events.off(name, listener)
    return this
  }

  /**
   * Resolves when the work that turns have left behind, summaries, is settled: stored, or failed. For tests and for a
   * shutdown; {@link FlowEngine.close} waits for it as well.
   */
  settled(): Promise<void> {
    return this.#context.afterTurnTasks.settled()
  }

  /**
   * Whether the engine takes turns: it does not close, and its store answers within `storeTimeoutMs`. The store is
   * asked at most once in a second, however often this is called, and nothing is written.
   */
  isReady(): Promise<boolean> {
    return this.#readiness.isReady()
  }

  /**
   * Closes the engine: turns that hold a lock and summaries finish, waiting and new turns fail with `ENGINE_CLOSED`,
   * after `closeTimeoutMs` what still runs is aborted, and the store is closed. A second call returns
   * the first one's promise.
   *
   * @throws `SessionStoreError` (rejects) where the store could not be closed.
   */
  close(): Promise<void> {
    this.#closed ??= closeEngine(this.#context)
    return this.#closed
  }

  #listenTo(store: SessionStore): void {
    const { events, clock } = this.#context
    store.onEvicted?.((sessionId) => events.emit('session:evicted', { sessionId, at: clock.now() }))
    store.onUnderReplicated?.((report) => {
      const { sessionId, replicas, wanted } = report
      events.emit('session:under-replicated', { sessionId, replicas, wanted, at: clock.now() })
    })
  }
}
