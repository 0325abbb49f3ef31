/**
 * Transitions: immutable values that state what happens next in a turn. Builders such as `go` create one; modifiers
 * such as `withReply` return a changed copy. Both check their arguments at once. `src/engine/turn/steps/run-steps.ts`
 * applies transitions.
 */
import { flowCodeError } from '../errors/engine-errors.js'
import { isReplyPart, maxPartBytes, maxParts, type ReplyPart } from '../model/reply-part.js'
import type { HttpContentType } from '../util/http-content-type.js'
import { copyJson, isPlainObject, type JsonObject, utf8Length } from '../util/json.js'
import { isBase64, isContentType } from '../util/patterns.js'
import { shownValue } from '../util/shown-value.js'
import { refuseModifier, type TransitionKind } from './transition-modifiers.js'

/** A reply to the user: a text, or an object or array that is sent as JSON. */
export type ReplyContent = string | object

/**
 * The options of `withContentType`.
 *
 * @inline
 */
export type ContentTypeOptions = {
  /**
   * Set this if the reply is bytes in base64 (RFC 4648, section 4), which HTTP sends as bytes. Default: the reply is
   * text.
   */
  readonly encoding?: 'base64'
}

/**
 * The part of a step class that transitions need. The whole type is in `base-step.ts`, which imports this module.
 *
 * @inline
 */
export type StepTarget = { new (): { state: object }; readonly id: string }

/**
 * The part of a flow class that {@link call} needs.
 *
 * @inline
 */
export type FlowTarget = { new (): { steps: unknown }; readonly id: string }

/** @internal */
export interface TransitionFields {
  readonly kind: TransitionKind
  readonly target?: StepTarget | FlowTarget | string
  readonly reply?: string
  readonly feedback?: string
  readonly contentType?: string
  readonly encoding?: 'base64'
  readonly state?: JsonObject
  readonly prompt?: string
  readonly message?: string
  readonly lead?: string
  readonly parts?: readonly ReplyPart[]
  /** What `back` gives to the step that called. */
  readonly value?: unknown
}

/** Deep enough for any state; the limit `maxJsonDepth` is checked when the turn commits. */
const maxStateDepth = 1000

const marker: unique symbol = Symbol.for('turnkeeper.Transition')

