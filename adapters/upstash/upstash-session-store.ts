/**
 * Sessions in Upstash Redis: the function that makes the store. upstash-connection.ts sends what the Redis driver
 * decides.
 */
import type { SessionStore } from '../../src/index.js'
import { ChunkedSessionStore } from '../../src/stores/keyv/chunked-session-store.js'
import { createRedisSessionDriver } from '../../src/stores/keyv/drivers/redis/redis-session-driver.js'
import type { ServerlessStoreOptions } from '../../src/stores/keyv/serverless-options.js'
import {
  chunkedStoreOptions,
  type ServerlessBackend,
  serverlessOptionNames,
} from '../../src/stores/keyv/serverless-store.js'
import { checkOptionNames, invalidInput, type OptionNames } from '../../src/util/options.js'
import { UpstashConnection, type UpstashRedisLike } from './upstash-connection.js'

/** What {@link createUpstashStore} takes in addition to the client. */
export interface UpstashStoreOptions extends ServerlessStoreOptions {
  /** Put before each key, with `::` between. Default `turnkeeper`, as that of `createRedisKeyv`. */
  readonly namespace?: string
}

const optionNames: OptionNames<UpstashStoreOptions> = {
  namespace: true,
  ...serverlessOptionNames,
}

const caller = 'createUpstashStore'

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
  checkOptionNames(caller, options, optionNames)
  checkClient(redis)
  const { namespace = 'turnkeeper' } = options
  if (typeof namespace !== 'string' || namespace === '') {
    throw invalidInput('createUpstashStore: namespace must be a non-empty string.')
  }
  const connection = new UpstashConnection(redis)
  const nodes = [(words: readonly string[]) => connection.sendOn(undefined, words)]
  const backend: ServerlessBackend = {
    caller,
    closedMessage: 'The Upstash session store is closed.',
    createDriver: (ttlMs) =>
      createRedisSessionDriver({
        connection,
        nodes: async () => ({ topology: 0, nodes }),
        ttlMs: () => ttlMs,
      }),
    keyOf: (key) => `${namespace}::${key}`,
  }
  return new ChunkedSessionStore(chunkedStoreOptions(backend, options))
}

/**
 * A client that repeats a save whose reply was lost gets a conflict for it if another process has saved in between. The
 * turn would count as failed although it is stored. Without a repeat the engine reads the session back, and finds the
 * turn there.
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
