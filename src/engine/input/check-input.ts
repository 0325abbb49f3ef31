/**
 * The first check of a caller's input: types, shapes and sizes, before a lock is taken or a flow is looked up. Accepted
 * input is copied, so that the caller cannot change it during the turn.
 */
import { invalidInput } from '../../errors/engine-errors.js'
import { eventNameRule, isEventName } from '../../flow/event.js'
import {
  copyJson,
  deepFreeze,
  isLarger,
  isPlainObject,
  type JsonError,
  type JsonObject,
  type JsonValue,
} from '../../util/json.js'
import { findUnknownName, hintAt, type OptionNames } from '../../util/options.js'
import { isRequestId } from '../../util/patterns.js'
import { shownName } from '../../util/shown-name.js'
import { depthExceeded, type EngineLimits, limitExceeded } from '../core/engine-limits.js'
import type { FlowRunInput } from '../core/engine-options.js'
import { checkId } from '../core/ids.js'
import type { TurnEvent, TurnInput } from '../core/turn-input.js'
import { checkAttachments } from './check-attachments.js'

/**
 * Checks a session ID; an absent or empty one asks for a new session.
 *
 * @throws `InvalidInputError`
 */
export function checkSessionId(sessionId: unknown): string | undefined {
  return sessionId === undefined || sessionId === '' ? undefined : checkId(sessionId, 'sessionId')
}

/**
 * Checks the ID of a request.
 *
 * @throws `InvalidInputError`
 */
export function checkRequestId(requestId: unknown): string | undefined {
  if (requestId === undefined || (typeof requestId === 'string' && isRequestId(requestId))) return requestId
  throw invalidInput('requestId must be 1 to 128 characters of A-Z, a-z, 0-9, ".", "_", ":" and "-".')
}

const inputNames: OptionNames<FlowRunInput> = {
  flowName: true,
  userMessage: true,
  event: true,
  choice: true,
  whenEnded: true,
  attachments: true,
  sessionId: true,
  config: true,
  idempotencyKey: true,
  requestId: true,
  hideFlow: true,
  signal: true,
  owner: true,
  serverContext: true,
  waitUntil: true,
}

/** @throws `InvalidInputError` unless the input is an object, and for an unknown field; it lists the known ones */
export function checkInputNames(input: FlowRunInput): void {
  if (typeof input !== 'object' || input === null || Array.isArray(input)) {
    throw invalidInput('The input of a turn must be an object.')
  }
  checkFieldNames('a turn', input, inputNames)
}

/** @throws `InvalidInputError` for a field of `input` that is not in `known`; it lists the known ones */
export function checkFieldNames(what: string, input: object, known: object): void {
  const unknown = findUnknownName(input, known)
  if (unknown === undefined) return
  const names = Object.keys(known)
  const hint = hintAt(unknown, names)
  throw invalidInput(
    `There is no field '${shownName(unknown)}' in the input of ${what}. The fields are ${names.join(', ')}.${hint}`,
  )
}

/** Checks the texts of a turn and copies its JSON. */
export function checkTurnInput(
  input: {
    readonly flowName: unknown
    readonly userMessage: unknown
    readonly attachments?: unknown
    readonly sessionId: string | undefined
    readonly context?: unknown
    readonly signal?: unknown
    readonly owner?: unknown
    readonly requestId?: unknown
    readonly hideFlow?: unknown
    readonly serverContext?: unknown
    readonly waitUntil?: unknown
    readonly event?: unknown
    readonly choice?: unknown
    readonly whenEnded?: unknown
  },
  limits: EngineLimits,
): TurnInput {
  const { flowName, userMessage, signal, owner, hideFlow, waitUntil, whenEnded } = input
  if (typeof flowName !== 'string' || flowName === '') {
    throw invalidInput('flowName must be a string that is not empty.')
  }
  if (typeof userMessage !== 'string') throw invalidInput('userMessage must be a string.')
  if (isLarger(userMessage, limits.maxMessageBytes)) throw limitExceeded(limits, 'maxMessageBytes', 'The user message')
  const attachments = checkAttachments(input.attachments, limits)
  checkCallbacks(signal, waitUntil)
  checkHideFlow(hideFlow)
  checkWhenEnded(whenEnded)
  if (owner !== undefined && (typeof owner !== 'string' || owner === '')) {
    throw invalidInput('owner must be a string that is not empty.')
  }
  const requestId = checkRequestId(input.requestId)
  const serverContext = checkObject(input.serverContext, 'serverContext', limits)
  if (serverContext !== undefined && Object.hasOwn(serverContext, 'config')) {
    throw invalidInput("serverContext may not have the key 'config'.")
  }
  // One level deeper than a config, which it may contain.
  const context = checkObject(input.context, 'context', limits, 1)
  return {
    flowName,
    userMessage,
    attachments,
    sessionId: input.sessionId,
    context,
    idempotency: undefined,
    signal: signal as AbortSignal | undefined,
    owner,
    requestId,
    hideFlow: hideFlow === true ? true : undefined,
    rejectsEnded: whenEnded === 'reject' ? true : undefined,
    event: checkUserEvent(input, attachments, limits),
    choice: checkChoice(input),
    serverContext,
    waitUntil: waitUntil as TurnInput['waitUntil'],
  }
}

