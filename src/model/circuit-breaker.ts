/**
 * Keeps calls away from a provider that fails again and again, so that it can recover and nobody waits for it in vain.
 * It counts and decides; what becomes of a call that it turns away is decided elsewhere.
 */

/** When a provider is left alone, and for how long. */
export interface CircuitBreakerOptions {
  /** Attempts in a row that failed in a way that may pass, over all sessions. Default 10. `Infinity`: never. */
  readonly failureThreshold?: number
  /** Milliseconds until one attempt is let through, to see. Default 30 000. */
  readonly resetTimeoutMs?: number
}

/** The breaker of one provider. Closed: all calls pass. Open: none. Then one passes, and decides. */
export class CircuitBreaker {
  readonly #failureThreshold: number
  readonly #resetTimeoutMs: number
  #failures = 0
  /** When the next call may pass; `undefined` while it is closed. */
  #openUntil: number | undefined

  constructor({ failureThreshold, resetTimeoutMs }: Required<CircuitBreakerOptions>) {
    this.#failureThreshold = failureThreshold
    this.#resetTimeoutMs = resetTimeoutMs
  }

  /** Whether a call at this time would be turned away. Unlike {@link waitFor} it lets none through. */
  isShutAt(time: number): boolean {
    return this.#openUntil !== undefined && time < this.#openUntil
  }

  /** Milliseconds until a call may pass; 0 where this one may. */
  waitFor(now: number): number {
    if (this.#openUntil === undefined) return 0
    if (now < this.#openUntil) return this.#openUntil - now
    // One passes. Where nothing is heard of it (its turn was cancelled), another one does after the same time.
    this.#openUntil = now + this.#resetTimeoutMs
    return 0
  }

  /** @returns Whether this closed the breaker. */
  succeeded(): boolean {
    const wasOpen = this.#openUntil !== undefined
    this.#failures = 0
    this.#openUntil = undefined
    return wasOpen
  }

  /** @returns Whether this opened the breaker. */
  failed(now: number): boolean {
    if (++this.#failures < this.#failureThreshold) return false
    const wasOpen = this.#openUntil !== undefined
    this.#openUntil = now + this.#resetTimeoutMs
    return !wasOpen
  }
}

/** The breakers of one engine, one for each provider. */
export class CircuitBreakers {
  readonly #options: Required<CircuitBreakerOptions>
  readonly #breakers = new Map<string, CircuitBreaker>()

  constructor(options: Required<CircuitBreakerOptions>) {
    this.#options = options
  }

  of(provider: string): CircuitBreaker {
    let breaker = this.#breakers.get(provider)
    if (breaker === undefined) {
      breaker = new CircuitBreaker(this.#options)
      this.#breakers.set(provider, breaker)
    }
    return breaker
  }
}
