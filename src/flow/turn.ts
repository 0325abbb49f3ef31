/** The current turn, as the code of a flow sees it. The engine creates one object for each turn. */

import type { ModelBlockedError } from '../errors/engine-errors.js'
import type { AnyFlowError } from '../errors/flow-error.js'
import type { FilePart, ImagePart, Message } from '../model/message.js'
import type { JsonObject } from '../util/json.js'
import type { StepTarget } from './transition.js'

/**
 * What flows need from the application, such as a database or a mailer. Augment it to type `turn.services`:
 *
 * @example
 * ```ts
 * declare module 'turnkeeper' {
 *   interface FlowServices { mailer: Mailer }
 * }
 * ```
 */
// biome-ignore lint/suspicious/noEmptyInterface: applications add their members by declaration merging
export interface FlowServices {}

/** The engine option `logger`, to which `turn.log` writes. `console` is one. */
export interface FlowLogger {
  /** For the flow's author. `fields` holds the session, the flow, the turn and the step, and what the flow passed. */
  debug(text: string, fields?: Readonly<Record<string, unknown>>): void
  /** For operators. */
  info(text: string, fields?: Readonly<Record<string, unknown>>): void
  /** For something that should be investigated. */
  warn(text: string, fields?: Readonly<Record<string, unknown>>): void
  /** For a failure. */
  error(text: string, fields?: Readonly<Record<string, unknown>>): void
}

/** The current turn. */
export interface Turn {
  /** The user's message, or the text of `withMessage` that replaced it for this step. */
  readonly message: string
  /**
   * The images and files that the user sent with the message; `[]` if there are none. The same in every step. Frozen.
   */
  readonly attachments: readonly (ImagePart | FilePart)[]
  /** The number of this turn in its session, counted from 1. */
  readonly number: number
  /**
   * Whether the current step was entered in this turn: a step asks its question then, and reads
   * the answer in later turns.
   */
  readonly entered: boolean
  /**
   * Milliseconds since the epoch by the engine's clock, at the moment when it is read. Use it in place of `Date.now()`:
   * then a test decides what time it is.
   */
  readonly now: number
  /**
   * Aborts when the turn is aborted: at its deadline, or when the caller cancelled it. Pass it
   * to what can be cancelled.
   */
  readonly signal: AbortSignal
  /** The flow's context, with the server's context of this turn merged over it. Frozen. */
  readonly context: JsonObject
  /**
   * Merges `value` into the flow's context, as `Flow.addContext` does. It is stored when the turn commits. A key whose
   * value is `undefined` is removed.
   *
   * @throws `FlowCodeError` for a value that JSON cannot carry: it names the path.
   */
  addContext(value: Readonly<Record<string, unknown>>): void
  readonly services: FlowServices
  /** The session of a turn, read-only. */
  readonly session: {
    /** The session's ID. A new session is stored under it when the turn commits. */
    readonly id: string
    readonly flowName: string
    /** Whether this turn is the session's first. */
    readonly isNew: boolean
    /** The principal that the session belongs to, if there is one. */
    readonly owner?: string
    /** ISO 8601, UTC. */
    readonly createdAt: string
  }
  /** In `Flow.onError` and in the steps that run after it: why the turn failed. `undefined` everywhere else. */
  readonly error: AnyFlowError | undefined
  /** For values that the steps of one turn share. Discarded at the end of the turn. */
  readonly transient: Map<string, unknown>
  /** Writes to the engine's logger. The session, the flow, the turn and the step are added as fields. */
  readonly log: FlowLogger
  /**
   * Does something in the world once: a payment, a mail, an order. The first call of a name runs `work` and keeps its
   * result with the session; later calls, in this turn and in all others, return that result and run nothing. The
   * result is kept even if the turn fails, is cancelled or interrupted, reaches its deadline, or the engine closes; so
   * the repeat of such a turn does not do the work again. Await it: a turn that commits while the work goes on does not
   * have its result, and the log warns of that. Two calls of one name at once share one run. Not kept: what `work`
   * throws; the result of work that still runs when its turn ends, and a result that cannot be stored (these are
   * uncertain in the next call); and, without `durable`, what a turn did that ends with a
   * conflict or whose process dies.
   *
   * @param name - Says what is done, to what: `refund:${order}`. 1 to 200 characters; a session has at
   * most `maxEffects` names.
   * @param work - Returns plain JSON of at most `maxEffectBytes`. What `once` returns is a frozen copy;
   * `undefined` becomes `null`.
   * @param options - `durable`: the store learns of the work before it begins, and of its result as soon as there is
   * one: two more writes. Default: whether the store is durable.
   * @throws (rejects) What `work` throws; `LimitExceededError`; `FlowCodeError` for a name or result that cannot be
   * used. If the store fails, or another process changed the session, the turn fails, even if
   * flow code catches the error.
   * @example
   * ```ts
   * const { id } = await turn.once(`refund:${order}`, async ({ idempotencyKey, uncertain }) => {
   *   const earlier = uncertain ? await refunds.find(idempotencyKey) : undefined
   *   return earlier ?? refunds.create(order, { idempotencyKey })
   * })
   * ```
   */
  once<T>(
    name: string,
    work: (attempt: {
      /**
       * For the service: the same in each repeat of the work, after any failure. After {@link Turn.forget}, in a
       * later turn, it is a new one.
       */
      readonly idempotencyKey: string
      /** How often the work has begun, this time included, as far as that was stored. */
      readonly attempt: number
      /**
       * Whether the work was begun before and nobody knows what became of it. Ask the service;
       * do not do it again unseen.
       */
      readonly uncertain: boolean
      /** When it began first: ISO 8601, UTC. */
      readonly begunAt: string
    }) => T | PromiseLike<T>,
    options?: { readonly durable?: boolean },
  ): Promise<T>
  /**
   * Removes what {@link Turn.once} keeps under a name, when the turn commits: `once` runs its work again from then on,
   * and there is room for another name. In this turn, `once` runs it again if the result is of an earlier turn; what
   * was done in this turn is not done twice. A failed turn forgets nothing, but a new result stays.
   *
   * @example
   * ```ts
   * if (turn.message === 'refund it once more') turn.forget(`refund:${order}`)
   * ```
   */
  forget(name: string): void
  /** The state of another step of this flow. Changes are stored when the turn commits. */
  stateOf<Target extends StepTarget>(step: Target): InstanceType<Target>['state']
  /**
   * The memory of this namespace.
   *
   * @param namespace - Default: that of the current step, which must then be a model step.
   * @throws `FlowCodeError` for a name that neither a model step nor the session has; it lists those there are.
   */
  memory(namespace?: string): {
    /** The messages up to now, oldest first, as a model gets them. */
    readonly messages: readonly Message[]
    /**
     * Removes the messages, when the turn commits. Those of this turn stay where the current step is a model step with
     * this namespace: its model still needs them.
     */
    clear(): void
  }
}

/** Which model refused to answer, and where. */
export interface ModelBlockedDetails {
  readonly provider: string
  readonly model: string
  /** The ID of the step that called it. */
  readonly step: string
  readonly error: ModelBlockedError
}

/** See {@link Turn.session}. */
export type TurnSession = Turn['session']
