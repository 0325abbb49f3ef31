/**
 * The parts of a model's answer, checked, copied and frozen. Providers may not follow their types. A mistake of the
 * model is not an error here: a call with unreadable arguments is returned to the model, and a call with a missing or
 * repeated ID gets a new one.
 */

import { ModelBlockedError } from '../../errors/engine-errors.js'
import type { Message, MessagePart, TextPart, ToolCallPart } from '../../model/message.js'
import type { ModelResponse } from '../../model/model-provider.js'
import type { ResolvedModel } from '../../model/model-registry.js'
import { copyJson, deepFreeze, isPlainObject, type JsonError, type JsonObject } from '../../util/json.js'
import { isToolName, toToolName } from '../../util/patterns.js'
import { cutText } from '../../util/shown-name.js'
import { modelError } from './model-answer.js'

/** The facts needed to check the parts of an answer. */
export interface AnswerContext {
  readonly resolved: ResolvedModel
  readonly maxJsonDepth: number
  /** The messages of the request. No call may reuse the ID of a call in them. */
  readonly messages: readonly Message[]
  /**
   * The prefix of IDs that the engine gives to calls: letters, digits and `_`, because some providers accept no others.
   * It differs for each answer of a session.
   */
  readonly newIdPrefix: string
}

/** Longer texts about arguments are cut, because they contain the arguments. */
const maxInvalidInput = 300

/**
 * The parts of an answer.
 *
 * @throws {@link ModelBlockedError} | `ModelError`
 */
export function partsOf(response: ModelResponse, context: AnswerContext): readonly MessagePart[] {
  const { resolved } = context
  if (!isPlainObject(response) || !Array.isArray(response.parts)) {
    throw modelError(resolved, 'It answered without a list of parts.')
  }
  const { name: model, provider } = resolved.selection
  if (response.finishReason === 'content-filter') throw new ModelBlockedError({ provider, model })
  if (response.finishReason === 'error') throw modelError(resolved, 'It stopped with an error.')
  let ids: CallIds | undefined
  return response.parts.map((part: MessagePart) => {
    if (part?.type !== 'tool-call') return textPartOf(part, context)
    ids ??= new CallIds(context)
    return callOf(part, context, ids)
  })
}

function textPartOf(part: MessagePart, context: AnswerContext): MessagePart {
  if ((part?.type !== 'text' && part?.type !== 'reasoning') || typeof part.text !== 'string') {
    throw wrongPart(context)
  }
  return Object.freeze({ type: part.type, text: part.text, ...providerDataOf(part, context) })
}

function callOf(part: ToolCallPart, context: AnswerContext, ids: CallIds): ToolCallPart {
  const { type, toolName } = part
  if (typeof toolName !== 'string') {
    throw wrongPart(context)
  }
  const toolCallId = ids.take(part.toolCallId)
  // No tool has another name, and providers refuse such a call in later requests.
  const arguments_ = isToolName(toolName) ? inputOf(part, context) : unreadable('The name of the tool is not valid.')
  return Object.freeze({
    type,
    toolCallId,
    toolName: toToolName(toolName),
    ...arguments_,
    ...providerDataOf(part, context),
  })
}

function wrongPart({ resolved }: AnswerContext): Error {
  return modelError(resolved, 'It answered with a part that is not a text, a reasoning or a tool call.')
}

/** The arguments of a call, or the reason that they cannot be read. */
function inputOf(part: ToolCallPart, { maxJsonDepth }: AnswerContext): Pick<ToolCallPart, 'input' | 'invalidInput'> {
  const { invalidInput } = part
  if (typeof invalidInput === 'string') return unreadable(invalidInput)
  const input: unknown = part.input ?? {}
  // Providers refuse a call with anything else in later requests.
  if (!isPlainObject(input)) return unreadable('They are not a JSON object.')
  try {
    return { input: deepFreeze(copyJson(input, 'input', maxJsonDepth)) }
  } catch (error) {
    const { isTooDeep, message } = error as JsonError
    return unreadable(isTooDeep === true ? `They are nested deeper than ${maxJsonDepth} levels.` : message)
  }
}

function unreadable(problem: string): Pick<ToolCallPart, 'input' | 'invalidInput'> {
  return { input: Object.freeze({}), invalidInput: cutText(problem, maxInvalidInput) }
}

/** The IDs of the calls in a memory and in an answer. */
class CallIds {
  readonly #messages: readonly Message[]
  readonly #prefix: string
  /** All IDs; `undefined` until there is a second call, because most answers have one at most. */
  #used: Set<string> | undefined
  #first: string | undefined
  #made = 0

  constructor({ messages, newIdPrefix }: AnswerContext) {
    this.#messages = messages
    this.#prefix = newIdPrefix
  }

  /** The ID of a call: its own, or a new one if it has none, or another call has the same. */
  take(given: unknown): string {
    if (this.#first !== undefined) this.#used ??= idsIn(this.#messages).add(this.#first)
    let id = given
    while (typeof id !== 'string' || id === '' || this.#isTaken(id)) id = `${this.#prefix}_${++this.#made}`
    this.#first ??= id
    this.#used?.add(id)
    return id
  }

  #isTaken(id: string): boolean {
    return this.#used?.has(id) ?? this.#messages.some(({ parts }) => parts.some((part) => isCall(part, id)))
  }
}

function idsIn(messages: readonly Message[]): Set<string> {
  const ids = new Set<string>()
  for (const { parts } of messages) for (const part of parts) if (part.type === 'tool-call') ids.add(part.toolCallId)
  return ids
}

function isCall(part: MessagePart, id: string): boolean {
  return part.type === 'tool-call' && part.toolCallId === id
}

function providerDataOf(
  part: MessagePart,
  { resolved, maxJsonDepth }: AnswerContext,
): { readonly providerData?: JsonObject } | undefined {
  const data: unknown = (part as Partial<TextPart>).providerData
  if (data === undefined) return undefined
  const refuse = (_problem: string, cause?: Error): Error =>
    modelError(resolved, 'It answered with providerData that is not a JSON object.', cause)
  if (!isPlainObject(data)) throw refuse('')
  return { providerData: deepFreeze(copyJson(data, 'providerData', maxJsonDepth, refuse) as JsonObject) }
}
