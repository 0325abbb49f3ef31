/**
 * Where a turn goes next, as an immutable value: builders make one, modifiers return another. It checks what it is
 * given on the spot; applying it is the engine's business.
 */
import { flowCodeError } from '../errors/engine-errors.js'
import type { HttpContentType } from '../http-content-type.js'
import { copyJson, isPlainObject, type JsonObject } from '../util/json.js'
import { isBase64, isContentType } from '../util/patterns.js'
import type { StepConstructor } from './base-step.js'

/** What can be sent to the user: a text, or an object or list that goes out as JSON text. */
export type ReplyContent = string | object

/** How `withContentType` tells bytes from text. */
export interface ContentTypeOptions {
  /** The reply is bytes in base64 (RFC 4648, section 4) and HTTP sends the bytes. Default: it is text. */
  readonly encoding?: 'base64'
}

/** What a transition does. */
export type TransitionKind = 'go' | 'reply' | 'stay' | 'finish'

/** @internal */
export interface TransitionFields {
  readonly kind: TransitionKind
  readonly target?: StepConstructor | string
  readonly reply?: string
  readonly feedback?: string
  readonly contentType?: string
  readonly encoding?: 'base64'
  readonly state?: JsonObject
  readonly prompt?: string
  readonly message?: string
}

/** Deep enough for any state; the engine's own limit is applied when the turn is committed. */
const maxStateDepth = 1000

const marker: unique symbol = Symbol.for('turnkeeper.Transition')

/**
 * What `run`, `onEnter`, `onReply` and a tool's `execute` return to say what happens next. Make one with
 * {@link go}, {@link reply}, {@link stay}, {@link retry} or {@link finish}.
 *
 * @typeParam State - The state of the destination, for `withState`.
 */
export class Transition<State = unknown> {
  /** @internal */
  readonly fields: TransitionFields

  /** @internal */
  constructor(fields: TransitionFields) {
    this.fields = Object.freeze(fields)
    Object.freeze(this)
  }

  static {
    // `this`, not the name: tsc gives a class with private methods and static blocks its name only afterwards.
    Object.defineProperty(this.prototype, marker, { value: true })
  }

  /** @internal */
  static isInstance(value: unknown): value is Transition {
    return (Object(value) as { [marker]?: unknown })[marker] === true
  }

  /**
   * Answers the user now: the turn ends after the move.
   *
   * @param content - A text, or an object that goes out as JSON text.
   */
  withReply(content: ReplyContent): Transition<State> {
    return this.#with({ reply: replyText(content, 'withReply') })
  }

  /**
   * Sets the content type of the reply. Anything but `HttpContentType.Plain` goes out raw over HTTP.
   *
   * @param contentType - A media type, `type/subtype`, parameters allowed.
   * @throws `FlowCodeError` for what is no media type, or a reply that is no base64 where `encoding` says so.
   */
  withContentType(contentType: HttpContentType | (string & {}), options: ContentTypeOptions = {}): Transition<State> {
    if (typeof contentType !== 'string' || !isContentType(contentType)) {
      throw flowCodeError(`withContentType needs a media type like 'text/csv', and got ${show(contentType)}.`)
    }
    const { encoding } = options
    if (encoding !== undefined && encoding !== 'base64') {
      throw flowCodeError(`withContentType needs the encoding 'base64', and got ${show(encoding)}.`)
    }
    const { encoding: _previous, ...fields } = this.fields
    return new Transition({ ...fields, contentType, ...(encoding === undefined ? {} : { encoding }) }).#checked()
  }

