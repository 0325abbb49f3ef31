/**
 * A flow: the steps of one kind of conversation, and what they have in common. A flow object is made for each turn.
 */
import type { BudgetExceededError, ModelError } from '../errors/engine-errors.js'
import type { ModelBudgets } from '../model/model-budget.js'
import type { ModelChoice } from '../model/model-provider.js'
import type { SessionDocument } from '../session/session-document.js'
import { deepFreeze, defineOwn, type JsonObject } from '../util/json.js'
import type { Awaitable, StepConstructor } from './base-step.js'
import type { FlowCompaction } from './compaction.js'
import type { Tool } from './tool.js'
import type { Transition } from './transition.js'
import type { FlowServices, ModelBlockedDetails, Turn } from './turn.js'

/** What the engine gives a flow object. @internal */
export interface FlowRuntime {
  readonly services: FlowServices
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

  /** Code compiled below ES2022 assigns statics; the assignment has to make an own property. */
  static set id(id: string) {
    defineOwn(this, 'id', id)
  }

  /** Former names: sessions bound to one are still this flow's. Default: none. */
  static get aliases(): readonly string[] {
    return []
  }

  static set aliases(aliases: readonly string[]) {
    defineOwn(this, 'aliases', aliases)
  }

  /** Part of every stored session; a session of another version is refused and left as it is. Default: 1. */
  static get version(): number {
    return 1
  }

  static set version(version: number) {
    defineOwn(this, 'version', version)
  }

  /**
   * How memories are kept short, by namespace: `slidingWindow` or `rollingSummary`. Read once, when the flow is registered;
   * each namespace must be that of a model step. Default: they grow.
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

  /** Ties a flow to its turn. @internal */
  static attach(flow: Flow, runtime: FlowRuntime): void {
    flow.#runtime = runtime
  }

  /**
   * Puts the session's context in place of whatever was added, and freezes it: a change has to go through
   * `addContext`, or it could outlive a turn that fails. @internal
   */
  static setContext(flow: Flow, context: JsonObject): void {
    flow.#context = deepFreeze(context)
  }

  /** The steps of this flow. A session starts in the first one, unless `initialStep()` says otherwise. */
  abstract steps(): readonly StepConstructor[]

  /** Where a session starts: a class or a step ID. Default: the first of `steps()`. */
  initialStep(): StepConstructor | string | undefined {
    return undefined
  }

  /**
   * The model of every model step that names none, or a list of which each stands in for the one before it. A flow of
   * logic steps needs none. Default: none.
   */
  model(): ModelChoice | undefined {
    return undefined
  }

  /** What turns and sessions of this flow may spend on models, beside the engine's `budgets`. Default: not bounded. */
  budgets(): ModelBudgets | undefined {
    return undefined
  }

  /** Tools that every model step offers. Default: none. */
  tools(_turn: Turn): Awaitable<readonly Tool[]> {
    return []
  }

  /** Called once for each turn, before anything is loaded. Add to the context of a new session here. */
  init(): Awaitable<void> {}

  /** Whether the session is saved once more before each turn runs. Default: no. */
  isBatch(): boolean {
    return false
  }

  /**
   * Called when a session was loaded, before its turn. May return a changed document (it is checked again; `id`,
   * `revision` and `flow.name` may not change), or `null` to start a new session and leave this one as it is. What is
   * changed is saved with the turn. Default: the session goes on as it is.
   */
  onRestore(_document: SessionDocument): Awaitable<SessionDocument | null | void> {}

  /** As `Step.onModelError`, for every model step whose own hook returned nothing. */
  onModelError(_error: ModelError | BudgetExceededError, _turn: Turn): Awaitable<Transition | void> {}

  /** As `Step.onModelBlocked`, for every model step whose own hook returned nothing. */
  onModelBlocked(_details: ModelBlockedDetails, _turn: Turn): Awaitable<Transition | void> {}

  /** The session's context: `{ config }` where the first turn came with one, and what `addContext` added. Frozen once the session is open. */
  get context(): Readonly<Record<string, unknown>> {
    return this.#context
  }

  /** What the application passed to the engine as `services`. */
  get services(): FlowServices {
    return this.#runtime?.services ?? ({} as FlowServices)
  }

  /** Merges `value` into the context: plain JSON, stored with the session. */
  addContext(value: Readonly<Record<string, unknown>>): void {
    this.#context = { ...this.#context, ...value }
  }
}
