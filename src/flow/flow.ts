/**
 * Flows: the steps of one kind of conversation, and what they have in common. The engine creates a
 * flow object for each turn.
 */

import type { BudgetExceededError, ModelError } from '../errors/engine-errors.js'
import type { AnyFlowError } from '../errors/flow-error.js'
import type { ModelBudgets } from '../model/model-budget.js'
import type { ModelChoice } from '../model/model-provider.js'
import type { SessionDocument } from '../session/session-document.js'
import { deepFreeze, defineOwn, type JsonObject } from '../util/json.js'
import type { Awaitable, StepConstructor } from './base-step.js'
import type { FlowCompaction } from './compaction.js'
import type { Tool } from './tool.js'
import type { Transition } from './transition.js'
import type { FlowServices, ModelBlockedDetails, Turn } from './turn.js'

/** What the engine attaches to a flow object. @internal */
export interface FlowRuntime {
  readonly services: FlowServices
  readonly clock: { now(): number }
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
  #context: Readonly<Record<string, unknown>> = {}

  /**
   * The name the flow is registered under, and part of every stored session. Default: the class name. Override it:
   * minifiers rename classes.
   */
  static get id(): string {
    return this.name
  }

  /**
   * Code that is compiled to a target below ES2022 assigns static members; the assignment must define an own property.
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
   * Stored with every session: a whole number from 1. Raise it when sessions of the release before need
   * {@link Flow.migrate}, or cannot go on. A session of a newer version is refused and not changed. Default: 1.
   */
  static get version(): number {
    return 1
  }

  static set version(version: number) {
    defineOwn(this, 'version', version)
  }

  /**
   * What becomes of a session of this flow whose turn failed: `'abort'` or `'rollback'`, as the engine option of the
   * same name. Default: what the engine says.
   */
  static get onTurnError(): 'abort' | 'rollback' | undefined {
    return undefined
  }

  static set onTurnError(onTurnError: 'abort' | 'rollback' | undefined) {
    defineOwn(this, 'onTurnError', onTurnError)
  }

  /**
   * What becomes of a message for a session that has a turn of this flow under way: `'queue'`, `'reject'`
   * or `'interrupt'`, as the engine option of the same name. Default: what the engine says.
   */
  static get busy(): 'queue' | 'reject' | 'interrupt' | undefined {
    return undefined
  }

  static set busy(busy: 'queue' | 'reject' | 'interrupt' | undefined) {
    defineOwn(this, 'busy', busy)
  }

  /**
   * What happens to a session of an older version that neither {@link Flow.migrate} nor `onRestore` has brought to this
   * one: `refuse` fails the turn and leaves the session as it is, `restart` starts a new session. Default: the
   * engine option `outdated`.
   */
  static get outdated(): 'refuse' | 'restart' | undefined {
    return undefined
  }

  static set outdated(outdated: 'refuse' | 'restart' | undefined) {
    defineOwn(this, 'outdated', outdated)
  }

  /**
   * Changes a session that an older version has stored into one of this version. It gets a copy and returns it changed,
   * or `null` to start a new session and keep this one unchanged. What it returns is stored when a turn commits, with
   * this version; until then every turn calls it anew, so it may do nothing but return. `id`, `revision`, `owner`,
   * `createdAt`, `turns`, `flow.name`, `receipts` and `effects` must stay. If it throws, the turn fails and the session
   * stays as it is. Default: none.
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
   * registered; each namespace must be that of a model step. Default: memories are not shortened.
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

  /**
   * Replaces the context with the session's, and freezes it: a flow that changed the session's own object could change
   * a session whose turn fails. @internal
   */
  static setContext(flow: Flow, context: JsonObject): void {
    flow.#context = deepFreeze(context)
  }

  /** The steps of this flow. A session starts in the first one, unless `initialStep()` returns another. */
  abstract steps(): readonly StepConstructor[]

  /** Where a session starts: a class or a step ID. Default: the first of `steps()`. */
  initialStep(): StepConstructor | string | undefined {
    return undefined
  }

  /**
   * The model of every model step that has no model of its own, or a list: the first one, then its fallbacks in order.
   * A flow of logic steps needs none. Default: none.
   */
  model(): ModelChoice | undefined {
    return undefined
  }

  /**
   * What turns and sessions of this flow may spend on models. The engine's `budgets` apply as well. Default: no limit.
   */
  budgets(): ModelBudgets | undefined {
    return undefined
  }

  /** Tools that the model may call in every model step. Default: none. */
  tools(_turn: Turn): Awaitable<readonly Tool[]> {
    return []
  }

  /** Called once for each turn, before the session is loaded. Call `addContext` here for new sessions. */
  init(): Awaitable<void> {}

  /** Whether the session is saved once more before each turn runs. Default: no. */
  isBatch(): boolean {
    return false
  }

  /**
   * Called when a session was loaded, after {@link Flow.migrate} and before its turn. May return a changed document (it
   * is checked again; what `migrate` may not change, `onRestore` may not either), or `null` to start a new session and
   * keep this one unchanged. Changes are saved when the turn commits. Default: the session continues unchanged.
   */
  onRestore(_document: SessionDocument): Awaitable<SessionDocument | null | void> {}

  /** Like `Step.onModelError`. Called for every model step whose own hook returned nothing. */
  onModelError(_error: ModelError | BudgetExceededError, _turn: Turn): Awaitable<Transition | void> {}

  /** Like `Step.onModelBlocked`. Called for every model step whose own hook returned nothing. */
  onModelBlocked(_details: ModelBlockedDetails, _turn: Turn): Awaitable<Transition | void> {}

  /**
   * Called once in each turn in which the user sent something, before the current step runs: for "cancel", "help", "a
   * person, please", and to refuse a message. If it returns a transition, that is taken in place of running the step.
   * The answer of `reply`, `stay` and `finish` stands in the history, and neither it nor the message in any memory: no
   * model will know of it. In the first turn of a session, no step was entered yet. Default: the step runs.
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
   * Called once in a turn that failed, after `onModelError` and `onModelBlocked`: for errors of flow code and tools, of
   * models, and for limits and budgets that were exceeded. It is not called for conflicts, failures of the store, a
   * turn that was cancelled or reached its deadline, and an engine that closes. All that the turn changed is undone,
   * and the conversation is in the step in which the turn began; `turn.error` has the error, too. If it returns a
   * transition, that is taken from there and the turn succeeds. What it throws is the failure of the turn.
   * Default: the turn fails.
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
    return this.#context
  }

  /** The engine option `services`. */
  get services(): FlowServices {
    return this.#runtime?.services ?? ({} as FlowServices)
  }

  /**
   * Milliseconds since the epoch by the engine's clock, at the moment when it is read: `turn.now`,
   * where there is no turn yet.
   */
  get now(): number {
    return this.#runtime?.clock.now() ?? Date.now()
  }

  /** Merges `value`, which must be plain JSON, into the context. It is stored with the session. */
  addContext(value: Readonly<Record<string, unknown>>): void {
    this.#context = { ...this.#context, ...value }
  }
}
