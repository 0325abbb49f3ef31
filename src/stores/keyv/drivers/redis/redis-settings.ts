/**
 * The settings that `createRedisKeyv` passes to the Redis driver. They are stored on the Keyv itself, under a
 * registered symbol, so that they work across two copies of this package.
 */

/** How many replicas a save waits for. */
export interface RedisWaitOptions {
  /** Replicas that must acknowledge each save. */
  readonly replicas: number
  /**
   * Milliseconds that a save waits for the replicas; must be below `replyTimeoutMs`. Other commands on the connection
   * wait too. Default 500.
   */
  readonly timeoutMs?: number
}

/** The driver's settings. */
export interface RedisSettings {
  readonly wait: Required<RedisWaitOptions> | undefined
  /** Replace a connection after this many milliseconds without a reply; `undefined`: never. */
  readonly replyWithinMs: number | undefined
}

const marker: unique symbol = Symbol.for('turnkeeper.redisSettings')

/** Attaches settings to a Keyv. */
export function attachRedisSettings(keyv: object, settings: RedisSettings): void {
  Object.defineProperty(keyv, marker, { value: settings })
}

/** The settings of a Keyv; empty settings if the application made the Keyv itself. */
export function redisSettingsOf(keyv: object): RedisSettings {
  const { [marker]: settings } = keyv as { [marker]?: RedisSettings }
  return settings ?? { wait: undefined, replyWithinMs: undefined }
}
