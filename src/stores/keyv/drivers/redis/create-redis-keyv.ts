/**
 * Makes a Keyv over Redis whose client is set up for sessions: it reports a failure at once, as an error, and
 * reconnects by itself. `keyv` and `@keyv/redis` are optional packages; they are loaded on the first call.
 */
import type { Keyv } from 'keyv'
import { invalidInput } from '../../../../errors/engine-errors.js'
import { checkNumber } from '../../../../util/options.js'
import { attachLease, checkLease } from '../lease-settings.js'
import type { LeaseOptions } from '../polled-leases.js'
import type { RedisClientLike } from './connection/redis-client.js'
import { attachRedisSettings, type RedisWaitOptions } from './redis-settings.js'

/** The options of {@link createRedisKeyv}. */
export interface RedisKeyvOptions {
  /** The prefix of each key, followed by `::`. Default `turnkeeper`. */
  readonly namespace?: string
  /** Milliseconds that a session is kept after its last save. Default: for ever. */
  readonly ttlMs?: number
  /**
   * Wait after each save until this many replicas have received it. If fewer have, the save still succeeds, and the
   * engine emits `session:under-replicated`. If the connection is lost during the wait, the save is sent once more, and
   * rejects if that fails too. Deletes do not wait. Default: no wait.
   */
  readonly wait?: RedisWaitOptions
  /**
   * Leases: a turn waits until no other process runs a turn of its session, at most until its own deadline. Without
   * leases both turns run, and one of them fails with `SESSION_CONFLICT`. A lease costs each turn two more commands.
   * Use a `ttlMs` well above the longest pause of a process, for example 10 000. If a lease expires too early, both
   * turns run, as they do without leases. Default: no leases.
   */
  readonly lease?: LeaseOptions
  /** Milliseconds to wait for a connection. Default 2 000. */
  readonly connectTimeoutMs?: number
  /**
   * Milliseconds without any reply after which a connection is closed and opened again; keep it below the engine's
   * `storeTimeoutMs`. Default 3 000.
   */
  readonly replyTimeoutMs?: number
  /**
   * A client of the package `redis` or `@redis/client` (one server, Sentinel or Cluster) to use instead of the address.
   * Its own settings apply: switch off its offline queue (`disableOfflineQueue: true`), and set its `pingInterval` and
   * `socketTimeout`. For a Cluster use version 6, which recovers from the loss of a master. If you use `wait` with a
   * Sentinel client, keep its default `masterPoolSize` of 1: WAIT counts only writes on its own connection.
   */
  readonly client?: RedisClientLike
}

/** No time and no count may be infinite. */
const finite = { finite: true }

const defaultWaitMs = 500

/**
 * Makes a Keyv for a `KeyvSessionStore`. It connects on first use, not here.
 *
 * @param url - The address: `redis[s]://[[user][:password]@]host[:port][/database]`. Not used with `client`.
 * @throws `InvalidInputError` (rejects) if a setting is invalid, or if `keyv` or `@keyv/redis` is not installed; the
 * message has the command that installs them.
 *
 * @example
 * ```ts
 * const keyv = await createRedisKeyv('redis://127.0.0.1:6379', { ttlMs: 30 * 24 * 60 * 60 * 1000 })
 * const engine = await FlowEngine.create({ flows: [Onboarding], sessionStore: new KeyvSessionStore({ keyv }) })
 * ```
 */
export async function createRedisKeyv(url = 'redis://127.0.0.1:6379', options: RedisKeyvOptions = {}): Promise<Keyv> {
  const {
    ttlMs,
    wait,
    lease,
    client,
    namespace = 'turnkeeper',
    connectTimeoutMs = 2_000,
    replyTimeoutMs = 3_000,
  } = options
  const waitMs = wait?.timeoutMs ?? Math.min(defaultWaitMs, replyTimeoutMs / 2)
  checkNumber('createRedisKeyv', 'connectTimeoutMs', connectTimeoutMs, finite)
  checkNumber('createRedisKeyv', 'replyTimeoutMs', replyTimeoutMs, finite)
  if (ttlMs !== undefined) checkNumber('createRedisKeyv', 'ttlMs', ttlMs, finite)
  checkLease('createRedisKeyv', lease)
  if (wait !== undefined) checkNumber('createRedisKeyv', 'wait.replicas', wait.replicas, finite)
  checkNumber('createRedisKeyv', 'wait.timeoutMs', waitMs, finite)
  if (wait !== undefined && waitMs >= replyTimeoutMs) {
    throw invalidInput('createRedisKeyv: wait.timeoutMs must be below replyTimeoutMs.')
  }
  const { Keyv, default: KeyvRedis, createClient } = await loadPackages()
  let connect: RedisClientLike
  try {
    connect =
      client ??
      createClient({
        url,
        disableOfflineQueue: true,
        pingInterval: Math.ceil(replyTimeoutMs / 3),
        socket: { connectTimeout: connectTimeoutMs, socketTimeout: replyTimeoutMs, reconnectStrategy },
      })
  } catch (cause) {
    // The message does not contain the address, which may hold a password.
    throw invalidInput('createRedisKeyv: the address must read redis://host:port or rediss://host:port.', cause)
  }
  const adapter = new KeyvRedis(connect as ConstructorParameters<typeof KeyvRedis>[0], { throwOnErrors: true })
  const keyv = new Keyv(adapter, {
    namespace,
    useKeyPrefix: false,
    throwOnErrors: true,
    ...(ttlMs === undefined ? {} : { ttl: ttlMs }),
  })
  attachRedisSettings(keyv, {
    wait: wait === undefined ? undefined : { replicas: wait.replicas, timeoutMs: waitMs },
    replyWithinMs: client === undefined ? replyTimeoutMs : undefined,
  })
  attachLease(keyv, lease)
  return keyv
}

/** Pauses are short at first, at most 2 seconds, and random, so that processes do not all reconnect at once. */
function reconnectStrategy(attempts: number): number {
  return Math.min(50 * 2 ** attempts, 2_000) * (0.5 + Math.random() / 2)
}

async function loadPackages(): Promise<typeof import('@keyv/redis')> {
  try {
    const packages = await import('@keyv/redis')
    // Older versions, which npm also accepts beside this package, have neither.
    if (!('createClient' in packages && 'Keyv' in packages)) throw new Error('This @keyv/redis is too old.')
    return packages
  } catch (cause) {
    throw invalidInput('Sessions in Redis need two packages: npm install keyv@5 @keyv/redis@5', cause)
  }
}
