/** The current turn as flow code sees it. The engine creates one object for each turn. */

import type { ModelBlockedError } from '../errors/engine-errors.js'
import type { AnyFlowError } from '../errors/flow-error.js'
import type { FilePart, ImagePart, Message } from '../model/message.js'
import type { JsonObject, JsonValue } from '../util/json.js'
import type { StepTarget } from './transition.js'

/**
 * The dependencies of flows, such as a database or a mailer. Augment it to type `turn.services`:
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

/** The engine option `logger`, which `turn.log` writes to. `console` qualifies. */
export interface FlowLogger {
  /**
   * For the flow's author. `fields` holds the session, the flow, the turn, the step and the fields that the flow
   * passed.
   */
  debug(text: string, fields?: Readonly<Record<string, unknown>>): void
  /** For operators. */
  info(text: string, fields?: Readonly<Record<string, unknown>>): void
  /** For problems that should be investigated. */
  warn(text: string, fields?: Readonly<Record<string, unknown>>): void
  /** For failures. */
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
   * Whether the current step was entered in this turn. A step asks its question then, and reads the answer in later
   * turns.
   */
  readonly entered: boolean
  /**
   * The event that this turn takes, in place of a message; `undefined` in the turn of a message. `by` is the sender's
   * name, `byId` the sender's ID, `about` what a ticket asked the sender. `id` is the same if the event is tried again
   * after a conflict, and different for any other event: name work after it, `turn.once(`pay:${turn.event.id}`)`.
   */
  readonly event:
    | {
        readonly name: string
        readonly id: string
        readonly by?: string
        readonly byId?: string
        readonly about?: JsonValue
      }
    | undefined
  /**
   * The option of the open `choices` that the message chose: a pressed button, or a text that is its value, its label
   * (case and spaces do not count) or its number in the list. A list is open while the conversation is in the step that
   * sent it, until the step sends another. `undefined` for any other message, for a button of an older reply, and once
   * another step is entered.
   */
  readonly choice: { readonly name: string; readonly value: string } | undefined
  /**
   * Set if the conversation has just returned to the current step from one that it called: `from` is the ID that was
   * called, `value` what `back` gave. `undefined` otherwise.
   */
  readonly returned: { readonly from: string; readonly value?: unknown } | undefined
  /**
   * The ID of the current step; before the first one is entered, of the step that the turn will enter. In an event of a
   * step that waits for a return, that step's ID.
   */
  readonly step: string
  /** Which entry of the current step this is, unique in the session. It stays as long as the step takes events. */
  readonly entry: string
  /**
   * Has the clock send an event of the current step, or of the flow, in `ms` milliseconds, counted from now. It replaces
   * the event's timer, if it has one; `undefined` ends that. Stored when the turn commits, unless it leaves the step.
   *
   * @throws `FlowCodeError` for an unknown event, and for one that has an `input`. A ninth timer fails the turn at its end.
   * @example
   * ```ts
   * event({ name: 'remind', after: month, execute: async (_, turn) => { turn.setTimer('remind', month) } })
   * ```
   */
  setTimer(name: string, ms: number | undefined): void
  /**
   * Milliseconds since the epoch by the engine's clock, at the moment of reading. Use it instead of `Date.now()`, so
   * that tests can control the time.
   */
  readonly now: number
  /**
   * Aborts when the turn is aborted: at its deadline, or when the caller cancels it. Pass it to operations that can be
   * cancelled.
   */
  readonly signal: AbortSignal
  /** The flow's context, with the server's context of this turn merged over it. Frozen. */
  readonly context: JsonObject
  /**
   * Merges `value` into the flow's context, as `Flow.addContext` does. It is stored when the turn commits. A key with
   * the value `undefined` is removed.
   *
   * @throws `FlowCodeError` for a value that is not valid JSON. The error names the path.
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
    /** The principal that owns the session, if any. */
    readonly owner?: string
    /** ISO 8601, UTC. */
    readonly createdAt: string
  }
  /** The failure of the turn, in `Flow.onError` and the steps that run after it; otherwise `undefined`. */
  readonly error: AnyFlowError | undefined
  /** For values that the steps of one turn share. Discarded at the end of the turn. */
  readonly transient: Map<string, unknown>
  /** Writes to the engine's logger. The session, the flow, the turn and the step are added as fields. */
  readonly log: FlowLogger
  /**
   * Runs work with an external effect once: a payment, a mail, an order. The first call with a name runs `work` and
   * keeps its result with the session. Later calls, in this turn and all others, return that result without running
   * anything. The result is kept even if the turn fails, is cancelled or interrupted, reaches its deadline, or the
   * engine closes, so repeating the turn does not repeat the work. Two concurrent calls with one name share one run.
   *
   * Await the call: a turn that commits while the work is still running does not store its result, and logs a warning.
   *
   * Not kept: anything that `work` throws; the result of work that is still running when its turn ends, and a result
   * that cannot be stored (the next call reports both as uncertain); and, without `durable`, the work of a turn that
   * ends with a conflict or whose process dies.
   *
   * @param name - Names the action and its object: `refund:${order}`. 1 to 200 characters; a session has at most
   * `maxEffects` names.
   * @param work - Returns plain JSON of at most `maxEffectBytes`. `once` returns a frozen copy; `undefined` becomes
   * `null`.
   * @param options - `durable`: writes a record to the store before the work begins, and its result as soon as it is
   * available: two more writes. Default: whether the store is durable.
   * @throws (rejects) Any error that `work` throws; `LimitExceededError`; `FlowCodeError` for a name or result that
   * cannot be used. If the store fails, or another process changed the session, the turn fails, even if flow code
   * catches the error.
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
       * A key for the service: the same in each repeat of the work, after any failure. After {@link Turn.forget}, a
       * later turn gets a new key.
       */
      readonly idempotencyKey: string
      /** How many times the work has been started, including this time, as far as the store recorded it. */
      readonly attempt: number
      /**
       * Whether the work was started before and its outcome is unknown. Check with the service before doing it again.
       */
      readonly uncertain: boolean
      /** When the work was first started: ISO 8601, UTC. */
      readonly begunAt: string
    }) => T | PromiseLike<T>,
    options?: { readonly durable?: boolean },
  ): Promise<T>
  /**
   * Removes the result that {@link Turn.once} keeps under a name, when the turn commits: from then on `once` runs its
   * work again, and the name no longer counts against the limit. In this turn, `once` runs the work again if the result
   * is from an earlier turn; work done in this turn is not repeated. A failed turn does not remove anything, but keeps
   * a new result.
   *
   * @example
   * ```ts
   * if (turn.message === 'refund it once more') turn.forget(`refund:${order}`)
   * ```
   */
  forget(name: string): void
  /**
   * Replaces what the user sent in this turn, for a password or a card number: `text` stands in the history, memories,
   * engine events and spans in place of the message, and is `turn.message` from now on. Of an event, the payload is left
   * out. It holds for the whole turn, also if the flow's `onError` answers. Attachments stay. Call it before a model
   * runs: what a model has received cannot be taken back.
   *
   * @throws `FlowCodeError` for anything but a text.
   * @example
   * ```ts
   * const pin = turn.message
   * turn.hideMessage('[PIN]')
   * ```
   */
  hideMessage(text: string): void
  /** The state of another step of this flow. Changes are stored when the turn commits. */
  stateOf<Target extends StepTarget>(step: Target): InstanceType<Target>['state']
  /**
   * The memory of a namespace.
   *
   * @param namespace - Default: the namespace of the current step, which must then be a model step.
   * @throws `FlowCodeError` if neither a model step nor the session has this namespace; the error lists the existing
   * ones.
   */
  memory(namespace?: string): {
    /** The messages so far, oldest first, as a model receives them. */
    readonly messages: readonly Message[]
    /**
     * Removes the messages when the turn commits. If the current step is a model step with this namespace, this turn's
     * messages stay, because its model still needs them.
     */
    clear(): void
  }
}

/** The step whose model refused to answer, and the model. */
export interface ModelBlockedDetails {
  readonly provider: string
  readonly model: string
  /** The ID of the step that called it. */
  readonly step: string
  readonly error: ModelBlockedError
}

/** See {@link Turn.session}. */
export type TurnSession = Turn['session']
