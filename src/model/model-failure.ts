/**
 * What the thing that a call of a model failed with says about another attempt. It reads; whether there is another
 * attempt, and when, is decided elsewhere.
 */
import type { ModelFailure } from './model-provider.js'

/** A failure, as far as it matters for another attempt. */
export interface ReadFailure {
  readonly isRetryable: boolean
  /** Milliseconds that the provider wants to be left alone. */
  readonly retryAfterMs?: number
}

/** Of broken connections: Node's codes, those of its fetch, and those that both have in `cause`. */
const networkCode = /^(?:ECONN|EPIPE$|ETIMEDOUT$|ENOTFOUND$|EAI_AGAIN$|EHOST|ENET|UND_ERR_(?!INVALID|ABORTED))/
/** What `fetch` throws in Node, Bun, Deno, workerd and browsers where there is no connection, or it broke. */
const networkMessage = /fetch|network|terminated|socket|connection/i

/** Reads what was thrown. Never throws, whatever it is. */
export function readFailure(thrown: unknown, now: number): ReadFailure {
  try {
    const failure = (typeof thrown === 'object' && thrown !== null ? thrown : {}) as ModelFailure & Error & Foreign
    const status = failure.statusCode ?? failure.status
    const isRetryable =
      typeof failure.isRetryable === 'boolean'
        ? failure.isRetryable
        : typeof status === 'number'
          ? status === 408 || status === 409 || status === 429 || status >= 500
          : isNetworkFailure(failure)
    const retryAfterMs = isRetryable ? waitOf(failure.responseHeaders ?? failure.headers, now) : undefined
    return retryAfterMs === undefined ? { isRetryable } : { isRetryable, retryAfterMs }
  } catch {
    return { isRetryable: false }
  }
}

/** What errors of other clients have. */
interface Foreign {
  readonly status?: unknown
  readonly headers?: ModelFailure['responseHeaders']
  readonly code?: unknown
}

function isNetworkFailure(failure: Error & Foreign): boolean {
  const { code, cause } = failure
  if (typeof code === 'string' && networkCode.test(code)) return true
  if (failure.name === 'TypeError' && networkMessage.test(failure.message)) return true
  return (
    typeof cause === 'object' &&
    cause !== null &&
    cause !== failure &&
    networkCode.test(String((cause as Foreign).code))
  )
}

/** `Retry-After`: seconds or a date (RFC 9110, 10.2.3); `retry-after-ms` is more exact where it is sent. */
function waitOf(headers: ModelFailure['responseHeaders'], now: number): number | undefined {
  const read = (name: string): string | null | undefined =>
    typeof headers?.get === 'function'
      ? (headers as Headers).get(name)
      : Object.entries(headers ?? {}).find(([key]) => key.toLowerCase() === name)?.[1]
  const [exact, after] = [read('retry-after-ms'), read('retry-after')]
  const ms = exact
    ? Number(exact)
    : after
      ? Number.isNaN(Number(after))
        ? Date.parse(after) - now
        : Number(after) * 1_000
      : Number.NaN
  return ms >= 0 ? ms : undefined
}
