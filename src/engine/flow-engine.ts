/**
 * The engine: the object through which an application runs flows. It only delegates: `create-context.ts` makes its
 * parts, `turn/` runs a turn, `lock/cancel-turn.ts` cancels one, `sessions/` loads, lists and removes sessions, and
 * `close-engine.ts` closes it.
 */
import { ConfigManager, type ConfigReader } from '../config/config-manager.js'
import type { AnyFlowError } from '../errors/flow-error.js'
import type { FlowConstructor } from '../flow/flow.js'
import type { FlowRegistration } from '../flow/flow-registry.js'
import type { Model, ModelProviderAdapter, ResolvedModelSelection, RuntimeModel } from '../model/model-provider.js'
import type { FlowSession } from '../session/flow-session.js'
import type { SessionDocument } from '../session/session-document.js'
import type { SessionStore, SessionSummary } from '../session/session-store.js'
import { prepareStore } from '../stores/create-store.js'
import type { JsonValue } from '../util/json.js'
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
  FailedTurn,
  FlowEngineOptions,
  FlowRunInput,
  RunResponseType,
  SendEventInput,
  WakeResult,
} from './core/engine-options.js'
import { userText } from './core/error-text.js'
import type { FlowStream, StreamOptions } from './core/flow-stream.js'
import { createEngineContext } from './create-context.js'
import { checkEventName } from './event-names.js'
import { claimNamedSession } from './idempotency/claims.js'
import { cancelTurn } from './lock/cancel-turn.js'
import { Readiness } from './readiness.js'
import { eraseOwner } from './sessions/erase-owner.js'
import { getSession, getSummary } from './sessions/get-session.js'
import { listSessions } from './sessions/list-sessions.js'
import { executeDelete } from './sessions/remove-session.js'
import type { ListSessionsQuery, RemovedSessions, SweepOptions } from './sessions/session-options.js'
import { sweep } from './sessions/sweep.js'
import { TurnStream } from './stream/turn-stream.js'
import type { LateCode } from './turn/events/late-code.js'
import { executeTurn } from './turn/execute-turn.js'
import type * as Waiting from './waiting/index.js'
import { warnInProduction } from './warn-in-production.js'