  /** Merges `state` into the destination's state, before its `onEnter` runs. */
  withState(state: Partial<State>): Transition<State> {
    if (!isPlainObject(state)) throw flowCodeError(`withState needs an object, and got ${show(state)}.`)
    return this.#with({
      state: copyJson(state, 'state', maxStateDepth, refuse('withState cannot store this')) as JsonObject,
    })
  }

  /** Appends `text` to the destination's prompt, for this turn. */
  withPrompt(text: string): Transition<State> {
    return this.#with({ prompt: requireText(text, 'withPrompt') })
  }

  /** Replaces the user's message for the destination, for this turn. */
  withMessage(text: string): Transition<State> {
    return this.#with({ message: requireText(text, 'withMessage') })
  }

  /** From a tool: what the model is told the tool answered. Default `'Done.'`. */
  withFeedback(text: string): Transition<State> {
    return this.#with({ feedback: requireText(text, 'withFeedback') })
  }

  #with(fields: Partial<TransitionFields>): Transition<State> {
    return new Transition<State>({ ...this.fields, ...fields }).#checked()
  }

  #checked(): this {
    const { encoding, reply } = this.fields
    if (encoding === 'base64' && reply !== undefined) checkBase64(reply)
    return this
  }
}

/**
 * Refuses a reply that is no base64: what HTTP could not send must not be committed.
 *
 * @internal
 */
export function checkBase64(reply: string): void {
  if (isBase64(reply)) return
  throw flowCodeError('The reply must be bytes in base64: the standard alphabet, padded, without line breaks.')
}

/** The state of the step that a target names. */
export type StateOf<Target> = Target extends new () => { state: infer State } ? State : Record<string, unknown>

/**
 * Moves to a step and carries on there in this turn; with `withReply`, answers now and waits there.
 *
 * @param target - A class or the ID of a step of this flow.
 * @example
 * ```ts
 * return go(Confirm).withState({ name: 'Ada Lovelace' })
 * ```
 */
export function go<Target extends StepConstructor | string>(target: Target): Transition<StateOf<Target>> {
  if (typeof target !== 'function' && typeof target !== 'string') {
    throw flowCodeError(`go needs a step class or a step ID, and got ${show(target)}.`)
  }
  return new Transition({ kind: 'go', target })
}

/**
 * Answers from the current step, without calling a model. The turn ends.
 *
 * @param content - A text, or an object that goes out as JSON text (its content type stays Plain unless set).
 * @example
 * ```ts
 * return reply('name,age\nAda,36').withContentType(HttpContentType.Csv)
 * ```
 */
export function reply(content: ReplyContent): Transition {
  return new Transition({ kind: 'reply', reply: replyText(content, 'reply') })
}

/**
 * Stays in the step. In a tool, `feedback` is the tool's result and the model goes on; in `onReply` the model tries
 * again with `feedback` as the reason; in `run` and `onEnter` it is the reply.
 *
 * @param feedback - Required in `run`, `onEnter` and `onReply`. In a tool the default is `'Done.'`.
 */
export function stay(feedback?: string): Transition {
  if (feedback === undefined) return new Transition({ kind: 'stay' })
  return new Transition({ kind: 'stay', feedback: requireText(feedback, 'stay') })
}

/**
 * From `onReply`: has the model answer again, and tells it why. The same as `stay(reason)`.
 *
 * @param reason - What was wrong with the answer; the model reads it.
 */
export function retry(reason: string): Transition {
  return new Transition({ kind: 'stay', feedback: requireText(reason, 'retry') })
}

/**
 * Goes to the first end step of the flow, else to the ready-made one. The turn ends and the session is completed.
 *
 * @param content - The closing reply. Default: the end step's `message(turn)`.
 */
export function finish(content?: ReplyContent): Transition {
  return new Transition(
    content === undefined ? { kind: 'finish' } : { kind: 'finish', reply: replyText(content, 'finish') },
  )
}

function replyText(content: unknown, builder: string): string {
  if (typeof content === 'string') return content
  if (typeof content !== 'object' || content === null) {
    throw flowCodeError(`${builder} needs a text or an object, and got ${show(content)}.`)
  }
  return JSON.stringify(copyJson(content, 'content', maxStateDepth, refuse(`${builder} cannot send this`)))
}

function refuse(what: string): (problem: string, cause: Error) => Error {
  return (problem, cause) => flowCodeError(`${what}: ${problem}.`, cause)
}

function requireText(text: unknown, builder: string): string {
  if (typeof text === 'string') return text
  throw flowCodeError(`${builder} needs a text, and got ${show(text)}.`)
}

function show(value: unknown): string {
  if (typeof value === 'string') return `'${value.slice(0, 60)}'`
  return value === null || typeof value !== 'object' ? String(value) : 'an object'
}
