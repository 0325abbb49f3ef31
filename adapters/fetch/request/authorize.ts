/**
 * Asks the application who sent a request. This module decides which answers are valid; anything else, an error
 * included, refuses the request. `src/engine` decides what a principal may do with a session.
 */
import type { JsonObject } from '../../../src/index.js'
import type { HeaderRecord } from '../core/header-names.js'
import { withCommonHeaders } from '../reply/common-headers.js'
import { Refusal } from '../reply/refusal.js'
import { isObject } from './is-object.js'

/** The caller, as identified by `authorize`. An object with any other key is refused. */
export interface AuthorizedCaller {
  /**
   * The caller's stable name, such as a user ID; not blank. It becomes the owner of the sessions that the caller
   * starts. A session of another owner looks like an unknown one. Leave the key out to let the caller in without an
   * owner: then the caller reaches only sessions without an owner. A key whose value is `undefined` is refused.
   */
  readonly principal?: string
  /**
   * Facts about the caller for flows to read in `turn.context`, as plain JSON. They are never stored, and a client's
   * `config` cannot override them. A key named `config` is not allowed.
   */
  readonly context?: JsonObject | undefined
}

/**
 * The option `authorize`. An object identifies the caller; a `Response` refuses the request and is sent as it is. **If
 * it returns nothing, or an object without `principal`, the caller is let in without an owner**, unless
 * `requirePrincipal` is set. If it throws, or returns anything else, no turn runs and the client gets a fixed sentence.
 * To read the body, read `request.clone()`.
 */
export type Authorize = (
  request: Request,
) => AuthorizedCaller | Response | undefined | void | Promise<AuthorizedCaller | Response | undefined | void>

/** Refuses a request because of `authorize` or `authorizeFlow`. The client gets a fixed sentence. */
export class AuthorizationRefusal extends Refusal {
  /** `principal`: a principal is required, and none was named. */
  readonly reason: 'error' | 'principal'

  constructor(reason: 'error' | 'principal') {
    super('The request could not be authorized.', 500)
    this.reason = reason
  }
}

/**
 * Calls `authorize`; throws an {@link AuthorizationRefusal} if it threw or returned an invalid answer.
 *
 * @param missingPrincipal - the message that `onError` receives for a caller without a principal; `undefined` if none
 * is required
 */
export async function askAuthorize(
  authorize: Authorize,
  missingPrincipal: string | undefined,
  request: Request,
  onError: (error: unknown) => void,
): Promise<AuthorizedCaller | Response> {
  let caller: AuthorizedCaller
  try {
    const answer: unknown = await authorize(request)
    if (isResponse(answer)) return answer
    caller = answer === undefined ? {} : callerFrom(answer)
  } catch (error) {
    onError(error)
    throw new AuthorizationRefusal('error')
  }
  if (missingPrincipal === undefined || caller.principal !== undefined) return caller
  onError(new TypeError(missingPrincipal))
  throw new AuthorizationRefusal('principal')
}

/** The `Response` of `authorize`. One that cannot be sent, such as `Response.error()`, is an error of `authorize`. */
export function replyOfAuthorize(
  response: Response,
  headers: HeaderRecord,
  report: (error: unknown) => void,
): Response {
  try {
    return withCommonHeaders(response, headers)
  } catch (error) {
    report(error)
    throw new AuthorizationRefusal('error')
  }
}

/**
 * The problem with the caller's `context`, if a turn failed because of it. The engine calls it `serverContext`. The
 * client made no mistake, so the text is for the operator.
 */
export function contextError(error: Error | undefined): TypeError | undefined {
  if (error === undefined || !/^(The nesting of )?serverContext\b/.test(error.message)) return undefined
  const problem = error.message.replace('serverContext', 'context')
  return new TypeError(`authorize returned an invalid context. ${problem}`, { cause: error })
}

/** Refuses the request if the engine refused the caller's `context`. */
export function refuseContext(error: Error | undefined, onError: (error: unknown) => void): void {
  const problem = contextError(error)
  if (problem === undefined) return
  onError(problem)
  throw new AuthorizationRefusal('error')
}

/** Not by `instanceof`: some servers replace the global `Response`, so the platform's own has another class. */
export function isResponse(value: unknown): value is Response {
  return Object.prototype.toString.call(value) === '[object Response]'
}

const form = 'It must return nothing, a Response, or { principal?: string, context?: object }.'

/**
 * Refuses every object that looks like an attempt to name a caller but does not: without a principal, the caller could
 * reach the sessions of every other caller without one.
 */
function callerFrom(answer: unknown): AuthorizedCaller {
  if (!isObject(answer)) throw new TypeError(`authorize returned ${nameOf(answer)}. ${form}`)
  const unknown = Reflect.ownKeys(answer).find((key) => key !== 'principal' && key !== 'context')
  if (unknown !== undefined) throw new TypeError(`authorize returned the unknown key '${String(unknown)}'. ${form}`)
  const { principal, context } = answer as { readonly principal?: unknown; readonly context?: unknown }
  const isNamed = Object.hasOwn(answer, 'principal')
  if (isNamed && (typeof principal !== 'string' || principal.trim() === '')) {
    throw new TypeError(
      'authorize returned a principal that is blank, or not a string. Leave the key out to let the caller in without an owner.',
    )
  }
  // A Map, or a user with private fields, has no keys and would pass as an empty object.
  if (!isNamed && !isPlain(answer)) throw new TypeError(`authorize returned an object of a class. ${form}`)
  if (context !== undefined && !isObject(context)) {
    throw new TypeError(`authorize returned a context that is not an object. ${form}`)
  }
  return {
    ...(isNamed ? { principal: principal as string } : {}),
    ...(context === undefined ? {} : { context: context as JsonObject }),
  }
}

function nameOf(answer: unknown): string {
  if (Array.isArray(answer)) return 'a list'
  return answer === null ? 'null' : `a ${typeof answer}`
}

function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value)
  // The Object.prototype of another realm has this own method.
  return prototype === null || Object.hasOwn(prototype as object, 'isPrototypeOf')
}
