/**
 * Flows: the steps of one kind of conversation, and what they share. The engine creates a flow object for each turn.
 */

import type { BudgetExceededError, ModelError } from '../errors/engine-errors.js'
import type { AnyFlowError } from '../errors/flow-error.js'
import type { ModelBudgets } from '../model/model-budget.js'
import type { ModelChoice } from '../model/model-provider.js'
import type { SessionDocument } from '../session/session-document.js'
import { deepFreeze, defineOwn, type JsonObject } from '../util/json.js'
import type { Awaitable, StepConstructor } from './base-step.js'
import type { FlowCompaction } from './compaction.js'
import type { FlowEvent } from './event.js'
import type { Tool } from './tool.js'
import type { Transition } from './transition.js'
import type { FlowServices, ModelBlockedDetails, Turn } from './turn.js'

/** What the engine attaches to a flow object. @internal */
export interface FlowRuntime {
  readonly services: FlowServices
  readonly clock: { now(): number }
}

/** A class of flows: constructible with no arguments. */
export interface FlowConstructor {
  new (): Flow
  /** The registered name. Default: the class name. */
  readonly id: string
  /** Former names. */
  readonly aliases: readonly string[]
  /** The version of the flow, stored with each session: a whole number from 1. */
  readonly version: number
  /** What happens to a session after a failed turn. Default: the engine option. */
  readonly onTurnError: 'abort' | 'rollback' | undefined
  /** What happens to a message that arrives while a turn of its session is running. Default: the engine option. */
  readonly busy: 'queue' | 'reject' | 'interrupt' | undefined
  /** What happens to sessions of an older version that have not been migrated. */
  readonly outdated: 'refuse' | 'restart' | undefined
  /** Migrates a session of an older version to this version. */
  readonly migrate?: ((document: SessionDocument, from: number) => Awaitable<SessionDocument | null>) | undefined
  /** How memories are kept short, by namespace. */
  readonly compaction: FlowCompaction
}

/**
 * The base of every flow.
 *
 * @example
 * ```ts
 * class Onboarding extends Flow {
 *   static override readonly id = 'Onboarding'
 *   override model() { return { provider: 'openai', name: 'gpt-5-mini' } }
 *   override steps() { return [AskName, Confirm] }
 * }
 * ```
 */
export abstract class Flow {
  #runtime: FlowRuntime | undefined
  /** The flow that lists this one among its steps; `undefined` for the flow of a session. */
  #outer: Flow | undefined
  #context: Readonly<Record<string, unknown>> = {}

  /**
   * The name under which the flow is registered and its sessions are stored. Default: the class name. Set it
   * explicitly: minifiers rename classes.
   */
  static get id(): string {
    return this.name
  }

  /**
   * Code compiled to a target below ES2022 assigns static members; the assignment must define an own property.
   */
  static set id(id: string) {
    defineOwn(this, 'id', id)
  }

  /** Former names: sessions stored under one of them belong to this flow. Default: none. */
  static get aliases(): readonly string[] {
    return []
  }

  static set aliases(aliases: readonly string[]) {
    defineOwn(this, 'aliases', aliases)
  }

  /**
   * The flow's version, stored with every session: a whole number from 1. Raise it if sessions of the previous release
   * need {@link Flow.migrate} or cannot continue. A session of a newer version is refused and not changed. Default: 1.
   */
  static get version(): number {
    return 1
  }

  static set version(version: number) {
    defineOwn(this, 'version', version)
  }

  /**
   * What happens to a session of this flow after a failed turn: `'abort'` or `'rollback'`, as in the engine option
   * `onTurnError`. Default: the engine option.
   */
  static get onTurnError(): 'abort' | 'rollback' | undefined {
    return undefined
  }

  static set onTurnError(onTurnError: 'abort' | 'rollback' | undefined) {
    defineOwn(this, 'onTurnError', onTurnError)
  }

  /**
   * What happens to a message that arrives while a turn of its session is running: `'queue'`, `'reject'` or
   * `'interrupt'`, as in the engine option `busy`. Default: the engine option.
   */
  static get busy(): 'queue' | 'reject' | 'interrupt' | undefined {
    return undefined
  }

  static set busy(busy: 'queue' | 'reject' | 'interrupt' | undefined) {
    defineOwn(this, 'busy', busy)
  }

  /**
   * What happens to a session of an older version that neither {@link Flow.migrate} nor `onRestore` has updated:
   * `refuse` fails the turn and leaves the session as it is, `restart` starts a new session. Default: the engine option
   * `outdated`.
   */
  static get outdated(): 'refuse' | 'restart' | undefined {
    return undefined
  }

  static set outdated(outdated: 'refuse' | 'restart' | undefined) {
    defineOwn(this, 'outdated', outdated)
  }

  /**
   * Migrates a session stored by an older version to this version. It receives a copy and returns the changed document,
   * or `null` to start a new session and leave this one unchanged. The result is stored, with this version, when a turn
   * commits. Until then every turn calls `migrate` again, so it must have no side effects. `id`, `revision`, `owner`,
   * `createdAt`, `runStatus`, `turns`, `flow.name`, `receipts` and `effects` must not change. If it throws, the turn
   * fails and the session stays as it is. Default: none.
   *
   * @example
   * ```ts
   * static override migrate(document: SessionDocument, from: number) {
   *   const { flow } = document
   *   return from < 2 ? { ...document, flow: { ...flow, context: { ...flow.context, currency: 'EUR' } } } : document
   * }
   * ```
   */
  declare static readonly migrate?: (document: SessionDocument, from: number) => Awaitable<SessionDocument | null>