const loadWaiting = (): Promise<LateCode & typeof Waiting> => import('./waiting/index.js')

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
  readonly #settings: ConfigReader
  readonly #readiness: Readiness
  #closed: Promise<void> | undefined

  /**
   * Makes an engine over the memory store or a given one. {@link FlowEngine.create} does the same, and also opens the
   * store that `SESSION_STORE` names.
   *
   * @throws `InvalidInputError`, `FlowRegistrationError` for invalid options, and for a `SESSION_STORE` that only
   * `create` can open
   */
  constructor(options: FlowEngineOptions = {}) {
    checkEngineOptions(options)
    this.#context = createEngineContext(options, loadWaiting)
    this.#settings = options.configManager ?? new ConfigManager()
    this.#readiness = new Readiness(this.#context)
    this.#context.models.registerProviders(options.providers ?? [], true)
    this.#context.models.registerModels(options.models ?? [], true)
    if (options.flows !== undefined) this.registerFlows(options.flows)
    this.#listenTo(this.#context.session.access.store)
  }

  /**
   * Makes an engine over the store that `SESSION_STORE` names, or a given one. Does not wait for a connection, because
   * a server that is down now may be up for the first turn.
   *
   * @throws `InvalidInputError`, `FlowRegistrationError` (rejects) for invalid options and settings, and for a store
   * whose package is not installed
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
   * Registers flows: a list, each under its `static id`, or a map whose keys equal those IDs. If one is invalid, none
   * is registered.
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
   * @throws `InvalidInputError` if the provider is not registered or a parameter is not supported
   */
  resolveModel(selection: ResolvedModelSelection): RuntimeModel {
    return this.#context.models.resolve(selection).model
  }

  /**
   * Checks a selection against the catalog and the registered providers.
   *
   * @throws `InvalidInputError` if the provider is not registered or a parameter is not supported.
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
    // JavaScript code need not follow the types, so the values are checked.
    const input = { flowName, userMessage, sessionId } as FlowRunInput
    const result = await executeTurn(this.#context, input, context)
    return result.response
  }

  /** Runs one user turn like {@link FlowEngine.run}, and also returns the error. Never rejects. */
  execute(input: FlowRunInput): Promise<ExecuteResult> {
    return executeTurn(this.#context, input)
  }

  /**
   * Runs one user turn like {@link FlowEngine.run}, and streams it while it runs: the text of the reply, the steps and
   * the tools. All pieces are provisional until the last one, which is `result` after the commit, or `error`. The turn
   * begins when the first piece is read, and waits for a slow reader, up to its deadline. Leaving the loop early aborts
   * the turn, and the session stays unchanged, unless the commit has begun. With an `idempotencyKey` the turn neither
   * waits for its reader nor ends with it, and another call with the same key can continue reading: see `onDisconnect`
   * and `lastEventId`.
   *
   * @param options - `onDisconnect`: what happens to the turn if its reader leaves; `lastEventId`: the last piece that
   * the reader has. A wrong option gives an `error` piece.
   * @returns the pieces, which can be read once; reading never rejects
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

  /**
   * Sends an event to a session: a decision, a webhook, a colleague's answer. The current step takes it, or else a step
   * that waits for a return, or a flow. It is a turn, after the turns that wait already. Never rejects.
   *
   * @returns as `execute`; with the error `EVENT_NOT_TAKEN` if nothing takes the event. Unless `sessionState` is then
   * `running`, sending it again is useless.
   * @example
   * ```ts
   * await engine.sendEvent({ sessionId, event: 'decision', payload: { approved: true }, by: 'Ada Meier' })
   * ```
   */
  sendEvent(input: SendEventInput): Promise<ExecuteResult> {
    const copy = copyOfEvent(input)
    return this.#waiting().then(({ sendEvent }) => sendEvent(this.#context, copy))
  }

  /**
   * Sends the events of a session whose timers are due, each in a separate turn. Call it at the times that the option
   * `schedule` receives. Calling it early, late, twice or in another process does no harm. Never rejects.
   */
  wake(named: { readonly sessionId: string }): Promise<WakeResult> {
    return this.#waiting().then(({ wake }) => wake(this.#context, named))
  }

  /** The session manager of this engine. The application may use its locks. */
  getFlowSession(): FlowSession {
    return this.#context.session
  }

  /**
   * Returns a stored session, frozen, for a page reload or for support; `undefined` if there is none.
   *
   * @param options - If given, returns only a session of this owner; without `owner`, only one that has none. Without
   * options returns any session, so never call it like that in a route.
   * @throws `InvalidInputError` (rejects) for invalid options; `SessionStoreError` if the store failed;
   * `SessionFlowInvariantError` if the document is malformed
   */
  getSession(
    sessionId: string,
    options?: { readonly owner?: string; readonly requestId?: string },
  ): Promise<SessionDocument | undefined> {
    return getSession(this.#context, sessionId, options)
  }

  /**
   * Returns a stored session as {@link FlowEngine.listSessions} shows it, for a page that asks whether there is more to
   * read; `undefined` if there is none. Reads less than {@link FlowEngine.getSession} if the store has `summary`, and
   * treats `options`, and errors, as that does.
   */
  getSummary(
    sessionId: string,
    options: { readonly owner?: string; readonly requestId?: string },
  ): Promise<SessionSummary | undefined> {
    return getSummary(this.#context, sessionId, options)
  }

  /**
   * Returns one page of the stored sessions, without their conversations. If the page has a `cursor`, pass it with the
   * same query for the next page. A page may have fewer sessions than `limit`, or even none, and still have a `cursor`.
   *
   * @returns the sessions, the number that could not be read (`unreadable`, absent if none), and the cursor of the next
   * page, absent on the last one
   * @throws `InvalidInputError` (rejects) for an invalid query, and if the store cannot list; `SessionStoreError` if
   * the store failed; `EngineClosedError` if the engine closes
   */
  listSessions(query: ListSessionsQuery = {}): Promise<{
    readonly sessions: readonly SessionSummary[]
    readonly unreadable?: number
    readonly cursor?: string
  }> {
    return listSessions(this.#context, query)
  }

  /**
   * Removes every stored session of an owner, each under its lock, and repeats the listing until it is empty, at most
   * ten times. Refuse the owner's requests first: a turn in another process may begin a session after the last listing.
   * `failed` counts the sessions that are left, and the owner's sessions that the store cannot read.
   *
   * @throws `InvalidInputError` (rejects) if the store cannot list; `SessionStoreError` or `EngineClosedError` if it
   * could not go on: call it again
   */
  eraseOwner(owner: string): Promise<RemovedSessions> {
    return eraseOwner(this.#context, owner)
  }

  /**
   * Removes the sessions whose last save is older than the given time, each under its lock, unless a turn saves the
   * session meanwhile.
   *
   * @throws `InvalidInputError` (rejects) for invalid options, and if the store cannot list; `SessionStoreError` or
   * `EngineClosedError` if it could not go on: call it again; any error of `onProgress`
   */
  sweep(options: SweepOptions): Promise<RemovedSessions> {
    return sweep(this.#context, options)
  }

  /** Removes a stored session for good. A missing one, or an empty ID, is a success. Never rejects. */
  async deleteSession(sessionId: string, options?: DeleteOptions): Promise<DeleteResult> {
    return (await this.executeDelete(sessionId, options)).result
  }

  /** Removes a stored session like {@link FlowEngine.deleteSession}, and also returns the error. Never rejects. */
  executeDelete(sessionId: string, options?: DeleteOptions): Promise<ExecuteDeleteResult> {
    return executeDelete(this.#context, sessionId, options)
  }

  /**
   * Cancels the running turn of a session in this process: the turn fails with `TURN_ABORTED`, and the session stays
   * unchanged. Resolves when the turn has settled: `true` if it was cancelled, `false` if there is none or its commit
   * has begun. Waiting turns are not affected. Never rejects.
   *
   * @param options - If given, cancels only a turn of this owner; without `owner`, only one that has none.
   */
  cancel(sessionId: string, options?: CancelOptions): Promise<boolean> {
    return cancelTurn(this.#context, sessionId, options)
  }

  /**
   * Emits `auth:refused`. Call it if you refuse requests in front of the engine; the HTTP adapters do. Never throws.
   *
   * @param refusal - The refused request and the reason; apart from its request ID it contains nothing that the client
   * wrote. `owner` and `flowName` (the principal and the registered name) belong to the reason `flow`.
   */
  reportRefused(refusal: Omit<EngineEventMap['auth:refused'], 'at'>): void {
    const { events, clock } = this.#context
    if (events.hasListeners('auth:refused')) events.emit('auth:refused', { ...refusal, at: clock.now() })
  }

  /**
   * The text for the client of a request that is refused in front of the engine, as the option `errorText` chooses it.
   * The HTTP adapters call it. An error whose message is not sent is logged. Never throws.
   */
  textOfRefusal(error: AnyFlowError, request: FailedTurn): string {
    return userText(this.#context, error, request)
  }

  /**
   * Logs a warning if the setting `NODE_ENV` is `production`. The HTTP adapters call it if they get no `authorize`.
   * Never throws.
   *
   * @param ofMemory - Added to the text if the engine has the memory store.
   */
  warnInProduction(text: string, ofMemory: string): void {
    warnInProduction(this.#context, this.#settings, [text, ofMemory])
  }

  /**
   * For a client that stores its session separately from its messages, as the chat adapters do: claims the named
   * session for the idempotency key of a message before it is sent.
   *
   * @returns the session that has already answered the message, in any process; otherwise the named one, which later
   * calls with the key return too
   * @throws `InvalidInputError` (rejects) for an invalid key; `SessionStoreError` if the store failed
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
   * Calls `listener` for each event of a name. If it throws or rejects, `onListenerError` receives the error.
   *
   * @returns This engine.
   * @throws `InvalidInputError` for an unknown event name, and for a listener that is not a function
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
   * Resolves when all summaries that outlive their turns have settled: stored, or failed. For tests and for a shutdown;
   * {@link FlowEngine.close} waits for them too.
   */
  settled(): Promise<void> {
    return this.#context.afterTurnTasks.settled()
  }

  /**
   * Whether the engine takes turns: it is not closing, and its store answers within `storeTimeoutMs`. Reads the store
   * at most once a second, however often it is called, and writes nothing.
   */
  isReady(): Promise<boolean> {
    return this.#readiness.isReady()
  }

  /**
   * Closes the engine. Turns that hold a lock, and summaries, may finish; waiting and new turns fail with
   * `ENGINE_CLOSED`. After `closeTimeoutMs` the remaining work is aborted, and the store is closed. A second call
   * returns the same promise.
   *
   * @throws `SessionStoreError` (rejects) if the store could not be closed
   */
  close(): Promise<void> {
    this.#closed ??= closeEngine(this.#context)
    return this.#closed
  }

  #waiting(): Promise<typeof Waiting> {
    return this.#context.loadWaiting() as Promise<typeof Waiting>
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

/** The caller may change its object while the code of events is loaded. What cannot be copied is refused later. */
function copyOfEvent(input: SendEventInput): SendEventInput {
  try {
    return { ...input, payload: structuredClone(input.payload) as JsonValue }
  } catch {
    return input
  }
}
