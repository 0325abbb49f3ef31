/**
 * A rate limit in front of an engine, in `authorize`: a caller who sends too many requests gets the status 429 and
 * `Retry-After`, and no turn runs. It counts in this process; if several processes serve the same callers, count in a
 * shared store or at the proxy.
 */
import type { FlowEngine } from 'turnkeeper'
import { createFetchHandler } from 'turnkeeper/fetch'

/** How many requests pass. */
export interface Rate {
  /** The largest burst, and the number per window, spread over it. */
  readonly requests: number
  readonly windowMs: number
}

interface Bucket {
  /** How many requests pass now. */
  tokens: number
  filledAt: number
}

/** Counts the requests of each caller. */
export class RateLimit {
  readonly #rate: Rate
  readonly #maxCallers: number
  readonly #now: () => number
  /** By caller; the one that called last is the last. */
  readonly #buckets = new Map<string, Bucket>()

  /**
   * @param maxCallers - How many callers are remembered. Beyond that, the callers who called longest ago are forgotten,
   * so memory is bounded.
   * @param now - Milliseconds that only grow.
   */
  constructor(rate: Rate, maxCallers = 10_000, now: () => number = () => performance.now()) {
    this.#rate = rate
    this.#maxCallers = maxCallers
    this.#now = now
  }

  /** Takes one request from a caller. @returns Seconds until the next one passes; 0 if this one does. */
  take(caller: string): number {
    const { requests, windowMs } = this.#rate
    const now = this.#now()
    const { tokens, filledAt } = this.#buckets.get(caller) ?? { tokens: requests, filledAt: now }
    const filled = Math.min(requests, tokens + ((now - filledAt) / windowMs) * requests)
    this.#buckets.delete(caller)
    this.#buckets.set(caller, { tokens: filled < 1 ? filled : filled - 1, filledAt: now })
    for (const first of this.#buckets.keys()) {
      if (this.#buckets.size <= this.#maxCallers) break
      this.#buckets.delete(first)
    }
    return filled < 1 ? Math.ceil((((1 - filled) / requests) * windowMs) / 1000) : 0
  }
}

/** Who sent a request. */
export interface Caller {
  /** The user, if signed in. */
  readonly principal?: string
  /**
   * The network address as your own proxy reports it; of IPv6 only the first four groups, which belong to a single
   * user.
   */
  readonly address: string
}

/**
 * The handler of an engine, with one limit for each user and each address, and one for all anonymous callers together.
 * It also admits anonymous callers. With `requirePrincipal`, return a `Response` with the status 401 in place of `{}`.
 */
export function createLimitedHandler(
  engine: FlowEngine,
  callerOf: (request: Request) => Caller | Promise<Caller>,
  { each, strangers, now }: { readonly each: Rate; readonly strangers: Rate; readonly now?: () => number },
): (request: Request) => Promise<Response> {
  const eachCaller = new RateLimit(each, undefined, now)
  const allStrangers = new RateLimit(strangers, 1, now)
  return createFetchHandler(engine, {
    statuses: 'precise',
    async authorize(request) {
      const { principal, address } = await callerOf(request)
      const seconds =
        principal === undefined
          ? eachCaller.take(`address ${address}`) || allStrangers.take('all')
          : eachCaller.take(`user ${principal}`)
      if (seconds > 0) return tooMany(seconds)
      return principal === undefined ? {} : { principal }
    },
  })
}

/**
 * The refusal. It lacks the header `Chat-Reply`, so clients know that it did not come from the engine, and send again.
 */
function tooMany(seconds: number): Response {
  const message = 'Too many messages. Please wait a moment.'
  const envelope = { success: false, completed: true, message, session: '', contentType: 'text/plain' }
  return Response.json(envelope, {
    status: 429,
    headers: { 'Retry-After': String(seconds), 'Cache-Control': 'no-store' },
  })
}
