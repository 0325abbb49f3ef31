/**
 * What is wrong with a turn of the script of a flow service. A list is checked when the handlers are made, what a
 * function returns at its request.
 */
import { FlowError, reply } from '../../src/index.js'
import { findUnknownName, hintAt, type OptionNames } from '../../src/util/options.js'
import { unknownCodeText } from '../expectations/error-codes.js'
import { isObject } from '../expectations/value-kinds.js'
import type { BrokenServiceTurn, FailedServiceTurn, ServiceReply, UnreachedServiceTurn } from './service-turn.js'

const replyNames: OptionNames<ServiceReply> = {
  reply: true,
  takenBack: true,
  completed: true,
  contentType: true,
  encoding: true,
  parts: true,
  newSession: true,
  restarted: true,
  cutOff: true,
  delayMs: true,
  chunkDelayMs: true,
}
const failureNames: OptionNames<FailedServiceTurn> = {
  failure: true,
  message: true,
  sessionState: true,
  after: true,
  delayMs: true,
  chunkDelayMs: true,
}
const unreachedNames: OptionNames<UnreachedServiceTurn> = { networkError: true, delayMs: true }
const brokenNames: OptionNames<BrokenServiceTurn> = { body: true, status: true, contentType: true, delayMs: true }

/** The names that a turn may have, by the name that decides its kind. */
const kinds: Readonly<Record<string, object>> = {
  reply: replyNames,
  failure: failureNames,
  networkError: unreachedNames,
  body: brokenNames,
}

/** What is wrong with a turn, as a sentence; `undefined` if it is right. */
export function turnProblem(turn: unknown): string | undefined {
  if (typeof turn === 'string') return undefined
  const known = isObject(turn) ? Object.keys(kinds).filter((kind) => Object.hasOwn(turn, kind)) : []
  const [kind, more] = known
  if (!isObject(turn) || kind === undefined || more !== undefined) {
    return 'A turn is a text, { reply }, { failure }, { networkError: true } or { body }.'
  }
  const names = kinds[kind] ?? {}
  const unknown = findUnknownName(turn, names)
  if (unknown !== undefined) {
    const known = Object.keys(names)
    return `A turn with ${kind} has no '${unknown}'. It may have ${known.join(', ')}.${hintAt(unknown, known)}`
  }
  if (kind === 'reply') return partsProblem(turn as unknown as ServiceReply)
  if (kind !== 'failure') return undefined
  const { failure } = turn as FailedServiceTurn
  if (FlowError.isInstance(failure)) return undefined
  const problem = unknownCodeText(failure)
  return problem && `The failure is a code, or a FlowError: ${problem}`
}

/** A flow may send no other parts. */
function partsProblem({ parts, reply: text }: ServiceReply): string | undefined {
  if (parts === undefined) return undefined
  try {
    reply(typeof text === 'string' ? text : text.join('')).withParts(parts)
    return undefined
  } catch (error) {
    return (error as Error).message
  }
}