  /**
   * How memories are kept short, by namespace: `slidingWindow` or `rollingSummary`. Read once, when the flow is
   * registered; each namespace must belong to a model step. Default: memories are not shortened.
   *
   * @example
   * ```ts
   * static override readonly compaction = { Ask: slidingWindow({ above: 60, keep: 40 }) }
   * ```
   */
  static get compaction(): FlowCompaction {
    return {}
  }

  static set compaction(compaction: FlowCompaction) {
    defineOwn(this, 'compaction', compaction)
  }

  /** Attaches a flow to its turn. @internal */
  static attach(flow: Flow, runtime: FlowRuntime): void {
    flow.#runtime = runtime
  }

  /** Has a flow share the context and the services of the one that lists it. @internal */
  static nest(flow: Flow, outer: Flow): void {
    flow.#outer = outer
  }

  /**
   * Sets the context to a frozen copy of the session's context: changing the session's own object could change a
   * session whose turn fails. @internal
   */
  static setContext(flow: Flow, context: JsonObject): void {
    flow.#context = deepFreeze(context)
  }

  /**
   * The steps of this flow. A session starts in the first one, unless `initialStep()` returns another. A flow in the list
   * is entered by {@link call}: its steps get IDs such as `Address/Street`. Its own `model`, `tools`, `events`,
   * `onMessage`, `onModelError` and `onModelBlocked` apply in its steps, before those of this flow; everything else is
   * this flow's. At most four flows deep.
   */
  abstract steps(): readonly (StepConstructor | FlowConstructor)[]

  /** The step in which a session starts: a class or a step ID. Default: the first step of `steps()`. */
  initialStep(): StepConstructor | string | undefined {
    return undefined
  }

  /**
   * The model for all model steps that do not select one, or a list: the first model, then its fallbacks in order.
   * Default: none, which is enough if all steps are logic steps.
   */
  model(): ModelChoice | undefined {
    return undefined
  }

  /**
   * How much turns and sessions of this flow may spend on models. The engine's `budgets` apply as well. Default: no
   * limit.
   */
  budgets(): ModelBudgets | undefined {
    return undefined
  }

  /** Tools that the model may call in every model step. Default: none. */
  tools(_turn: Turn): Awaitable<readonly Tool[]> {
    return []
  }

  /** The outside events that the flow takes in every step, after the step's own. None may have `after`. Default: none. */
  events(): readonly FlowEvent[] {
    return []
  }

  /** Called once in each turn, before the session is loaded. Call `addContext` here for new sessions. */
  init(): Awaitable<void> {}

  /** Whether to save the session once more before each turn runs. Default: no. */
  isBatch(): boolean {
    return false
  }

  /**
   * Called after a session was loaded and {@link Flow.migrate} has run, before the turn. May return a changed document,
   * or `null` to start a new session and leave this one unchanged. A changed document is checked again: the fields that
   * `migrate` must not change must not change here either. Changes are saved when the turn commits. Default: the
   * session continues unchanged.
   */
  onRestore(_document: SessionDocument): Awaitable<SessionDocument | null | void> {}

  /** Like `Step.onModelError`. Called for every model step whose own hook returned nothing. */
  onModelError(_error: ModelError | BudgetExceededError, _turn: Turn): Awaitable<Transition | void> {}

  /** Like `Step.onModelBlocked`. Called for every model step whose own hook returned nothing. */
  onModelBlocked(_details: ModelBlockedDetails, _turn: Turn): Awaitable<Transition | void> {}

  /**
   * Called once in each turn in which the user sent something, before the current step runs. Use it for commands such
   * as "cancel", "help" or "a person, please", and to refuse a message. A returned transition is taken instead of
   * running the step. If that is `reply`, `stay` or `finish`, the answer is added to the history, but neither the
   * message nor the answer is added to a memory, so models never see them. In the first turn of a session, no step has
   * been entered yet. Default: the step runs.
   *
   * @example
   * ```ts
   * override onMessage({ message }: Turn) {
   *   if (message.trim().toLowerCase() === 'cancel') return finish('Good bye.')
   * }
   * ```
   */
  onMessage(_turn: Turn): Awaitable<Transition | void> {}

  /**
   * Called once in a failed turn, after `onModelError` and `onModelBlocked`, for errors of flow code, tools and models,
   * and for exceeded limits and budgets. It is not called for conflicts, store failures, a cancelled turn, a turn that
   * reached its deadline, or when the engine closes. All changes of the turn are undone first, and the conversation is
   * back in the step in which the turn began. `turn.error` also holds the error. If it returns a transition, the
   * conversation continues with it and the turn succeeds. If it throws, the turn fails with that error. Default: the
   * turn fails.
   *
   * @example
   * ```ts
   * override onError(error: AnyFlowError, turn: Turn) {
   *   turn.log.error(error.message)
   *   return reply('That did not work. Please try again.')
   * }
   * ```
   */
  onError(_error: AnyFlowError, _turn: Turn): Awaitable<Transition | void> {}

  /**
   * The session's context: `{ config }` if the first turn had a config, and what `addContext` added. Frozen once the
   * session is loaded or created.
   */
  get context(): Readonly<Record<string, unknown>> {
    return this.#outer?.context ?? this.#context
  }

  /** The engine option `services`. */
  get services(): FlowServices {
    return this.#outer?.services ?? this.#runtime?.services ?? ({} as FlowServices)
  }

  /**
   * Milliseconds since the epoch by the engine's clock, at the moment of reading. Use it like `turn.now` in code that
   * has no turn yet.
   */
  get now(): number {
    return this.#outer?.now ?? this.#runtime?.clock.now() ?? Date.now()
  }

  /** Merges `value`, which must be plain JSON, into the context. It is stored with the session. */
  addContext(value: Readonly<Record<string, unknown>>): void {
    if (this.#outer !== undefined) this.#outer.addContext(value)
    else this.#context = { ...this.#context, ...value }
  }
}
