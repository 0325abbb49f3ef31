/** The options of the stores for serverless platforms. Only types, so importing them does not need Keyv's types. */

/** The options that every store for a serverless platform has. */
export interface ServerlessStoreOptions {
  /** Milliseconds after its last save at which a session expires, by the backend's clock. Default: `Infinity`. */
  readonly ttlMs?: number
  /**
   * Milliseconds after its creation (`createdAt`) at which a session expires, no matter how often it is saved. A turn
   * that ends later fails with `SESSION_CONFLICT`. Default: `Infinity`.
   */
  readonly absoluteTtlMs?: number
  /**
   * About how many bytes of sessions this isolate caches, so that a turn does not read them again. The least recently
   * used sessions are dropped first; 0 turns the cache off. Default 16 MiB: an isolate often has 128 MB for everything.
   */
  readonly cacheBytes?: number
}
