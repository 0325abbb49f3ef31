/**
 * The public store over a Keyv. The drivers do the compare-and-swap; chunked-session-store.ts does what all stores over
 * a backend share.
 */
import type { Keyv } from 'keyv'
import type { UnderReplicatedReport } from '../../session/session-store.js'
import { checkOptionNames, type OptionNames } from '../../util/options.js'
import { ChunkedSessionStore } from './chunked-session-store.js'
import type { SessionDriver } from './driver/session-driver.js'
import { chooseDriver } from './driver-for.js'

/** What the constructor of {@link KeyvSessionStore} takes. */
export interface KeyvSessionStoreOptions {
  /** The Keyv whose adapter, namespace, TTL, `serialize` and `compression` are used. Use it only for sessions. */
  readonly keyv: Keyv
  /**
   * `'process'`: accept an adapter without a compare-and-swap, and guard sessions within this process only. Then two
   * processes over one backend lose each other's turns, and an outage shows only if Keyv and its adapter report it.
   * Default: such an adapter is refused.
   */
  readonly consistency?: 'process'
  /**
   * Milliseconds after its creation (`createdAt`) at which a session expires, no matter how often it is saved. A turn
   * that ends later fails with `SESSION_CONFLICT`. For a time after the last save, set the `ttl` of the Keyv.
   * Default: `Infinity`.
   */
  readonly absoluteTtlMs?: number
  /** Your own driver for the backend. Default: the one for the Keyv's adapter. */
  readonly driver?: SessionDriver
  /** Whether `close()` disconnects the Keyv. Default `true`. */
  readonly closeKeyv?: boolean
  /**
   * About how many bytes of sessions this process caches, so that a turn does not read them again. The least recently
   * used sessions are dropped first; 0 turns the cache off. Default 64 MiB.
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
   * @throws `InvalidInputError` if this package knows no compare-and-swap for the Keyv's adapter, and neither
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
   * Deletes every expired session and claim. Expired sessions can no longer be loaded, but SQLite and Postgres store
   * them until this is called: call it from a scheduled job, for example once a day. Redis and a Map do not need it.
   *
   * @returns How many sessions were deleted; 0 if the backend deletes them itself.
   */
  purgeExpired(): Promise<number> {
    return this.purge()
  }

  /** Disconnects the Keyv, unless `closeKeyv` is `false`. Later calls reject, and nothing reconnects. */
  override close(): Promise<void> {
    this.#listeners.clear()
    return super.close()
  }

  /** Adds a listener for saves that too few replicas have received. Returns a function that removes it. */
  onUnderReplicated(listener: (report: UnderReplicatedReport) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }
}
