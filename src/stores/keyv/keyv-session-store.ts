/**
 * Sessions in the backend of a Keyv: the public class. The drivers do the compare-and-swap; chunked-session-store.ts is
 * what is the same for all of them.
 */
import type { Keyv } from 'keyv'
import type { SessionDocument } from '../../session/session-document.js'
import type {
  SessionSaveHint,
  SessionStore,
  SessionStoreGuarantees,
  UnderReplicatedReport,
} from '../../session/session-store.js'
import { checkOptionNames, type OptionNames } from '../../util/options.js'
import { ChunkedSessionStore } from './chunked-session-store.js'
import { chooseDriver } from './driver-for.js'
import type { Caller } from './layout/read-session.js'
import type { SessionDriver } from './session-driver.js'

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
export class KeyvSessionStore implements SessionStore {
  /** What the backend guarantees: `{ compareAndSwap: 'backend', durable: true }` on Redis. */
  readonly guarantees: SessionStoreGuarantees
  /** See {@link SessionStore.claim}. Absent where the driver has no `claim`. */
  readonly claim?: NonNullable<SessionStore['claim']>
  /**
   * See {@link SessionStore.lease}. Absent but for a Keyv of `createRedisKeyv` with the option `lease`, and
   * for drivers that have it.
   */
  readonly lease?: NonNullable<SessionStore['lease']>
  /** See {@link SessionStore.list}. Absent where the driver has no `list`. */
  readonly list?: NonNullable<SessionStore['list']>
  readonly #store: ChunkedSessionStore

  /**
   * @throws `InvalidInputError` where the Keyv's adapter has no compare-and-swap that is known here, and neither
   * `consistency: 'process'` nor a `driver` was passed.
   */
  constructor(options: KeyvSessionStoreOptions) {
    checkOptionNames('KeyvSessionStore', options, optionNames)
    const { keyv, absoluteTtlMs, cacheBytes, closeKeyv = true } = options
    this.#store = new ChunkedSessionStore({
      ...chooseDriver(options),
      caller: 'KeyvSessionStore',
      closedMessage: 'The Keyv session store is closed.',
      ttlMs: () => keyv.ttl || undefined,
      absoluteTtlMs,
      cacheBytes,
      ...(closeKeyv ? {} : { close: () => Promise.resolve() }),
    })
    const { guarantees, claim, lease, list } = this.#store
    this.guarantees = guarantees
    if (claim !== undefined) this.claim = claim
    if (lease !== undefined) this.lease = lease
    if (list !== undefined) this.list = list
  }

  /**
   * See {@link SessionStore.load}. For another caller than its owner, the chunks of a session are not
   * decoded, nor is it kept.
   */
  load(sessionId: string, caller?: Caller): Promise<SessionDocument | undefined> {
    return this.#store.load(sessionId, caller)
  }

  create(document: SessionDocument): Promise<void> {
    return this.#store.create(document)
  }

  save(document: SessionDocument, expectedRevision: string, hint?: SessionSaveHint): Promise<void> {
    return this.#store.save(document, expectedRevision, hint)
  }

  delete(sessionId: string, expectedRevision?: string): Promise<void> {
    return this.#store.delete(sessionId, expectedRevision)
  }

  /**
   * Removes every expired session and claim for good. SQLite and Postgres keep what expired, which nobody can load,
   * until then: call it from a scheduled job, for example once a day. Redis and a Map do not need it.
   *
   * @returns How many sessions were removed; 0 where the backend removes them by itself.
   */
  purgeExpired(): Promise<number> {
    return this.#store.purgeExpired()
  }

  /** Disconnects the Keyv, unless `closeKeyv` is `false`. Calls after it reject, and nothing reconnects. */
  close(): Promise<void> {
    return this.#store.close()
  }

  onUnderReplicated(listener: (report: UnderReplicatedReport) => void): () => void {
    return this.#store.onUnderReplicated(listener)
  }
}
