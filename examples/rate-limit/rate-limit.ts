/**
 * A rate limit in front of an engine, in `authorize`: a caller who sends too many requests gets the status 429 and
 * `Retry-After`, and nothing is run. It counts in this process; where several share the callers, count in a store that
 * they share, or at the proxy.
 */
import type { FlowEngine } from 'turnkeeper'
import { createFetchHandler } from 'turnkeeper/fetch'

/** How many requests are let through. */
export interface Rate {
  /** So many at once, and then as many in each window, spread over it. */
  readonly requests: number
  readonly windowMs: number
}

interface Bucket {
  /** How many requests are let through now. */
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
   * @param maxCallers - Callers remembered. Beyond it, those are forgotten who called longest ago,
   * so that memory is bounded.
   * @param now - Milliseconds that only grow.
   */
  constructor(rate: Rate, maxCallers = 10_000, now: () => number = () => performance.now()) {
    this.#rate = rate
    this.#maxCallers = maxCallers
    this.#now = now
  }

  /** Takes one request from a caller. @returns Seconds until the next one is let through; 0 if this one is. */
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
  /** The user, if somebody is signed in. */
  readonly principal?: string
  /**
   * The network address as your own proxy reports it; of IPv6 only the first four groups, which
   * one user has to himself.
   */
  readonly address: string
}

/**
 * The handler of an engine: so many requests for each user and each address, and so many for all who are not signed in.
 * It lets those in as well. With `requirePrincipal`, return a `Response` with the status 401 in place of `{}`.
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
 * The refusal. Clients read that it is none of the engine's from the header `Chat-Reply`, which it does
 * not have, and send again.
 */
function tooMany(seconds: number): Response {
  const message = 'Too many messages. Please wait a moment.'
  const envelope = { success: false, completed: true, message, session: '', contentType: 'text/plain' }
  return Response.json(envelope, {
    status: 429,
    headers: { 'Retry-After': String(seconds), 'Cache-Control': 'no-store' },
  })
}
