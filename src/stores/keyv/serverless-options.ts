/**
 * The options of the stores for serverless platforms. Types only, and in a file of their own: what else there is
 * needs the types of Keyv.
 */

/** The options that every store for a serverless platform has. */
export interface ServerlessStoreOptions {
  /** Milliseconds after its last save at which a session is gone, by the backend's clock. Default: `Infinity`. */
  readonly ttlMs?: number
  /**
   * Milliseconds after its creation (`createdAt`) at which a session is gone, however often it is saved. A turn that
   * ends later fails with `SESSION_CONFLICT`. Default: `Infinity`.
   */
  readonly absoluteTtlMs?: number
  /**
   * About how many bytes of sessions this isolate keeps, so that a turn need not read them again. The sessions used
   * longest ago are dropped first; 0 keeps none. Default 16 MiB: an isolate often has 128 MB for everything.
   */
  readonly cacheBytes?: number
}