/**
 * The return value of `run`, `onEnter`, `onReply` and a tool's `execute` that states what happens next. Create one with
 * {@link go}, {@link call}, {@link back}, {@link reply}, {@link stay}, {@link retry} or {@link finish}.
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
    // `this`, not the class name: if tsc has to transform the private methods, it assigns the name only afterwards.
    Object.defineProperty(this.prototype, marker, { value: true })
  }

  /** @internal */
  static isInstance(value: unknown): value is Transition {
    return (Object(value) as { [marker]?: unknown })[marker] === true
  }

  /**
   * Answers the user now: the turn ends after the transition.
   *
   * @param content - A text, or an object that is sent as JSON text.
   * @throws `FlowCodeError` after `stay` and `retry`, which do not answer the user.
   */
  withReply(content: ReplyContent): Transition<State> {
    refuseModifier(this.fields.kind, 'withReply')
    return this.#with({ reply: replyText(content, 'withReply') })
  }

  /**
   * Sets the content type of the reply. Over HTTP, any type other than `HttpContentType.Plain` is sent raw.
   *
   * On {@link reply}, {@link stay} and {@link finish} it applies to that reply only. On {@link go} it applies to all
   * replies of the destination, until the next move. With `encoding` it applies to a single reply; on `go`, that is the
   * next one in this turn.
   *
   * @param contentType - A media type, `type/subtype`, with optional parameters.
   * @throws `FlowCodeError` for an invalid media type, for a reply that is not valid base64 if `encoding` is set, and
   * after `retry`. After `stay` it takes effect only if the feedback answers the user.
   */
  withContentType(contentType: HttpContentType | (string & {}), options: ContentTypeOptions = {}): Transition<State> {
    refuseModifier(this.fields.kind, 'withContentType')
    if (typeof contentType !== 'string' || !isContentType(contentType)) {
      throw flowCodeError(`withContentType needs a media type like 'text/csv'; got ${shownValue(contentType)}.`)
    }
    const { encoding } = options
    if (encoding !== undefined && encoding !== 'base64') {
      throw flowCodeError(`withContentType needs the encoding 'base64'; got ${shownValue(encoding)}.`)
    }
    const { encoding: _previous, ...fields } = this.fields
    return new Transition({ ...fields, contentType, ...(encoding === undefined ? {} : { encoding }) }).#checked()
  }

  /**
   * Merges `state` into the destination's state before its `onEnter` runs.
   *
   * @throws `FlowCodeError` unless the transition is a `go` or a `finish`.
   */
  withState(state: Partial<State>): Transition<State> {
    refuseModifier(this.fields.kind, 'withState')
    if (!isPlainObject(state)) throw flowCodeError(`withState needs an object; got ${shownValue(state)}.`)
    return this.#with({
      state: copyJson(state, 'state', maxStateDepth, refuse('withState cannot store this')) as JsonObject,
    })
  }

  /**
   * Appends `text` to the prompt of the destination, a model step, for this turn.
   *
   * @throws `FlowCodeError` unless the transition is a `go`.
   */
  withPrompt(text: string): Transition<State> {
    refuseModifier(this.fields.kind, 'withPrompt')
    return this.#with({ prompt: requireText(text, 'withPrompt') })
  }

  /**
   * Replaces the user's message for the destination, for this turn.
   *
   * @throws `FlowCodeError` unless the transition is a `go` or a `finish`.
   */
  withMessage(text: string): Transition<State> {
    refuseModifier(this.fields.kind, 'withMessage')
    return this.#with({ message: requireText(text, 'withMessage') })
  }

  /**
   * Puts `text` before the reply that follows, in one reply: the answer to a question in between, before the open
   * question. It is an error if that reply is not plain text.
   *
   * @throws `FlowCodeError` unless the transition is a `back`, a `go` or a `call`.
   * @example
   * ```ts
   * return back().withLead('We are open from 9 to 5.')
   * ```
   */
  withLead(text: string): Transition<State> {
    refuseModifier(this.fields.kind, 'withLead')
    return this.#with({ lead: requireText(text, 'withLead') })
  }

  /**
   * Adds parts to the reply: buttons, cards, forms, files. Its text must say enough for clients that show only text.
   * After `stay` they are sent only if the feedback answers the user. With `withLead` alone they go into the reply that
   * follows, except `choices`. The text must be set before.
   *
   * @param parts - Made with `turnkeeper/parts`: at most 8, of 16 KiB as JSON, with at most one `choices`.
   * @throws `FlowCodeError` for anything else, without a text, and for a reply of bytes.
   * @example
   * ```ts
   * return reply('Which size?').withParts([choices('size', [{ value: 's', label: 'Small' }])])
   * ```
   */
  withParts(parts: readonly ReplyPart[]): Transition<State> {
    refuseModifier(this.fields.kind, 'withParts')
    if (!Array.isArray(parts) || ![...parts].every(isReplyPart)) {
      throw flowCodeError('withParts needs parts made with turnkeeper/parts.')
    }
    checkParts(parts)
    return this.#with({ parts: Object.freeze([...parts]) })
  }

  /** For tools only: the result that the model receives for its call. Default `'Done.'`. */
  withFeedback(text: string): Transition<State> {
    return this.#with({ feedback: requireText(text, 'withFeedback') })
  }

  #with(fields: Partial<TransitionFields>): Transition<State> {
    return new Transition<State>({ ...this.fields, ...fields }).#checked()
  }

  #checked(): this {
    const { encoding, reply, feedback, kind, lead, parts } = this.fields
    if (encoding === 'base64' && reply !== undefined) checkBase64(reply)
    if (parts === undefined) return this
    const text = kind === 'stay' ? feedback : (reply ?? lead)
    if (text === undefined || text.trim() === '') {
      throw flowCodeError('Parts need a reply with a text, for clients without parts.')
    }
    if (encoding !== undefined) throw flowCodeError('A reply of bytes may not have parts.')
    return this
  }
}

/**
 * Rejects a reply that is not valid base64: a turn must not commit a reply that HTTP cannot send.
 *
 * @internal
 */
export function checkBase64(reply: string): void {
  if (isBase64(reply)) return
  throw flowCodeError('The reply must be bytes in base64: the standard alphabet, padded, without line breaks.')
}

/** Refuses too many parts, and two lists of choices. */
function checkParts(parts: readonly ReplyPart[]): void {
  const lists = parts.filter(({ type }) => type === 'choices').length
  if (parts.length > maxParts || lists > 1 || utf8Length(JSON.stringify(parts)) > maxPartBytes) {
    throw flowCodeError(`A reply may have at most ${maxParts} parts, ${maxPartBytes} bytes, and one list of choices.`)
  }
}

/** The state of the target step of `go`. */
export type StateOf<Target> = Target extends new () => { state: infer State } ? State : Record<string, unknown>

/**
 * Moves to a step, which runs in this turn. With `withReply` the turn answers now, and the next turn runs the step.
 *
 * @param target - A step of this flow: its class or its ID.
 * @example
 * ```ts
 * return go(Confirm).withState({ name: 'Ada Lovelace' })
 * ```
 */