function checkUserEvent(
  { event, userMessage, sessionId }: { event?: unknown; userMessage: unknown; sessionId: string | undefined },
  attachments: readonly unknown[],
  limits: EngineLimits,
): TurnEvent | undefined {
  if (event === undefined) return undefined
  const isAlone = userMessage === '' && attachments.length === 0 && sessionId !== undefined
  if (!isAlone || Object.keys(Object(event)).some((name) => name !== 'name' && name !== 'payload')) {
    throw invalidInput('event must be { name, payload? }, with a sessionId, an empty message and no files.')
  }
  return checkEvent(event, 'user', limits)
}

/**
 * Checks a `config` and copies it.
 *
 * @throws `InvalidInputError` for anything but a plain object of plain JSON, and for `null`.
 * @throws `LimitExceededError` if it is larger than `maxConfigBytes`, or nested deeper than `maxJsonDepth`
 */
export function checkConfig(config: unknown, limits: EngineLimits): JsonObject | undefined {
  return checkObject(config, 'config', limits, 0, limits.maxConfigBytes)
}

/**
 * @param outer - The number of levels around it, which do not count.
 * @param maxBytes - The limit of a `config`. Default: none.
 */
function checkObject(
  value: unknown,
  name: string,
  limits: EngineLimits,
  outer = 0,
  maxBytes?: number,
): JsonObject | undefined {
  if (value === undefined) return undefined
  if (!isPlainObject(value)) throw invalidInput(`${name} must be a plain object.`)
  return copyOf(value, name, limits, maxBytes, outer) as JsonObject
}

/** A frozen copy of a caller's JSON. See {@link checkObject}. */
export function copyOf(value: unknown, name: string, limits: EngineLimits, maxBytes?: number, outer = 0): JsonValue {
  const refuse = (problem: string, cause: JsonError): Error => {
    if (cause.isTooLarge) return limitExceeded(limits, 'maxConfigBytes', name)
    return depthExceeded(limits, cause) ?? invalidInput(`${problem}.`, cause)
  }
  return deepFreeze(copyJson(value, name, limits.maxJsonDepth + outer, refuse, maxBytes))
}

/** @throws `InvalidInputError`, `LimitExceededError` */
export function checkEvent(event: unknown, source: TurnEvent['source'], limits: EngineLimits): TurnEvent {
  const { name, payload } = Object(event) as { readonly name?: unknown; readonly payload?: unknown }
  if (!isEventName(name)) throw invalidInput(`The name of an event must be ${eventNameRule}.`)
  return {
    name,
    payload: payload === undefined ? undefined : copyOf(payload, 'payload', limits, limits.maxConfigBytes),
    source,
    seen: Object.freeze({ name }),
  }
}

function checkChoice({ choice, event }: { choice?: unknown; event?: unknown }): TurnInput['choice'] {
  if (choice === undefined) return undefined
  const { turn, name, value } = Object(choice) as Record<string, unknown>
  if (Number.isSafeInteger(turn) && typeof name === 'string' && typeof value === 'string' && event === undefined) {
    return { turn: turn as number, name, value }
  }
  throw invalidInput('choice must be { turn, name, value }, without an event.')
}

function checkWhenEnded(whenEnded: unknown): void {
  if (whenEnded === undefined || whenEnded === 'new' || whenEnded === 'reject') return
  throw invalidInput("whenEnded must be 'new' or 'reject'.")
}

function checkHideFlow(hideFlow: unknown): void {
  if (hideFlow === undefined || typeof hideFlow === 'boolean') return
  throw invalidInput('hideFlow must be true or false.')
}

/** @throws `InvalidInputError` for a `signal` that is not an AbortSignal, and a `waitUntil` that is not a function. */
function checkCallbacks(signal: unknown, waitUntil: unknown): void {
  if (signal !== undefined && !isAbortSignal(signal)) throw invalidInput('signal must be an AbortSignal.')
  if (waitUntil !== undefined && typeof waitUntil !== 'function') throw invalidInput('waitUntil must be a function.')
}

function isAbortSignal(value: unknown): boolean {
  return (
    typeof value === 'object' &&
    value !== null &&
    typeof (value as AbortSignal).aborted === 'boolean' &&
    typeof (value as AbortSignal).addEventListener === 'function' &&
    typeof (value as AbortSignal).removeEventListener === 'function'
  )
}
