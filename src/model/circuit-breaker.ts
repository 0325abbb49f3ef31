/**
 * A circuit breaker for each model provider. After many failures in a row, the engine stops calling the provider for a
 * while, so that the provider can recover and users do not wait for calls that would fail. The breaker counts and
 * decides; `src/engine/model-call/attempts.ts` handles the calls that it rejects.
 */

/** When the engine stops calling a provider, and for how long. */
export interface CircuitBreakerOptions {
  /** Transient failures in a row, over all sessions, that open the breaker. Default 10. `Infinity`: it never opens. */
  readonly failureThreshold?: number
  /** Milliseconds until one trial call is allowed. Default 30 000. */
  readonly resetTimeoutMs?: number
}

/**
 * The breaker of one provider. Closed: all calls are allowed. Open: no call is allowed until a trial call closes it.
 */
export class CircuitBreaker {
  readonly #failureThreshold: number
  readonly #resetTimeoutMs: number
  #failures = 0
  /**
   * When the next trial call is allowed, in the clock's monotonic time, as are all times here; `undefined` while the
   * breaker is closed.
   */
  #openUntil: number | undefined

  constructor({ failureThreshold, resetTimeoutMs }: Required<CircuitBreakerOptions>) {
    this.#failureThreshold = failureThreshold
    this.#resetTimeoutMs = resetTimeoutMs
  }

  /** Whether a call at this time would be rejected. Unlike {@link waitFor}, it does not use up the trial call. */
  isOpenAt(time: number): boolean {
    return this.#openUntil !== undefined && time < this.#openUntil
  }

  /** Milliseconds until a call is allowed; 0 if the caller may call now. While open, only one caller gets 0. */
  waitFor(now: number): number {
    if (this.#openUntil === undefined) return 0
    if (now < this.#openUntil) return this.#openUntil - now
    // This caller makes the trial call. If it never reports an outcome (its turn was cancelled), the next trial is
    // allowed after another reset timeout.
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
