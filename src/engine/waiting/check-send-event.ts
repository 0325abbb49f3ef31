/** The first check of an event of the application. */
import { invalidInput } from '../../errors/engine-errors.js'
import { isPlainObject, type JsonValue, jsonSize } from '../../util/json.js'
import type { OptionNames } from '../../util/options.js'
import type { EngineLimits } from '../core/engine-limits.js'
import type { SendEventInput } from '../core/engine-options.js'
import { checkId } from '../core/ids.js'
import type { TurnEvent } from '../core/turn-input.js'
import { checkEvent, checkFieldNames, copyOf } from '../input/check-input.js'

const maxAboutBytes = 1024
const maxSenderLength = 200

const inputNames: OptionNames<SendEventInput> = {
  sessionId: true,
  event: true,
  payload: true,
  flowName: true,
  owner: true,
  by: true,
  byId: true,
  only: true,
  about: true,
  idempotencyKey: true,
  requestId: true,
  signal: true,
}

/** @throws `InvalidInputError`, `LimitExceededError` */
export function checkSendEvent(input: SendEventInput, limits: EngineLimits): TurnEvent {
  if (!isPlainObject(input)) throw invalidInput('The input of sendEvent must be an object.')
  checkFieldNames('sendEvent', input, inputNames)
  checkId(input.sessionId, 'sessionId')
  checkOwner(input)
  const { flowName, by, byId, about, only } = input
  if (flowName !== undefined && typeof flowName !== 'string') throw invalidInput('flowName must be a string.')
  checkSender('by', by)
  checkSender('byId', byId)
  if (only !== undefined && (typeof only?.step !== 'string' || typeof only.entry !== 'string')) {
    throw invalidInput('only must be { step, entry }, as turn.step and turn.entry were.')
  }
  const event = checkEvent({ name: input.event, payload: input.payload }, 'server', limits)
  const sender = { ...(by && { by }), ...(byId && { byId }) }
  const asked = about === undefined ? undefined : { about: checkAbout(about, limits) }
  return {
    ...event,
    seen: Object.freeze({ name: event.name, ...sender, ...asked }),
    only: only && { step: only.step, entry: only.entry },
  }
}

function checkAbout(value: unknown, limits: EngineLimits): JsonValue {
  const about = copyOf(value, 'about', limits, limits.maxConfigBytes)
  if (jsonSize(about) <= maxAboutBytes) return about
  throw invalidInput(`about may have at most ${maxAboutBytes} bytes as JSON.`)
}

/** A missing login must not become the application. */
function checkOwner(input: SendEventInput): void {
  if (!('owner' in input) || (typeof input.owner === 'string' && input.owner !== '')) return
  throw invalidInput('owner must be a string that is not empty. Leave it out to send as the application.')
}

function checkSender(name: string, value: unknown): void {
  if (value === undefined || (typeof value === 'string' && value !== '' && value.length <= maxSenderLength)) return
  throw invalidInput(`${name} must be a string of 1 to ${maxSenderLength} characters.`)
}
