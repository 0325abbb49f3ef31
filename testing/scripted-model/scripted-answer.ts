/**
 * One reply of a script: what it may say, whether it is valid, and what it becomes: pieces of text, a failure, a whole
 * response. `scripted-model/scripted-model.ts` decides when each is sent.
 */
import type { JsonValue, MessagePart, ModelFailure, ModelRequest, ModelResponse, TokenUsage } from '../../src/index.js'
import { findUnknownName } from '../../src/util/options.js'
import { askedOf, count, ExpectationError, list, show, whereOf } from '../expectations/expectation-error.js'

/**
 * JSON in a script. A property may be `undefined` for the compiler, which adds such properties where objects of
 * different shapes stand in one list.
 */
export type ScriptedJson =
  | string
  | number
  | boolean
  | null
  | readonly ScriptedJson[]
  | { readonly [name: string]: ScriptedJson | undefined }

/** A tool call in a script. */
export interface ScriptedToolCall {
  readonly name: string
  /** Default `{}`. */
  readonly input?: ScriptedJson
  /**
   * The model writes arguments that are not valid JSON: what the provider reports, as in `ToolCallPart`. Default: valid
   * ones.
   */
  readonly invalidInput?: string
  /** Default: `call-1`, `call-2` and so on. */
  readonly id?: string
  /**
   * `false` if the model is meant to call a tool that the step does not offer. Default: that is a mistake in the
   * script.
   */
  readonly offered?: false
}

/** A failure of a provider, as its client reports it. @inline */
export interface ScriptedFailure extends Omit<ModelFailure, 'responseHeaders'> {
  /** Milliseconds that the provider asks to wait, as in the header `retry-after-ms`. Default: none. */
  readonly retryAfterMs?: number
  /** Default: a message that names the status. */
  readonly message?: string
}

/**
 * A full answer. In a stream it comes in pieces: the reasoning, then the text word by word, each word with the spaces
 * before it, then the whole answer. Without a stream the same time passes, and the whole answer comes at once.
 */
export interface ScriptedAnswer {
  readonly text?: string
  /** The text in the pieces in which it is streamed. Default: `text`, word by word. */
  readonly chunks?: readonly string[]
  /** The text is this value, as JSON. If the step has no `output`, that is a mistake in the script. */
  readonly output?: ScriptedJson
  /** What the model thinks before it answers. */
  readonly reasoning?: string
  readonly toolCalls?: readonly ScriptedToolCall[]
  /** The provider refuses to answer, with this text: the turn fails with `MODEL_BLOCKED`. */
  readonly refusal?: string
  /** The call fails with this error. Only one that looks like a `ModelFailure` is tried again. */
  readonly error?: Error
  /** The call fails as an HTTP request does: with this status, or with more details. */
  readonly failure?: number | ScriptedFailure
  /**
   * The connection breaks after that many pieces of text, or fails with the `error` or `failure` of the reply. A stream
   * ends without its last part; a call without a stream fails as a broken network does.
   */
  readonly cutAfter?: number
  /** Nothing comes after that many pieces of text, and the answer does not end. */
  readonly stallAfter?: number
  /** Milliseconds on the model's clock before the answer. `Infinity`: it never comes. Default 0. */
  readonly delayMs?: number
  /** Milliseconds on the model's clock between two pieces of text. Default 0. */
  readonly chunkDelayMs?: number
  /** Default: what the parts imply. */
  readonly finishReason?: NonNullable<ModelResponse['finishReason']>
  /** What the call cost. Default: nothing. */
  readonly usage?: TokenUsage
}

/** One reply in a script: a text, a full answer, or an error to reject with. */
export type ScriptedReply = string | Error | ScriptedAnswer

/** All that an answer may say. */
const known = {
  text: true,
  chunks: true,
  output: true,
  reasoning: true,
  toolCalls: true,
  refusal: true,
  error: true,
  failure: true,
  cutAfter: true,
  stallAfter: true,
  delayMs: true,
  chunkDelayMs: true,
  finishReason: true,
  usage: true,
} as const satisfies Record<keyof ScriptedAnswer, true>

