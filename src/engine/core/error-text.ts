/**
 * From anything thrown to a {@link FlowError} whose message may leave the process, and from there to the text that a
 * user gets. Texts of flow code go out as they are, cut and with credentials blacked out; the engine's own sentences
 * are not changed. The option `errorText` decides which of both go out at all.
 */

import { flowCodeError, isMadeByEngine } from '../../errors/engine-errors.js'
import type { FlowErrorCode } from '../../errors/error-facts.js'
import type { AnyFlowError } from '../../errors/flow-error.js'
import { FlowError } from '../../errors/flow-error.js'
import { redact, redacted } from '../../util/redaction.js'
import { cutText } from '../../util/shown-name.js'
import type { EngineContext } from './engine-context.js'
import type { FailedTurn } from './engine-options.js'
import { maskText } from './mask-text.js'

/** Characters of a text that is not the engine's own. */
const maxTextLength = 500

/** Characters that are looked at: enough that what the cut leaves is clean, and no more, for time grows with them. */
const maxRawLength = 4000

/** Characters before a cut in which groups of a card or an account number are looked for: more than any of them has. */
const maxGroupsLength = 60

/** What was thrown, as a text that may go out. Never throws itself. */
export function thrownText(thrown: unknown): string {
  return shorten(uncutText(thrown), maxTextLength)
}

/** The same before it is cut at {@link maxTextLength}. */
function uncutText(thrown: unknown): string {
  const raw = rawText(thrown)
  const words = firstWords(raw)
  if (words !== '' || raw === '') return redact(words)
  // There is no place to cut: half a secret may stand at the end. The cut that follows removes it, unless
  // redaction has shortened the text.
  const text = raw.slice(0, maxRawLength)
  const clean = redact(text)
  return clean === text ? text : clean.slice(0, clean.indexOf(redacted) + redacted.length)
}

function shorten(text: string, length: number): string {
  return text.length > length ? `${cutText(text, length - 1)}…` : text
}

/** What flow code threw, as a {@link FlowError}. */
export function asFlowError(thrown: unknown): AnyFlowError {
  return FlowError.isInstance(thrown) ? thrown : flowCodeError(thrownText(thrown), thrown)
}

/** The codes of errors that flow code throws to speak to the user, and of bad input. */
const codesForUsers: readonly FlowErrorCode[] = ['FLOW_ERROR', 'TOOL_ERROR', 'INVALID_INPUT']

/** The text of an error for the user, as the option `errorText` has it. An error whose text is not sent is logged. */
export function userText(engine: EngineContext, error: AnyFlowError, turn: FailedTurn): string {
  const text = chooseText(engine.errorText, error, turn)
  if (text !== error.message || error.details !== undefined) logFailure(engine, error, turn)
  return text
}

function chooseText(errorText: EngineContext['errorText'], error: AnyFlowError, turn: FailedTurn): string {
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

/**
 * A text of an error as it may be stored, reported and logged; the fixed sentence where the option `mask` fails.
 *
 * @param cause What was thrown. Where the text holds what is left of its text after a cut, the mask gets it without the
 *   cut, for it would not know half an address. The answer is cut instead.
 */
export function maskedText(
  { mask }: Pick<EngineContext, 'mask'>,
  text: string,
  turn: FailedTurn,
  cause: unknown,
): string {
  if (mask === undefined) return text
  const uncut = cause === undefined ? '' : uncutText(cause)
  const asked = uncut.length > maxTextLength ? text.replace(shorten(uncut, maxTextLength), () => uncut) : text
  try {
    const masked = maskText(mask, asked, 'reply')
    if (asked === text) return masked
    return masked === asked ? text : shorten(masked, text.length)
  } catch {
    return fixedText(turn)
  }
}

/**
 * The error that events get. With the option `mask` it has masked texts, and that of its cause in place of the cause.
 */
export function maskedError(engine: Pick<EngineContext, 'mask'>, error: AnyFlowError, turn: FailedTurn): AnyFlowError {
  if (engine.mask === undefined) return error
  const { code, details } = error
  const masked = (text: string): string => maskedText(engine, text, turn, error.cause)
  return new FlowError({
    code,
    message: masked(error.message),
    ...(details === undefined ? {} : { details: masked(details) }),
    ...(error.cause === undefined ? {} : { cause: masked(thrownText(error.cause)) }),
  })
}

/** Logs a failure whose text is not sent. */
export function logFailure(engine: EngineContext, failure: AnyFlowError, turn: FailedTurn): void {
  const { logger } = engine
  const error = maskedError(engine, failure, turn)
  const { message, code, details } = error
  // Only its text: what a provider or a store throws may hold the conversation. The event
  // `turn:error` has the error itself.
  const cause = error.cause === undefined ? undefined : thrownText(error.cause)
  const log = async (): Promise<void> => logger.error(message, { ...turn, code, details, cause })
  // A logger that throws or rejects must not touch the reply.
  log().catch(() => undefined)
}

/**
 * A long text up to where no secret is cut in two, for half of one would not be recognised. Cut is at the last white
 * space, and groups of capitals and digits before it are dropped, which may be half a card. In a text without white
 * space it is cut where the values of names end; what follows a `://` there may be half a user and is dropped, too.
 * Empty where there is no such place.
 */
function firstWords(text: string): string {
  if (text.length <= maxRawLength) return text
  const words = cutAfter(text, /\s/)
  if (words === '') return cutAfter(text, /["'`&,;<>]/).replace(/:\\?\/\\?\/[^\s/?#]*$/, '')
  const groups = words.slice(-maxGroupsLength)
  return words.slice(0, -maxGroupsLength) + groups.replace(/(?:\b[A-Z\d]{1,19}[\s-])+$/, '')
}

/**
 * The start of a long text up to the last of these characters. A loop, for a pattern would
 * search on from each character.
 */
function cutAfter(text: string, sign: RegExp): string {
  let end = maxRawLength
  while (end > 0 && !sign.test(text.charAt(end - 1))) end--
  return text.slice(0, end)
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
