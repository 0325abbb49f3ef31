/**
 * Converts anything thrown to a {@link FlowError} whose message may leave the process, and that to the text for the
 * user. Texts of flow code are shortened and credentials in them redacted; the engine's own messages are not changed.
 * The option `errorText` decides which texts are sent at all.
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

/** The most characters of a text that is not the engine's own. */
const maxTextLength = 500

/**
 * The number of examined characters: enough to clean the shortened text, but bounded, because the time grows with it.
 */
const maxRawLength = 4000

/**
 * The number of characters before a cut in which to look for groups of a card or account number: more than any of them
 * has.
 */
const maxGroupsLength = 60

/** The text of anything thrown, safe to send. Never throws itself. */
export function thrownText(thrown: unknown): string {
  return shorten(uncutText(thrown), maxTextLength)
}

/** The same before it is cut at {@link maxTextLength}. */
function uncutText(thrown: unknown): string {
  const raw = rawText(thrown)
  const words = firstWords(raw)
  if (words !== '' || raw === '') return redact(words)
  // There is no safe place to cut, so half a secret may be at the end. The following cut removes it, unless redaction
  // has shortened the text.
  const text = raw.slice(0, maxRawLength)
  const clean = redact(text)
  return clean === text ? text : clean.slice(0, clean.indexOf(redacted) + redacted.length)
}

function shorten(text: string, length: number): string {
  return text.length > length ? `${cutText(text, length - 1)}…` : text
}

/** Converts anything that flow code threw to a {@link FlowError}. */
export function asFlowError(thrown: unknown): AnyFlowError {
  return FlowError.isInstance(thrown) ? thrown : flowCodeError(thrownText(thrown), thrown)
}

/** The codes of errors that flow code throws to speak to the user, and of bad input. */
const codesForUsers: readonly FlowErrorCode[] = ['FLOW_ERROR', 'TOOL_ERROR', 'INVALID_INPUT']

/**
 * The text of an error for the user, according to the option `errorText`. An error whose text is not sent is logged,
 * unless it is an event that came too late: that happens every day.
 */
export function userText(engine: EngineContext, error: AnyFlowError, turn: FailedTurn): string {
  const text = chooseText(engine.errorText, error, turn)
  const isLate = error.code === 'EVENT_NOT_TAKEN'
  if (!isLate && (text !== error.message || error.details !== undefined)) logFailure(engine, error, turn)
  return text
}

function chooseText(errorText: EngineContext['errorText'], error: AnyFlowError, turn: FailedTurn): string {
  if (errorText === 'full') return error.message
  if (errorText === 'flow') return isForUsers(error, turn) ? error.message : fixedText(turn)
  try {
    const text: unknown = errorText(error, turn)
    if (typeof text === 'string') return text
    // A promise is not awaited, so its rejection must be handled here.
    Promise.resolve(text).catch(() => undefined)
    return fixedText(turn)
  } catch {
    return fixedText(turn)
  }
}

/** The engine's messages about flow code, models and prompts are for the flow's author. */
function isForUsers(error: FlowError, { turnId }: FailedTurn): boolean {
  if (!codesForUsers.includes(error.code)) return false
  // Input is refused before there is a turn.
  return (error.code === 'INVALID_INPUT' && turnId === undefined) || !isMadeByEngine(error)
}

function fixedText({ turnId }: FailedTurn): string {
  return turnId === undefined ? 'Something went wrong.' : `Something went wrong. Reference: ${turnId}.`
}

/**
 * The masked text of an error, which may be stored, reported and logged; the fixed sentence if the option `mask` fails.
 *
 * @param cause The thrown value. If the text was shortened from it, the mask gets the full text, because it would not
 * recognise half an address. The masked text is shortened instead.
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

/** The error for events. With the option `mask` it has masked texts, and the text of its cause instead of the cause. */
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
  // Logs only the text: an error of a provider or a store may contain the conversation. The event `turn:error` has the
  // error itself.
  const cause = error.cause === undefined ? undefined : thrownText(error.cause)
  const log = async (): Promise<void> => logger.error(message, { ...turn, code, details, cause })
  // A logger that throws or rejects must not touch the reply.
  log().catch(() => undefined)
}

/**
 * Cuts a long text at a place that does not split a secret, because half a secret would not be recognised. Cuts at the
 * last white space, and drops groups of capitals and digits before it, which may be half a card number. A text without
 * white space is cut after a named value; a part after `://` may be half a user name, and is dropped too. Empty if
 * there is no such place.
 */
function firstWords(text: string): string {
  if (text.length <= maxRawLength) return text
  const words = cutAfter(text, /\s/)
  if (words === '') return cutAfter(text, /["'`&,;<>]/).replace(/:\\?\/\\?\/[^\s/?#]*$/, '')
  const groups = words.slice(-maxGroupsLength)
  return words.slice(0, -maxGroupsLength) + groups.replace(/(?:\b[A-Z\d]{1,19}[\s-])+$/, '')
}

/**
 * The start of a long text up to the last of these characters. A loop, because a pattern would search again from each
 * character.
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
