/**
 * From anything thrown to a {@link FlowError} whose message may leave the process, and from there to the text that a user gets.
 * Texts of flow code go out as they are, cut and with credentials blacked out; the engine's own sentences are not changed. The
 * option `errorText` decides which of both go out at all.
 */
import { flowCodeError, isMadeByEngine } from '../errors/engine-errors.js'
import { FlowError, type FlowErrorCode } from '../errors/flow-error.js'
import { cutText } from '../util/cut-text.js'
import { redact } from '../util/redaction.js'
import type { EngineContext } from './engine-context.js'
import type { FailedTurn } from './engine-options.js'
import { maskText } from './mask-text.js'

/** Characters of a text that is not the engine's own. */
const maxTextLength = 500

/** Characters that are looked at: enough that what the cut leaves is clean, and no more, for time grows with them. */
const maxRawLength = 4000

/** What was thrown, as a text that may go out. Never throws itself. */
export function thrownText(thrown: unknown): string {
  const text = redact(firstWords(rawText(thrown)))
  return text.length > maxTextLength ? `${cutText(text, maxTextLength - 1)}…` : text
}

/** What flow code threw, as a {@link FlowError}. */
export function asFlowError(thrown: unknown): FlowError {
  return FlowError.isInstance(thrown) ? thrown : flowCodeError(thrownText(thrown), thrown)
}

/** The codes of errors that flow code throws to speak to the user, and of bad input. */
const codesForUsers: readonly FlowErrorCode[] = ['FLOW_ERROR', 'TOOL_ERROR', 'INVALID_INPUT']

/** The text of an error for the user, as the option `errorText` has it. An error whose text is not sent is logged. */
export function userText(engine: EngineContext, error: FlowError, turn: FailedTurn): string {
  const text = chooseText(engine.errorText, error, turn)
  if (text !== error.message || error.details !== undefined) logFailure(engine, error, turn)
  return text
}

function chooseText(errorText: EngineContext['errorText'], error: FlowError, turn: FailedTurn): string {
  if (errorText === 'full') return error.message
  if (errorText === 'flow') return isForUsers(error, turn) ? error.message : fixedText(turn)
  try {
    const text: unknown = errorText(error, turn)
    if (typeof text === 'string') return text
    // A promise is not awaited, and if it rejects, nobody else would handle that.
    Promise.resolve(text).catch(() => undefined)
    return fixedText(turn)
  } catch {
    return fixedText(turn)
  }
}

/** What the engine says of flow code, its models and its prompts is for their author. */
function isForUsers(error: FlowError, { turnId }: FailedTurn): boolean {
  if (!codesForUsers.includes(error.code)) return false
  // Input is refused before there is a turn.
  return (error.code === 'INVALID_INPUT' && turnId === undefined) || !isMadeByEngine(error)
}

function fixedText({ turnId }: FailedTurn): string {
  return turnId === undefined ? 'Something went wrong.' : `Something went wrong. Reference: ${turnId}.`
}

/** A text of an error as it may be stored, reported and logged; the fixed sentence where the option `mask` fails. */
export function maskedText({ mask }: Pick<EngineContext, 'mask'>, text: string, turn: FailedTurn): string {
  if (mask === undefined) return text
  try {
    return maskText(mask, text, 'reply')
  } catch {
    return fixedText(turn)
  }
}

/** The error that events get. With the option `mask` it has masked texts, and that of its cause in place of the cause. */
export function maskedError(engine: Pick<EngineContext, 'mask'>, error: FlowError, turn: FailedTurn): FlowError {
  if (engine.mask === undefined) return error
  const { code, statusCode, details } = error
  const masked = (text: string): string => maskedText(engine, text, turn)
  return new FlowError({
    code,
    statusCode,
    message: masked(error.message),
    ...(details === undefined ? {} : { details: masked(details) }),
    ...(error.cause === undefined ? {} : { cause: masked(thrownText(error.cause)) }),
  })
}

/** Logs a failure whose text is not sent. */
export function logFailure(engine: EngineContext, failure: FlowError, turn: FailedTurn): void {
  const { logger } = engine
  const error = maskedError(engine, failure, turn)
  const { message, code, details } = error
  // Only its text: what a provider or a store throws may hold the conversation. The event `turn:error` has the error itself.
  const cause = error.cause === undefined ? undefined : thrownText(error.cause)
  const log = async (): Promise<void> => logger.error(message, { ...turn, code, details, cause })
  // A logger that throws or rejects must not touch the reply.
  log().catch(() => undefined)
}

/** Whole words only: half a credential would not be recognised as one. */
function firstWords(text: string): string {
  if (text.length <= maxRawLength) return text
  let end = maxRawLength
  while (end > 0 && /\S/.test(text.charAt(end - 1))) end--
  return text.slice(0, end || maxRawLength)
}

function rawText(thrown: unknown): string {
  try {
    for (const text of [(thrown as { message?: unknown } | null | undefined)?.message, thrown]) {
      if (typeof text === 'string' && text !== '') return text
    }
    return `Something without a message was thrown: ${thrown instanceof Error ? thrown.name : String(thrown)}.`
  } catch {
    return 'Something without a message was thrown.'
  }
}
