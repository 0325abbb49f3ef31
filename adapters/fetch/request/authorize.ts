/**
 * Asks the application who sent a request. This module decides what counts as an answer; anything else, an error
 * included, refuses the request. What a principal may do with a session is decided in `src/engine`.
 */
import type { JsonObject } from '../../../src/index.js'
import type { HeaderRecord } from '../core/header-names.js'
import { withCommonHeaders } from '../reply/common-headers.js'
import { Refusal } from '../reply/refusal.js'
import { isObject } from './is-object.js'

/** Who calls, as `authorize` says. An object with any other key is refused. */
export interface AuthorizedCaller {
  /**
   * The caller's stable name, such as a user ID; not empty. It becomes the owner of the sessions the caller starts. The
   * session of another owner is treated as an unknown one. Leave the key out to let the caller in without an owner:
   * then only sessions without an owner can be reached. A key whose value is `undefined` is refused.
   */
  readonly principal?: string
  /**
   * Facts about the caller for flows to read in `turn.context`, as plain JSON. They are never stored, and no `config`
   * of a client can override them. A key named `config` is not allowed.
   */
  readonly context?: JsonObject | undefined
}

/**
 * The option `authorize`. An object says who calls; a `Response` refuses the request and is sent as it is. **Nothing,
 * and an object without `principal`, let the caller in without an owner**, unless `requirePrincipal` is set. If it
 * throws, or returns anything else, nothing is run and the client gets a fixed sentence. To read the body, read
 * `request.clone()`.
 */
export type Authorize = (
  request: Request,
) => AuthorizedCaller | Response | undefined | void | Promise<AuthorizedCaller | Response | undefined | void>

/** Refuses a request because of `authorize` or `authorizeFlow`. The client gets a fixed sentence. */
export class AuthorizationRefusal extends Refusal {
  /** `principal`: none was named, although one is required. */
  readonly reason: 'error' | 'principal'

  constructor(reason: 'error' | 'principal') {
    super('The request could not be authorized.', 500)
    this.reason = reason
  }
}

/**
 * Asks `authorize`; throws an {@link AuthorizationRefusal} where it threw or did not return a valid answer.
 *
 * @param missingPrincipal - What `onError` receives for a caller without a principal, who is refused;
 * `undefined` if none is required.
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

/** The reply of `authorize`. One that cannot be sent, as `Response.error()`, is an error of `authorize`. */
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
 * What is wrong with the `context` of the caller, where a turn failed because of it. The engine knows it as
 * `serverContext`; the mistake is not the client's, and the text is for the operator.
 */
export function contextError(error: Error | undefined): TypeError | undefined {
  if (error === undefined || !/^(The nesting of )?serverContext\b/.test(error.message)) return undefined
  const problem = error.message.replace('serverContext', 'context')
  return new TypeError(`authorize returned an invalid context. ${problem}`, { cause: error })
}

/** Refuses the request where the engine refused the `context` of the caller. */
export function refuseContext(error: Error | undefined, onError: (error: unknown) => void): void {
  const problem = contextError(error)
  if (problem === undefined) return
  onError(problem)
  throw new AuthorizationRefusal('error')
}

/** Not by `instanceof`: some servers replace the global `Response`, and the platform's own is then of another class. */
export function isResponse(value: unknown): value is Response {
  return Object.prototype.toString.call(value) === '[object Response]'
}

const form = 'It must return nothing, a Response, or { principal?: string, context?: object }.'

/**
 * Refuses every object that could be meant to name a caller and does not: without a principal the caller would get into
 * the sessions of everyone else without one.
 */
function callerFrom(answer: unknown): AuthorizedCaller {
  if (!isObject(answer)) throw new TypeError(`authorize returned ${nameOf(answer)}. ${form}`)
  const unknown = Reflect.ownKeys(answer).find((key) => key !== 'principal' && key !== 'context')
  if (unknown !== undefined) throw new TypeError(`authorize returned the unknown key '${String(unknown)}'. ${form}`)
  const { principal, context } = answer as { readonly principal?: unknown; readonly context?: unknown }
  const isNamed = Object.hasOwn(answer, 'principal')
  if (isNamed && (typeof principal !== 'string' || principal === '')) {
    throw new TypeError(
      'authorize returned a principal that is not a non-empty string. Leave the key out to let the caller in without an owner.',
    )
  }
  // Such as a Map, or a user whose fields are private: it has no keys, and would pass for an empty object.
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
  // The Object.prototype of another realm is known by a method of its own.
  return prototype === null || Object.hasOwn(prototype as object, 'isPrototypeOf')
}
