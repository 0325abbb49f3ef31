/**
 * Sessions in the backend of a Keyv: the public class. The drivers do the compare-and-swap; chunked-session-store.ts is
 * what is the same for all stores over a backend.
 */
import type { Keyv } from 'keyv'
import type { UnderReplicatedReport } from '../../session/session-store.js'
import { checkOptionNames, type OptionNames } from '../../util/options.js'
import { ChunkedSessionStore } from './chunked-session-store.js'
import type { SessionDriver } from './driver/session-driver.js'
import { chooseDriver } from './driver-for.js'

/** What the constructor of {@link KeyvSessionStore} takes. */
export interface KeyvSessionStoreOptions {
  /** The Keyv whose adapter, namespace, TTL, `serialize` and `compression` are used. Give sessions one of their own. */
  readonly keyv: Keyv
  /**
   * `'process'`: take an adapter without a compare-and-swap, and guard sessions within this process only. Two processes
   * over one backend then lose each other's turns, and an outage shows only as far as Keyv and its adapter let it.
   * Default: such an adapter is refused.
   */
  readonly consistency?: 'process'
  /**
   * Milliseconds after its creation (`createdAt`) at which a session is gone, however often it is saved. A turn that
   * ends later fails with `SESSION_CONFLICT`. The time after the last save is the `ttl` of the
   * Keyv. Default: `Infinity`.
   */
  readonly absoluteTtlMs?: number
  /** Your own driver for the backend. Default: the one for the Keyv's adapter. */
  readonly driver?: SessionDriver
  /** Whether `close()` disconnects the Keyv. Default `true`. */
  readonly closeKeyv?: boolean
  /**
   * About how many bytes of sessions this process keeps, so that a turn need not read them again. The sessions used
   * longest ago are dropped first; 0 keeps none. Default 64 MiB.
   */
  readonly cacheBytes?: number
}

const optionNames: OptionNames<KeyvSessionStoreOptions> = {
  keyv: true,
  consistency: true,
  absoluteTtlMs: true,
  driver: true,
  closeKeyv: true,
  cacheBytes: true,
}

/**
 * A durable session store over Keyv, with a compare-and-swap in the backend.
 *
 * @example
 * ```ts
 * const sessionStore = new KeyvSessionStore({ keyv: await createRedisKeyv('redis://127.0.0.1:6379') })
 * const engine = new FlowEngine({ flows: [Onboarding], sessionStore })
 * ```
 */
export class KeyvSessionStore extends ChunkedSessionStore {
  readonly #listeners: Set<(report: UnderReplicatedReport) => void>

  /**
   * @throws `InvalidInputError` where the Keyv's adapter has no compare-and-swap that is known here, and neither
   * `consistency: 'process'` nor a `driver` was passed.
   */
  constructor(options: KeyvSessionStoreOptions) {
    checkOptionNames('KeyvSessionStore', options, optionNames)
    const { keyv, absoluteTtlMs, cacheBytes, closeKeyv = true } = options
    const listeners = new Set<(report: UnderReplicatedReport) => void>()
    super({
      ...chooseDriver(options),
      caller: 'KeyvSessionStore',
      closedMessage: 'The Keyv session store is closed.',
      ttlMs: () => keyv.ttl || undefined,
      absoluteTtlMs,
      cacheBytes,
      ...(closeKeyv ? {} : { close: () => Promise.resolve() }),
      onUnderReplicated(report) {
        for (const listener of listeners) listener(report)
      },
    })
    this.#listeners = listeners
  }

  /**
   * Removes every expired session and claim for good. SQLite and Postgres keep what expired, which nobody can load,
   * until then: call it from a scheduled job, for example once a day. Redis and a Map do not need it.
   *
   * @returns How many sessions were removed; 0 where the backend removes them by itself.
   */
  purgeExpired(): Promise<number> {
    return this.purge()
  }

  /** Disconnects the Keyv, unless `closeKeyv` is `false`. Calls after it reject, and nothing reconnects. */
  override close(): Promise<void> {
    this.#listeners.clear()
    return super.close()
  }

  /** Listens to saves that too few replicas have. Returns a function that removes the listener. */
  onUnderReplicated(listener: (report: UnderReplicatedReport) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }
}
