/**
 * What the thing that a call of a model failed with says about another attempt. It reads; whether there is another
 * attempt, and when, is decided elsewhere.
 */
import { FlowError } from '../errors/flow-error.js'
import type { ModelFailure } from './model-provider.js'

/** A failure, as far as it matters for another attempt. */
export interface ReadFailure {
  readonly isRetryable: boolean
  /** Milliseconds that the provider wants to be left alone; 0 where it does not say. */
  readonly retryAfterMs: number
}

/** Links of a chain of causes that are looked at. It may be a circle. */
const longestChain = 6

/**
 * Broken connections: codes of Node, names and codes of its fetch, of Bun, Deno and the clients of services; then what
 * `fetch` says in Node, Deno, Bun, workerd, browsers and those clients.
 */
const broken =
  /^((E(CONN|HOST|NET|PIPE|NOTFOUND|AI_A)|\w*(connect|timed?out|network|socket|brokenpipe|unexpectedeof))\w*|terminated|fetch failed|load failed|failed to fetch)$|^((the )?(network(error)?|internet|socket) |(unable to|could not) connect|connection |request timed out|error (sending|reading|trying))/i

/** Reads what was thrown. Never throws, whatever it is. */
export function readFailure(thrown: unknown, now: number): ReadFailure {
  try {
    let link = thrown as Foreign | null | undefined
    for (let depth = 0; depth < longestChain && typeof link === 'object' && link !== null; depth++) {
      // Of the engine's own errors only the cause is the provider's.
      const isRetryable = FlowError.isInstance(link) ? undefined : isPassing(link)
      if (isRetryable !== undefined) return { isRetryable, retryAfterMs: isRetryable ? waitOf(link, now) : 0 }
      link = link.cause as Foreign | null | undefined
    }
  } catch {
    // Nothing can be read of it.
  }
  return { isRetryable: false, retryAfterMs: 0 }
}

/** What errors of other clients have. */
type Foreign = { readonly [Name in keyof ModelFailure | keyof Error | 'status' | 'headers' | 'code']?: unknown }

/** Whether a failure may pass by itself; `undefined` where it does not say. */
function isPassing({ isRetryable, statusCode, status, name, code, message }: Foreign): boolean | undefined {
  const answered = statusCode ?? status
  const isSuccess = typeof answered === 'number' && answered >= 200 && answered < 300
  // A connection that breaks in the middle of an answer has its status already.
  if (typeof isRetryable === 'boolean' && (isRetryable || !isSuccess)) return isRetryable
  if (typeof answered === 'number' && !isSuccess) {
    return answered === 408 || answered === 409 || answered === 429 || (answered >= 500 && answered < 600)
  }
  return [code, name, message].some((text) => typeof text === 'string' && broken.test(text.slice(0, 200))) || undefined
}

/** `Retry-After`: seconds or a date (RFC 9110, 10.2.3); `retry-after-ms` is more exact where it is sent. */
function waitOf({ responseHeaders, headers }: Foreign, now: number): number {
  try {
    const read = new Headers((responseHeaders ?? headers ?? {}) as HeadersInit)
    const isNumber = /^\d+(\.\d+)?$/
    const exact = read.get('retry-after-ms') ?? ''
    if (isNumber.test(exact)) return Number(exact)
    const after = read.get('retry-after') ?? ''
    if (isNumber.test(after)) return Number(after) * 1_000
    return after.endsWith('GMT') ? Math.max(0, Date.parse(after) - now) || 0 : 0
  } catch {
    return 0
  }
}
