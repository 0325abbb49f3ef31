/** Creates the session store for Upstash Redis. upstash-connection.ts sends the commands of the Redis driver. */
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

/** The options of {@link createUpstashStore}. */
export interface UpstashStoreOptions extends ServerlessStoreOptions {
  /** The prefix of each key, followed by `::`. Default `turnkeeper`, like `createRedisKeyv`. */
  readonly namespace?: string
}

const optionNames: OptionNames<UpstashStoreOptions> = {
  namespace: true,
  ...serverlessOptionNames,
}

const caller = 'createUpstashStore'

/**
 * Creates a session store over a client that does not retry requests. All other client settings are free.
 *
 * @throws `InvalidInputError` for an invalid option, and for a client that retries requests.
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
 * If a client retries a save whose reply was lost, and another process has saved in between, the retry gets a conflict.
 * The turn would count as failed although it is stored. Without a retry the engine reads the session back and finds the
 * turn.
 */
function checkClient(redis: UpstashRedisLike): void {
  if (typeof redis?.evalsha !== 'function' || typeof redis.eval !== 'function') {
    throw invalidInput('createUpstashStore: the first argument must be a Redis of @upstash/redis.')
  }
  // The client's types do not declare this. With `retry: false` the value is 1, and the client still retries.
  const { client } = redis as { readonly client?: { readonly retry?: { readonly attempts?: unknown } } }
  if (Number(client?.retry?.attempts ?? 0) === 0) return
  throw invalidInput(
    'createUpstashStore: make the client with retry: { retries: 0 }, so that it never sends a save twice.',
  )
}
