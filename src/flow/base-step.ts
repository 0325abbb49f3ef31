/**
 * The identity, persisted state and hooks that all steps share. For each turn the engine constructs the steps without
 * arguments and then attaches them to the turn.
 */
import type { StandardSchemaV1 } from '@standard-schema/spec'
import { flowCodeError } from '../errors/engine-errors.js'
import { defineOwn } from '../util/json.js'
import type { FlowEvent } from './event.js'
import type { Transition } from './transition.js'
import type { Turn } from './turn.js'

/** A value or a promise for it. */
export type Awaitable<T> = T | Promise<T>

/** Where an attached step reads and writes its state. @internal */
export interface StepRuntime {
  readState(stepId: string): object
  writeState(stepId: string, state: object): unknown
}

/** A step class, as `steps()` lists them and transitions name them. */
export interface StepConstructor<State extends object = object> {
  new (): BaseStep<State>
  /** The step's name in stored sessions. Default: the class name. */
  readonly id: string
  /** Former IDs: sessions stored in a step with one of them continue in this step. */
  readonly aliases: readonly string[]
  /** Checks stored states. */
  readonly stateSchema?: StandardSchemaV1 | undefined
  /** The steps that a conversation may move to from here: classes or IDs. Only tests read it. */
  readonly next?: readonly (StepConstructor | string)[] | undefined
}

/**
 * The base of `Step`, `LogicStep` and `EndStep`; extend one of those.
 *
 * @typeParam State - The shape of `state`: plain JSON.
 */
export abstract class BaseStep<State extends object = object> {
  #runtime: StepRuntime | undefined
  #id = ''

  /**
   * The step's name in stored sessions. Default: the class name. Set it explicitly: minifiers rename classes.
   *
   * @example
   * ```ts
   * static override readonly id = 'AskName'
   * ```
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

  /** Former IDs of this step: sessions stored in a step with one of them continue here. Default: none. */
  static get aliases(): readonly string[] {
    return []
  }

  static set aliases(aliases: readonly string[]) {
    defineOwn(this, 'aliases', aliases)
  }

  /**
   * Checks the state when a session is loaded, so that code does not receive a state from an older release that it
   * cannot use. The step receives the schema's output, with its defaults. The next load checks that output again, so
   * the schema must accept its own output and return it unchanged. If the state does not match, the turn is refused and
   * the session stays as it is. The engine also checks each state that a turn changes, and the `initialState()` of each
   * step that it enters, before storing them. Default: not checked.
   *
   * @example
   * ```ts
   * static override readonly stateSchema = z.object({ name: z.string(), phone: z.string().default('') })
   * ```
   */
  declare static readonly stateSchema?: StandardSchemaV1

  /**
   * The steps that a conversation may move to from here, including the end step: classes or IDs. `coverageOf` of
   * `turnkeeper/testing` compares conversations with this list; the engine does not read it. Write a getter, so that it
   * can name classes that are declared further down. Default: not declared.
   *
   * @example
   * ```ts
   * static override get next(): readonly StepConstructor[] { return [Confirm, End] }
   * ```
   */
  static get next(): readonly (StepConstructor | string)[] | undefined {
    return undefined
  }

  static set next(next: readonly (StepConstructor | string)[] | undefined) {
    defineOwn(this, 'next', next)
  }

  /** Attaches a step to its turn. @internal */
  static attach(step: BaseStep, runtime: StepRuntime, id: string): void {
    if (Object.hasOwn(step, 'state')) {
      throw flowCodeError(`Step '${id}' declares a field named state; use initialState() instead.`)
    }
    step.#runtime = runtime
    step.#id = id
  }

  /**
   * The persisted data of this step: plain JSON, stored with the session when the turn commits. If a value is not valid
   * JSON, the turn fails with an error that names its path.
   */
  get state(): State {
    return this.#attached().readState(this.#id) as State
  }

  set state(state: State) {
    this.#attached().writeState(this.#id, state)
  }

  #attached(): StepRuntime {
    if (this.#runtime !== undefined) return this.#runtime
    throw flowCodeError('A step has state only inside a turn, not in a constructor.')
  }

  /** The initial value of `state`. Default: `{}`; override it if a property is required. */
  initialState(): State {
    return {} as State
  }

  /**
   * The outside events that this step takes: see {@link event}. Called when one arrives, and at the end of each
   * turn. Default: none.
   */
  events(): readonly FlowEvent[] {
    return []
  }

  /** Called each time the step is entered, before it runs. May return a transition. */
  onEnter(_turn: Turn): Awaitable<Transition | void> {}

  /** Called each time the step is left. May not return a transition. */
  onExit(_turn: Turn): Awaitable<void> {}

  /** Called when a turn continues in this step after the session was loaded. May not return a transition. */
  onRestore(_turn: Turn): Awaitable<void> {}
}
