/**
 * Sessions in Upstash Redis: the function that makes the store. upstash-connection.ts sends what the Redis driver
 * decides.
 */
import type { SessionDocument, SessionListQuery, SessionSaveHint, SessionStore } from '../../src/index.js'
import type { ChunkedSessionStore } from '../../src/stores/keyv/chunked-session-store.js'
import { createRedisSessionDriver } from '../../src/stores/keyv/drivers/redis/redis-session-driver.js'
import type { ServerlessStoreOptions } from '../../src/stores/keyv/serverless-options.js'
import { serverlessOptionNames, serverlessStore } from '../../src/stores/keyv/serverless-store.js'
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
  return new UpstashSessionStore(redis, options)
}

/** The server removes what expired by itself, so there is nothing to purge. */
class UpstashSessionStore implements SessionStore {
  readonly guarantees: SessionStore['guarantees']
  readonly #store: ChunkedSessionStore

  constructor(redis: UpstashRedisLike, options: UpstashStoreOptions) {
    checkOptionNames(caller, options, optionNames)
    checkClient(redis)
    const { namespace = 'turnkeeper' } = options
    if (typeof namespace !== 'string' || namespace === '') {
      throw invalidInput('createUpstashStore: namespace must be a non-empty string.')
    }
    const connection = new UpstashConnection(redis)
    const nodes = [(words: readonly string[]) => connection.sendOn(undefined, words)]
    this.#store = serverlessStore(
      {
        caller,
        closedMessage: 'The Upstash session store is closed.',
        createDriver: (ttlMs) =>
          createRedisSessionDriver({
            connection,
            nodes: async () => ({ topology: 0, nodes }),
            ttlMs: () => ttlMs,
          }),
        keyOf: (key) => `${namespace}::${key}`,
      },
      options,
    )
    this.guarantees = this.#store.guarantees
  }

  load(sessionId: string, reader?: { readonly owner?: string | undefined }): Promise<SessionDocument | undefined> {
    return this.#store.load(sessionId, reader)
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

  async claim(key: string, sessionId: string, ttlMs: number): Promise<string> {
    return (this.#store as Required<ChunkedSessionStore>).claim(key, sessionId, ttlMs)
  }

  async list(query: SessionListQuery): ReturnType<NonNullable<SessionStore['list']>> {
    return (this.#store as Required<ChunkedSessionStore>).list(query)
  }

  close(): Promise<void> {
    return this.#store.close()
  }
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
