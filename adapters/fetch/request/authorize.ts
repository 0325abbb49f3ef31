// Asks the application who calls. This module decides what counts as an answer, and that anything else, an error
// included, refuses the request; what a principal may do with a session is the engine's to decide.
import type { JsonObject } from '../../../src/index.js'
import { Refusal } from '../reply/refusal.js'

/** Who calls, as `authorize` says. */
export interface AuthorizedCaller {
  /**
   * The caller's stable name, such as a user ID; not empty. It becomes the owner of the sessions the caller starts. The
   * session of another owner is treated as an unknown one. Without it the caller can reach only sessions without owner.
   */
  readonly principal?: string | undefined
  /**
   * Facts about the caller for flows to read in `turn.context`, as plain JSON. They are never stored, and no `config` of
   * a client can override them. A key named `config` is not allowed.
   */
  readonly context?: JsonObject | undefined
}

/**
 * The option `authorize`: nothing lets the caller in without a name, a `Response` is sent as it is and refuses the
 * request, an object says who calls. If it throws, or returns anything else, nothing is run and the client gets a
 * fixed sentence. To read the body, read `request.clone()`.
 */
export type Authorize = (
  request: Request,
) => AuthorizedCaller | Response | undefined | void | Promise<AuthorizedCaller | Response | undefined | void>

/** Asks `authorize`; throws a {@link Refusal} where it threw or gave no proper answer. */
export async function askAuthorize(
  authorize: Authorize,
  request: Request,
  onError: (error: unknown) => void,
): Promise<AuthorizedCaller | Response> {
  try {
    const answer = await authorize(request)
    if (answer === undefined) return {}
    if (isResponse(answer) || isCaller(answer)) return answer
    throw new TypeError('authorize must return nothing, a Response, or { principal?: string, context?: object }.')
  } catch (error) {
    onError(error)
    throw new Refusal('The request could not be authorized.', 500)
  }
}

/** By its shape: some servers replace the global `Response`, and then `instanceof` misses the platform's own. */
export function isResponse(value: unknown): value is Response {
  if (typeof value !== 'object' || value === null) return false
  const { status, headers } = value as Partial<Response>
  return typeof status === 'number' && typeof headers?.get === 'function'
}

function isCaller(value: unknown): value is AuthorizedCaller {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false
  const { principal, context } = value as { principal?: unknown; context?: unknown }
  const isNamed = principal === undefined || (typeof principal === 'string' && principal !== '')
  return (
    isNamed && (context === undefined || (typeof context === 'object' && context !== null && !Array.isArray(context)))
  )
}