/** All that a tool call may say. */
const knownOfCall = {
  name: true,
  input: true,
  invalidInput: true,
  id: true,
  offered: true,
} as const satisfies Record<keyof ScriptedToolCall, true>

/** Whether a value is an object that has no other properties than these. */
function isObjectOf(names: object, value: unknown): boolean {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false
  return findUnknownName(value, names) === undefined
}

/** A validated answer. */
export interface PlayedAnswer {
  /** The reasoning, in pieces. */
  readonly thoughts: readonly string[]
  /** The text, in pieces: those that come before it fails, is cut or stalls. */
  readonly pieces: readonly string[]
  /** Milliseconds before the first piece, or before the whole answer if there is no piece. */
  readonly delayMs: number
  readonly chunkDelayMs: number
  /** How it ends; `response` makes the answer. */
  readonly end: 'stalled' | 'cut' | { readonly error: Error } | { response(newCallId: () => string): ModelResponse }
}

/** Makes the error for a mistake in a script. */
type Mistake = (problem: string, advice: string) => ExpectationError

/**
 * What a model does for a reply.
 *
 * @throws {@link ExpectationError} if the reply is invalid, or does not fit this request.
 */
export function playedAnswer(reply: ScriptedReply, request: ModelRequest): PlayedAnswer {
  const answer = typeof reply === 'string' ? { text: reply } : reply instanceof Error ? { error: reply } : reply
  const mistake: Mistake = (problem, advice) =>
    new ExpectationError(`${problem} (${whereOf(request)}).\n${askedOf(request)}\n${advice}`)
  if (!isObjectOf(known, answer))
    throw mistake(
      `The script has an invalid reply: ${show(answer, 100)}`,
      `A reply is a text, an Error, or an object of ${Object.keys(known).join(', ')}.`,
    )
  const { chunks, reasoning, refusal, cutAfter, stallAfter, delayMs = 0, chunkDelayMs = 0 } = answer
  const text = chunks?.join('') ?? saidBy(answer)
  const pieces = [...(chunks ?? piecesOf(text)), ...piecesOf(refusal)]
  checkText(answer, text, request, mistake)
  checkStops(answer, pieces, mistake)
  checkToolCalls(answer, request, mistake)

  const error = errorIn(answer)
  // A failure without a cut comes in place of the answer.
  const isInstead = error !== undefined && cutAfter === undefined && stallAfter === undefined
  const stop = Math.min(cutAfter ?? pieces.length, stallAfter ?? pieces.length)
  return {
    thoughts: isInstead ? [] : piecesOf(reasoning),
    pieces: isInstead ? [] : pieces.slice(0, stop),
    delayMs,
    chunkDelayMs,
    end: endOf(answer, error, text),
  }
}

/** The text, without its chunks. */
function saidBy({ text, output }: ScriptedAnswer): string | undefined {
  return text ?? (output === undefined ? undefined : JSON.stringify(output))
}

function checkText(answer: ScriptedAnswer, text: string | undefined, request: ModelRequest, mistake: Mistake): void {
  const { chunks, output } = answer
  const said = saidBy(answer)
  if (output !== undefined && answer.text !== undefined)
    throw mistake(`The script says both text and output: ${show(answer, 100)}`, 'Leave one of them out.')
  if (chunks !== undefined && said !== undefined && text !== said)
    throw mistake(
      `The chunks in the script, joined, are not its text: ${show(text, 60)} for ${show(said, 60)}`,
      'Leave out the text: the chunks already have it.',
    )
  if (output !== undefined && request.output === undefined)
    throw mistake(
      'The script answers with output, and the step asks for none',
      'Give the step an output schema, or write the JSON as text if the model is meant to answer so unasked.',
    )
}

