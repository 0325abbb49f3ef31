/**
 * Reads the error of a failed model call: whether another attempt is worthwhile, and how long the provider asks the
 * caller to wait. `src/engine/model-call/attempts.ts` decides whether and when to try again.
 */
import { FlowError } from '../errors/flow-error.js'
import type { ModelFailure } from './model-provider.js'

/** Information from an error about another attempt. */
export interface RetryAdvice {
  readonly isRetryable: boolean
  /** How long the provider asks the caller to wait, in milliseconds; 0 if it does not say. */
  readonly retryAfterMs: number
}

/** The maximum number of errors read from a chain of causes: a chain may be circular. */
const maxCauses = 6

/** The maximum number of characters read from a code, name or message: a message may be as long as an answer. */
const maxTextLength = 200

/** How Node's error codes for connections, DNS and pipes begin, in lower case. */
const nodeCodePrefixes = ['econn', 'ehost', 'enet', 'epipe', 'enotfound', 'eai_a']

/** A code or class name of a connection error contains one of these: undici, Deno, Bun and the clients of services. */
const connectionWords = ['connect', 'timeout', 'timedout', 'network', 'socket', 'brokenpipe', 'unexpectedeof']

/** Whole messages of `fetch` when a connection fails: Node, Safari, Chrome. */
const fetchMessages = ['terminated', 'fetch failed', 'load failed', 'failed to fetch']

/** How messages about a failed connection begin in browsers, workerd, Bun, Deno and the clients of services. */
const messagePrefixes = [
  'network ',
  'networkerror ',
  'internet ',
  'socket ',
  'the network ',
  'the internet ',
  'the socket ',
  'unable to connect',
  'could not connect',
  'connection ',
  'request timed out',
  'error sending',
  'error reading',
  'error trying',
]

/**
 * Reads the error of a failed model call. Never throws, whatever the value is.
 *
 * @param now - Milliseconds since the epoch.
 */
export function retryAdvice(thrown: unknown, now: number): RetryAdvice {
  try {
    let error = thrown as ForeignError | null | undefined
    for (let depth = 0; depth < maxCauses && typeof error === 'object' && error !== null; depth++) {
      // An engine error does not itself say whether to retry; its cause is the error that the provider threw.
      const isRetryable = FlowError.isInstance(error) ? undefined : isTransient(error)
      if (isRetryable !== undefined) return { isRetryable, retryAfterMs: isRetryable ? retryAfterOf(error, now) : 0 }
      error = error.cause as ForeignError | null | undefined
    }
  } catch {
    // A getter of the error threw, so the error cannot be used.
  }
  return { isRetryable: false, retryAfterMs: 0 }
}

/** Properties on the errors of clients and runtimes. */
type ForeignError = { readonly [Name in keyof ModelFailure | keyof Error | 'status' | 'headers' | 'code']?: unknown }

/** Whether a failure is transient; `undefined` if this error does not say, and its cause should be read. */
function isTransient(error: ForeignError): boolean | undefined {
  const { isRetryable } = error
  const status = error.statusCode ?? error.status
  // If the connection breaks while the answer is read, the error carries a successful status and its client marks it
  // as not retryable. Then only its code, name and message, or its cause, say what happened.
  const isSuccess = typeof status === 'number' && status >= 200 && status < 300
  if (isRetryable === true) return true
  if (isRetryable === false && !isSuccess) return false
  if (typeof status === 'number' && !isSuccess) return isTransientStatus(status)
  return [error.code, error.name, error.message].some(isConnectionFailure) || undefined
}

function isTransientStatus(status: number): boolean {
  return status === 408 || status === 409 || status === 429 || (status >= 500 && status < 600)
}

/** Whether a code, a name or a message indicates a failed connection. */
function isConnectionFailure(given: unknown): boolean {
  if (typeof given !== 'string') return false
  const text = given.slice(0, maxTextLength).toLowerCase()
  const isCodeOrName = /^\w+$/.test(text)
  return (
    (isCodeOrName && nodeCodePrefixes.some((prefix) => text.startsWith(prefix))) ||
    (isCodeOrName && connectionWords.some((word) => text.includes(word))) ||
    fetchMessages.includes(text) ||
    messagePrefixes.some((prefix) => text.startsWith(prefix))
  )
}

/**
 * Milliseconds in `retry-after-ms`, or else in `Retry-After`: seconds or a date (RFC 9110, 10.2.3). A date counts from
 * the `Date` of the same response, if it has one: then it does not matter whether this machine's clock is right.
 */
function retryAfterOf({ responseHeaders, headers }: ForeignError, now: number): number {
  const given = responseHeaders ?? headers ?? undefined
  // Node.js loads its whole HTTP client at the first use of `Headers`.
  if (given === undefined) return 0
  try {
    const read = new Headers(given as HeadersInit)
    const milliseconds = read.get('retry-after-ms') ?? ''
    if (isDecimal(milliseconds)) return Number(milliseconds)
    const after = read.get('retry-after') ?? ''
    if (isDecimal(after)) return Number(after) * 1_000
    if (!after.endsWith('GMT')) return 0
    const sentAt = Date.parse(read.get('date') ?? '')
    const waitMs = Date.parse(after) - (Number.isNaN(sentAt) ? now : sentAt)
    return Number.isNaN(waitMs) ? 0 : Math.max(0, waitMs)
  } catch {
    // Headers that cannot be read.
    return 0
  }
}

function isDecimal(text: string): boolean {
  return /^\d+(\.\d+)?$/.test(text)
}
