/**
 * The entry point `turnkeeper/upstash`: sessions in Upstash Redis over HTTP, for runtimes without TCP. What is stored, and the scripts
 * that store it, are those of the Redis driver (docs/decisions/0161-upstash-by-scripts.md).
 */
import type { SessionStore } from '../../src/index.js'
import { ChunkedSessionStore } from '../../src/stores/keyv/chunked-session-store.js'
import { createRedisSessionDriver } from '../../src/stores/keyv/drivers/redis/redis-session-driver.js'
import { plainCodec } from '../../src/stores/keyv/layout/codec.js'
import { checkNumber, checkOptionNames, invalidInput, type OptionNames } from '../../src/util/options.js'
import { UpstashConnection, type UpstashRedisLike } from './upstash-connection.js'

export type { UpstashRedisLike } from './upstash-connection.js'

/** What {@link createUpstashStore} takes in addition to the client. */
export interface UpstashStoreOptions {
  /** Put before each key, with `::` between. Default `turnkeeper`, as that of `createRedisKeyv`. */
  readonly namespace?: string
  /** Milliseconds after its last save at which a session is gone, by the server's clock. Default: `Infinity`. */
  readonly ttlMs?: number
  /**
   * Milliseconds after its creation (`createdAt`) at which a session is gone, however often it is saved. A turn that ends later
   * fails with `SESSION_CONFLICT`. Default: `Infinity`.
   */
  readonly absoluteTtlMs?: number
  /**
   * About how many bytes of sessions this isolate keeps, so that a turn need not read them again. The sessions used
   * longest ago are dropped first; 0 keeps none. Default 16 MiB: an isolate may have 128 MB for everything.
   */
  readonly cacheBytes?: number
}

const optionNames: OptionNames<UpstashStoreOptions> = {
  namespace: true,
  ttlMs: true,
  absoluteTtlMs: true,
  cacheBytes: true,
}

const defaultCacheBytes = 16 * 1024 * 1024

/**
 * Makes a session store over a client that does not repeat requests; all other settings of the client are free.
 *
 * @throws `InvalidInputError` for an option that cannot be used, and for a client that repeats requests.
 *
 * @example
 * ```ts
 * import { Redis } from '@upstash/redis'
 * import { FlowEngine } from 'turnkeeper'
 * import { createUpstashStore } from 'turnkeeper/upstash'
 *
 * const redis = Redis.fromEnv({ retry: { retries: 0 } })
 * const engine = new FlowEngine({ flows: [Onboarding], sessionStore: createUpstashStore(redis) })
 * ```
 */
export function createUpstashStore(redis: UpstashRedisLike, options: UpstashStoreOptions = {}): SessionStore {
  const caller = 'createUpstashStore'
  checkOptionNames(caller, options, optionNames)
  const { namespace = 'turnkeeper', absoluteTtlMs, cacheBytes = defaultCacheBytes } = options
  const { ttlMs = Number.POSITIVE_INFINITY } = options
  checkNumber(caller, 'ttlMs', ttlMs)
  checkClient(redis)
  const connection = new UpstashConnection(redis)
  const nodes = [(words: readonly string[]) => connection.sendOn(undefined, words)]
  const ttl = (): number | undefined => (Number.isFinite(ttlMs) ? ttlMs : undefined)
  return new ChunkedSessionStore({
    caller,
    closedMessage: 'The Upstash session store is closed.',
    driver: createRedisSessionDriver({ connection, nodes: async () => ({ topology: 0, nodes }), ttlMs: ttl }),
    keyOf: (key) => `${namespace}::${key}`,
    codec: plainCodec,
    ttlMs: ttl,
    absoluteTtlMs,
    cacheBytes,
  })
}

/**
 * A client that repeats a save whose reply was lost gets a conflict for it if another process has saved in between. The turn would
 * count as failed although it is stored. Without a repeat the engine reads the session back, and finds the turn there.
 */
function checkClient(redis: UpstashRedisLike): void {
  if (typeof redis?.evalsha !== 'function' || typeof redis.eval !== 'function') {
    throw invalidInput('createUpstashStore: the first argument must be a Redis of @upstash/redis.')
  }
  // The client does not declare it. With `retry: false` it is 1, and the client does repeat.
  const { client } = redis as { readonly client?: { readonly retry?: { readonly attempts?: unknown } } }
  if (Number(client?.retry?.attempts ?? 0) === 0) return
  throw invalidInput('createUpstashStore: make the client with retry: { retries: 0 }, so that it sends no save twice.')
}
