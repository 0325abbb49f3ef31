/**
 * The one runtime object an application holds: it owns the registries, the sessions and the events, and hands the work
 * to the modules beside it.
 */
import { setDeadline, systemClock } from '../config/clock.js'
import { ConfigManager } from '../config/config-manager.js'
import { EngineClosedError, invalidInput, TurnAbortedError, TurnTimeoutError } from '../errors/engine-errors.js'
import { type FlowConstructor, type FlowRegistration, FlowRegistry } from '../flow/flow-registry.js'
import type { FlowServices } from '../flow/turn.js'
import type { Model, ModelProviderAdapter, ResolvedModelSelection, RuntimeModel } from '../model/model-provider.js'
import { ModelRegistry } from '../model/model-registry.js'
import { FlowSession, type LockWait } from '../session/flow-session.js'
import type { SessionDocument } from '../session/session-document.js'
import type { SessionStore } from '../session/session-store.js'
import { StoreAccess, writeAttempts } from '../session/store-access.js'
import { checkStore, createStore, prepareStore } from '../stores/create-store.js'
import { deepFreeze } from '../util/json.js'
import type { EngineContext } from './engine-context.js'
import { type EngineEventName, EngineEvents, type EngineListener } from './engine-events.js'
import { type EngineLimits, limitExceeded, resolveLimits } from './engine-limits.js'
import type {
  DeleteOptions,
  DeleteResult,
  ExecuteDeleteResult,
  ExecuteResult,
  FlowEngineOptions,
  FlowRunInput,
  RunResponseType,
} from './engine-options.js'
import { asFlowError } from './error-text.js'
import { createGenerateId } from './generate-id.js'
import { type CheckedInput, checkConfig, checkSessionId, checkTurnInput, isSessionId } from './input/check-input.js'
import { resolveModelOptions } from './model-call/model-options.js'
import { removeSession } from './remove-session.js'
import type { FlowStream } from './turn/flow-stream.js'
import { deleteFailure, deleteSuccess, failureEnvelope } from './turn/run-envelope.js'
import { runTurn } from './turn/run-turn.js'
import { TurnControl } from './turn/turn-control.js'
import { TurnStream } from './turn/turn-stream.js'

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
  #closed: Promise<void> | undefined

  /**
   * Makes an engine over the memory store or a given one. {@link FlowEngine.create} does the same, and prepares any
   * store that `SESSION_STORE` names.
   *
   * @throws `InvalidInputError`, `FlowRegistrationError` for options that cannot be used, and for a `SESSION_STORE` that
   * must be prepared.
   */
  constructor(options: FlowEngineOptions = {}) {
    const clock = options.clock ?? systemClock
    const limits = resolveLimits(options.limits)
    const store = checkStore(options.sessionStore) ?? createStore(options.configManager ?? new ConfigManager(), clock)
    const unknownSession = options.unknownSession ?? 'new'
    if (unknownSession !== 'new' && unknownSession !== 'reject') {
      throw invalidInput("The engine option unknownSession must be 'new' or 'reject'.")
    }
    this.#context = {
      clock,
      limits,
      generateId: createGenerateId(options.generateId),
      events: new EngineEvents(options.onListenerError ?? reportToConsole),
      flows: new FlowRegistry(),
      models: new ModelRegistry(),
      session: new FlowSession(new StoreAccess({ store, clock, storeTimeoutMs: limits.storeTimeoutMs })),
      services: options.services ?? ({} as FlowServices),
      logger: options.logger ?? console,
      ...resolveModelOptions(options),
      unknownSession,
      turns: new Set<TurnControl>(),
    }
    this.#context.models.registerProviders(options.providers ?? [], true)
    this.#context.models.registerModels(options.models ?? [], true)
    if (options.flows !== undefined) this.registerFlows(options.flows)
    this.#listenTo(store)
  }

  /**
   * Makes an engine over the store that `SESSION_STORE` names, or a given one. Does not wait for a connection: a server
   * that is down now may be up for the first turn.
   *
   * @throws `InvalidInputError`, `FlowRegistrationError` (rejects) for options and settings that cannot be used, and for
   * a store whose package is not installed.
   */
  static async create(options: FlowEngineOptions = {}): Promise<FlowEngine> {
    const prepared = options.sessionStore ?? (await prepareStore(options.configManager ?? new ConfigManager()))
    return new FlowEngine(prepared === undefined ? options : { ...options, sessionStore: prepared })
  }

  /** The limits in force. */
  get limits(): EngineLimits {
    return this.#context.limits
  }

  /**
   * Registers flows: a list, each under its `static id`, or a map whose keys equal those IDs. A batch with a fault in
   * it registers nothing.
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
   * @param replace - Whether one of the same name is replaced. Default: the one in place stays.
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
   * @param replace - Whether one of the same provider and name is replaced. Default: the one in place stays.
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
  async run(input: FlowRunInput): Promise<RunResponseType> {
    return (await this.execute(input)).response
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
    const result = await this.#execute(
      () => sessionId,
      (checkedId) => checkTurnInput({ flowName, userMessage, sessionId: checkedId, context }, this.#context.limits),
    )
    return result.response
  }

  /** Runs one user turn like {@link FlowEngine.run}, and tells the error. Never rejects. */
  execute(input: FlowRunInput): Promise<ExecuteResult> {
    return this.#run(input, undefined)
  }

  /**
   * Runs one user turn like {@link FlowEngine.run}, and tells it piece by piece while it runs: the text of the reply, the
   * steps and tools. All of it is provisional until the last piece, which is `result` after the commit, or `error`.
   * The turn begins when the first piece is asked for, and waits for a slow reader, up to its deadline. Leaving the loop
   * early aborts it; the session stays as it was, unless the commit has begun.
   *
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
  stream(input: FlowRunInput): FlowStream {
    return new TurnStream((stream) => this.#run(input, stream))
  }

  /** The sessions of this engine: their lock is the application's to use. */
  getFlowSession(): FlowSession {
    return this.#context.session
  }

  /**
   * A frozen copy of a stored session, for a page reload and for support; `undefined` where there is none.
   *
   * @throws `SessionStoreError` where the store failed, `SessionFlowInvariantError` where the document is malformed.
   */
  async getSession(sessionId: string): Promise<SessionDocument | undefined> {
    if (typeof sessionId !== 'string' || !isSessionId(sessionId)) return undefined
    const document = await this.#context.session.access.load(sessionId)
    return document === undefined ? undefined : deepFreeze(document)
  }

  /** Removes a stored session for good. A missing one, or an empty ID, is a success. Never rejects. */
  async deleteSession(sessionId: string, options?: DeleteOptions): Promise<DeleteResult> {
    return (await this.executeDelete(sessionId, options)).result
  }

  /** Removes a stored session like {@link FlowEngine.deleteSession}, and tells the error. Never rejects. */
  async executeDelete(sessionId: string, options?: DeleteOptions): Promise<ExecuteDeleteResult> {
    if (sessionId === '') return deleteSuccess('')
    try {
      const { session, events, clock } = this.#context
      const checkedId = checkSessionId(sessionId ?? null) as string
      const removed = await session.hold(
        checkedId,
        () => removeSession(session.access, checkedId, options),
        () => this.#deleteWait(),
      )
      if (removed && events.has('session:deleted')) events.emit('session:deleted', { sessionId, at: clock.now() })
      return deleteSuccess(sessionId)
    } catch (error) {
      return deleteFailure(typeof sessionId === 'string' && isSessionId(sessionId) ? sessionId : '', asFlowError(error))
    }
  }

  /** @deprecated Use {@link FlowEngine.deleteSession}. */
  endChat(sessionId: string): Promise<DeleteResult> {
    return this.deleteSession(sessionId)
  }

  /**
   * Calls `listener` at each event of a name. What it throws or rejects with goes to `onListenerError`.
   *
   * @returns This engine.
   */
  on<Name extends EngineEventName>(name: Name, listener: EngineListener<Name>): this {
    this.#context.events.on(name, listener)
    return this
  }

  /** Calls `listener` at the next event of a name, and not again. */
  once<Name extends EngineEventName>(name: Name, listener: EngineListener<Name>): this {
    this.#context.events.once(name, listener)
    return this
  }

  /** Takes a listener back. */
  off<Name extends EngineEventName>(name: Name, listener: EngineListener<Name>): this {
    this.#context.events.off(name, listener)
    return this
  }

  /**
   * Closes the engine: turns that hold a lock finish, waiting and new ones fail with `ENGINE_CLOSED`, after
   * `closeTimeoutMs` what still runs is aborted, and the store is closed. A second call returns the first one's promise.
   *
   * @throws `SessionStoreError` (rejects) where the store could not be closed.
   */
  close(): Promise<void> {
    this.#closed ??= this.#close()
    return this.#closed
  }

  async #close(): Promise<void> {
    const { session, limits, turns } = this.#context
    await this.#atMost(limits.closeTimeoutMs, session.close())
    for (const control of turns) control.abort(new EngineClosedError())
    // Those given up settle at once; a commit under way has deadlines of its own.
    await this.#atMost(limits.storeTimeoutMs * writeAttempts, Promise.all(Array.from(turns, settlementOf)))
    await session.access.close()
  }

  async #atMost(ms: number, work: Promise<unknown>): Promise<void> {
    let cancel!: () => void
    const timeout = new Promise<void>((resolve) => {
      cancel = setDeadline(this.#context.clock, ms, resolve)
    })
    await Promise.race([work, timeout])
    cancel()
  }

  #listenTo(store: SessionStore): void {
    const { events, clock } = this.#context
    store.onEvicted?.((sessionId) => events.emit('session:evicted', { sessionId, at: clock.now() }))
    store.onUnderReplicated?.((report) => {
      const { sessionId, replicas, wanted } = report
      events.emit('session:under-replicated', { sessionId, replicas, wanted, at: clock.now() })
    })
  }

  #run(input: FlowRunInput, stream: TurnStream | undefined): Promise<ExecuteResult> {
    const { limits } = this.#context
    return this.#execute(
      () => input.sessionId,
      (sessionId) => {
        const { flowName, userMessage, attachments, signal, owner, serverContext } = input
        const config = checkConfig(input.config, limits)
        const context = config === undefined ? undefined : { config }
        const unchecked = { flowName, userMessage, attachments, sessionId, context, signal, owner, serverContext }
        const checked = checkTurnInput(unchecked, limits)
        if (stream === undefined) return checked
        stream.followSignal(checked.signal)
        return { ...checked, signal: stream.signal }
      },
      stream,
    )
  }

  /** The first two are called inside the guard: a caller's own object may throw where it is read. */
  async #execute(
    readSessionId: () => unknown,
    check: (sessionId: string | undefined) => CheckedInput,
    stream?: TurnStream,
  ): Promise<ExecuteResult> {
    let givenId = ''
    try {
      const sessionId = checkSessionId(readSessionId())
      givenId = sessionId ?? ''
      const input = check(sessionId)
      if (input.signal?.aborted === true) throw new TurnAbortedError({ cause: input.signal.reason })
      const control = new TurnControl(this.#context, input.flowName, givenId, stream)
      return await this.#context.session.hold(
        sessionId,
        () => runTurn(control, input),
        () => this.#turnWait(control, input),
        control,
      )
    } catch (error) {
      return failureEnvelope(givenId, asFlowError(error))
    }
  }

  #turnWait(control: TurnControl, { signal }: CheckedInput): LockWait {
    const { limits } = this.#context
    return {
      ...this.#deleteWait(),
      holder: 'turn',
      turnId: control.turnId,
      counted: true,
      signal,
      onAbort: () => new TurnAbortedError({ cause: signal?.reason }),
      onBlocked: (queued) => {
        if (queued < limits.maxQueuedTurnsPerSession) return control.report('turn:queued', { queued })
        throw limitExceeded(limits, 'maxQueuedTurnsPerSession', 'The number of turns that wait for this session')
      },
    }
  }

  #deleteWait(): LockWait {
    const { clock, limits } = this.#context
    return {
      holder: 'delete',
      counted: false,
      atDeadline: (abort) =>
        setDeadline(clock, limits.turnTimeoutMs, () =>
          abort(new TurnTimeoutError({ timeoutMs: limits.turnTimeoutMs, phase: 'lock' })),
        ),
    }
  }
}

function settlementOf(control: TurnControl): Promise<void> {
  return new Promise((resolve) => {
    control.onSettled = resolve
  })
}

function reportToConsole(error: unknown, event: string): void {
  console.error(`A listener of '${event}' failed.`, error)
}
