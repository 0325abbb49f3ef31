/** Sessions in Durable Objects: the public class of the store. session-object.ts is the object that it calls. */
import type { SessionDocument, SessionSaveHint, SessionStore } from '../../src/index.js'
import { ChunkedSessionStore } from '../../src/stores/keyv/chunked-session-store.js'
import { plainCodec } from '../../src/stores/keyv/layout/codec.js'
import { checkMethods, checkNumber, checkOptionNames, invalidInput, type OptionNames } from '../../src/util/options.js'
import { type DurableObjectNamespaceLike, ObjectDriver } from './object-driver.js'

/** What the constructor of {@link DurableObjectSessionStore} takes. */
export interface DurableObjectSessionStoreOptions {
  /** The binding of the class `SessionObject`. Give sessions a class of their own. */
  readonly namespace: DurableObjectNamespaceLike
  /** Milliseconds after its last save at which a session is gone. Default: `Infinity`. */
  readonly ttlMs?: number
  /**
   * Milliseconds after its creation (`createdAt`) at which a session is gone, however often it is saved. A turn that ends later
   * fails with `SESSION_CONFLICT`. Default: `Infinity`.
   */
  readonly absoluteTtlMs?: number
  /**
   * About how many bytes of sessions this isolate keeps, so that a turn need not read them again. The sessions used
   * longest ago are dropped first; 0 keeps none. Default 16 MiB: an isolate has 128 MB for everything.
   */
  readonly cacheBytes?: number
}

const optionNames: OptionNames<DurableObjectSessionStoreOptions> = {
  namespace: true,
  ttlMs: true,
  absoluteTtlMs: true,
  cacheBytes: true,
}

const defaultCacheBytes = 16 * 1024 * 1024

/**
 * A durable session store over Durable Objects, one for each session. It has no `list`: the platform does not say which objects there are.
 *
 * @example
 * ```ts
 * const sessionStore = new DurableObjectSessionStore({ namespace: env.SESSIONS, ttlMs: 30 * 24 * 60 * 60 * 1000 })
 * const engine = new FlowEngine({ flows: [Onboarding], sessionStore })
 * ```
 */
export class DurableObjectSessionStore implements SessionStore {
  readonly guarantees: SessionStore['guarantees']
  readonly #store: ChunkedSessionStore

  /** @throws `InvalidInputError` for an option that is missing, unknown or out of range. */
  constructor(options: DurableObjectSessionStoreOptions) {
    const caller = 'DurableObjectSessionStore'
    checkOptionNames(caller, options, optionNames)
    const { namespace, ttlMs = Number.POSITIVE_INFINITY, absoluteTtlMs, cacheBytes = defaultCacheBytes } = options
    if (namespace === undefined)
      throw invalidInput(`${caller}: namespace must be the binding of the class SessionObject.`)
    checkMethods(caller, 'namespace', namespace, ['idFromName', 'get'])
    checkNumber(caller, 'ttlMs', ttlMs)
    this.#store = new ChunkedSessionStore({
      caller,
      closedMessage: 'The Durable Object session store is closed.',
      driver: new ObjectDriver(namespace),
      keyOf: (key) => key,
      codec: plainCodec,
      ttlMs: () => (Number.isFinite(ttlMs) ? Math.ceil(ttlMs) : undefined),
      absoluteTtlMs,
      cacheBytes,
    })
    this.guarantees = this.#store.guarantees
  }

  /** See {@link SessionStore.load}. For another caller than its owner, the chunks of a session are not decoded, nor is it kept. */
  load(sessionId: string, caller?: { readonly owner?: string | undefined }): Promise<SessionDocument | undefined> {
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

  /** See {@link SessionStore.claim}. */
  async claim(key: string, sessionId: string, ttlMs: number): Promise<string> {
    return (this.#store as Required<ChunkedSessionStore>).claim(key, sessionId, ttlMs)
  }

  /** Calls after it reject. The binding itself needs no closing. */
  close(): Promise<void> {
    return this.#store.close()
  }
}