function checkStops({ cutAfter, stallAfter }: ScriptedAnswer, pieces: readonly string[], mistake: Mistake): void {
  for (const [name, after] of Object.entries({ cutAfter, stallAfter })) {
    if (after === undefined || (Number.isInteger(after) && after >= 0 && after <= pieces.length)) continue
    throw mistake(
      `The script says ${name}: ${after}, and its text has ${count(pieces.length, 'piece')}: ${show(pieces, 100)}`,
      `Write a number from 0 to ${pieces.length}.`,
    )
  }
}

function checkToolCalls({ toolCalls = [] }: ScriptedAnswer, request: ModelRequest, mistake: Mistake): void {
  const invalid = Array.isArray(toolCalls) ? toolCalls.filter((call) => !isObjectOf(knownOfCall, call)) : [toolCalls]
  if (invalid.length > 0)
    throw mistake(
      `The script has an invalid tool call: ${show(invalid[0], 100)}`,
      `toolCalls is a list, and each tool call is an object of ${Object.keys(knownOfCall).join(', ')}.`,
    )
  const offered = request.tools.map(({ name }) => name)
  const missing = toolCalls.filter((call) => call.offered !== false && !offered.includes(call.name))
  if (missing.length > 0)
    throw mistake(
      `The script calls a tool that the step does not offer: '${list(missing.map(({ name }) => name))}'`,
      'Correct the name, or set offered: false if the model is meant to be wrong.',
    )
}

function errorIn({ error, failure }: ScriptedAnswer): Error | undefined {
  return error ?? (failure === undefined ? undefined : errorOf(failure))
}

function endOf(answer: ScriptedAnswer, error: Error | undefined, text: string | undefined): PlayedAnswer['end'] {
  const { cutAfter, stallAfter } = answer
  if (stallAfter !== undefined && stallAfter <= (cutAfter ?? stallAfter)) return 'stalled'
  if (error !== undefined) return { error }
  if (cutAfter !== undefined) return 'cut'
  return { response: (newCallId) => responseOf(answer, text, newCallId) }
}

/** The error of a call without a stream whose answer is cut. */
export function cutError(): Error {
  return errorOf({
    isRetryable: true,
    message: 'The connection broke in the middle of the answer, as the script says.',
  })
}

/** A text cut before the spaces that precede a word. */
function piecesOf(text = ''): string[] {
  return text.match(/\s*\S+(?:\s+$)?|^\s+$/g) ?? []
}

function errorOf(failure: number | ScriptedFailure): Error {
  const { retryAfterMs, message, ...facts } = typeof failure === 'number' ? { statusCode: failure } : failure
  const status = facts.statusCode === undefined ? '' : ` with status ${facts.statusCode}`
  return Object.assign(new Error(message ?? `The provider failed${status}, as the script says.`), {
    ...facts,
    ...(retryAfterMs === undefined ? {} : { responseHeaders: { 'retry-after-ms': String(retryAfterMs) } }),
  })
}

function responseOf(
  { reasoning, refusal, toolCalls = [], finishReason, usage }: ScriptedAnswer,
  text: string | undefined,
  newCallId: () => string,
): ModelResponse {
  const parts: MessagePart[] = []
  if (reasoning !== undefined) parts.push({ type: 'reasoning', text: reasoning })
  if (text !== undefined) parts.push({ type: 'text', text })
  if (refusal !== undefined) parts.push({ type: 'text', text: refusal })
  for (const { name, input = {}, invalidInput, id } of toolCalls) {
    const invalid = invalidInput === undefined ? {} : { invalidInput }
    parts.push({
      type: 'tool-call',
      toolCallId: id ?? newCallId(),
      toolName: name,
      input: input as JsonValue,
      ...invalid,
    })
  }
  const reason = finishReason ?? (refusal === undefined ? undefined : 'content-filter')
  return {
    parts,
    ...(reason === undefined ? {} : { finishReason: reason }),
    ...(usage === undefined ? {} : { usage }),
  }
}