export function go<Target extends StepTarget | string>(target: Target): Transition<StateOf<Target>> {
  if (typeof target !== 'function' && typeof target !== 'string') {
    throw flowCodeError(`go needs a step class or a step ID; got ${shownValue(target)}.`)
  }
  return new Transition({ kind: 'go', target })
}

/**
 * Enters a step or a flow, and remembers the current step, to which {@link back} returns. A called flow returns by
 * `finish`, too, and need not know that it was called. At most 8 steps are open at once.
 *
 * @param target - A step of this flow, or a flow among its steps: its class or its ID.
 * @param options - `state`: merged into the state of the step that is entered, as by `withState`. Default: none.
 * @example
 * ```ts
 * override onMessage({ message }: Turn) {
 *   if (/open/.test(message)) return call(Hours)
 * }
 * ```
 */
export function call<Target extends StepTarget | FlowTarget | string>(
  target: Target,
  options: { readonly state?: Partial<StateOf<Target>> } = {},
): Transition<StateOf<Target>> {
  if (typeof target !== 'function' && typeof target !== 'string') {
    throw flowCodeError(`call needs a step, a flow or an ID; got ${shownValue(target)}.`)
  }
  const transition = new Transition<StateOf<Target>>({ kind: 'call', target })
  const { state, ...unknown } = Object(options) as typeof options
  if (Object.keys(unknown).length > 0) throw flowCodeError('call takes only { state }.')
  return state === undefined ? transition : transition.withState(state)
}

/**
 * Returns to the step that called this one. That step runs again, with `turn.entered` set, and so asks its question
 * again; its `onEnter` is not called. With `withReply` the turn answers now, and that step does not run.
 *
 * @param value - For the step that called: `turn.returned.value`. It is not stored. Default: none.
 * @example
 * ```ts
 * return back().withLead('We are open from 9 to 5.')
 * ```
 */
export function back(value?: unknown): Transition {
  return new Transition(value === undefined ? { kind: 'back' } : { kind: 'back', value })
}

/**
 * Answers from the current step, without calling a model. The turn ends.
 *
 * @param content - A text, or an object that is sent as JSON (with the content type Plain, unless another is set).
 * Default: no reply. The turn commits, the user sees nothing, and no memory gets a reply.
 * @example
 * ```ts
 * return reply('name,age\nAda,36').withContentType(HttpContentType.Csv)
 * ```
 */
export function reply(...content: [content?: ReplyContent]): Transition {
  // Not a type that the step has set: nothing is sent.
  if (content.length === 0) return new Transition({ kind: 'reply', reply: '', contentType: 'text/plain' })
  return new Transition({ kind: 'reply', reply: replyText(content[0], 'reply') })
}

/**
 * Stays in the current step. From a tool, the model reads `feedback` as the tool's result and continues. From `run` and
 * `onEnter`, `feedback` is the reply to the user and the turn ends. From `onReply` it works like {@link retry}.
 *
 * @param feedback - Required in `run`, `onEnter` and `onReply`. In a tool the default is `'Done.'`.
 */
export function stay(feedback?: string): Transition {
  if (feedback === undefined) return new Transition({ kind: 'stay' })
  return new Transition({ kind: 'stay', feedback: requireText(feedback, 'stay') })
}

/**
 * Lets the model answer again in this turn. From `onReply`, the model reads `reason` as the next message; from a tool,
 * as the tool's result. From `run`, `onEnter` and the hooks for model failures it is an error, because there is no
 * answer to repeat.
 *
 * @param reason - What to do differently. Only the model reads it.
 * @example
 * ```ts
 * override onReply(text: string) {
 *   return text.length > 600 ? retry('That was too long. Two sentences.') : text
 * }
 * ```
 */
export function retry(reason: string): Transition {
  return new Transition({ kind: 'retry', feedback: requireText(reason, 'retry') })
}

/**
 * Whether a tool or `onReply` that returned this transition continues with the model.
 *
 * @internal
 */
export function returnsToModel({ fields }: Transition): boolean {
  return fields.kind === 'stay' || fields.kind === 'retry'
}

/**
 * Moves to the first end step of the flow, or else to {@link End}. The turn ends and the session is completed.
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
    throw flowCodeError(`${builder} needs a text or an object; got ${shownValue(content)}.`)
  }
  return JSON.stringify(copyJson(content, 'content', maxStateDepth, refuse(`${builder} cannot send this`)))
}

function refuse(what: string): (problem: string, cause: Error) => Error {
  return (problem, cause) => flowCodeError(`${what}: ${problem}.`, cause)
}

function requireText(text: unknown, builder: string): string {
  if (typeof text === 'string') return text
  throw flowCodeError(`${builder} needs a text; got ${shownValue(text)}.`)
}
