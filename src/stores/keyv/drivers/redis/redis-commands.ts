/** Sends commands to Redis and runs scripts. redis-connection.ts decides how the server is reached. */
import type { SwapOutcome } from '../../driver/session-driver.js'
import { encodeText } from '../text-escapes.js'
import type { MasterConnection, RedisConnection } from './connection/redis-connection.js'
import type { RedisScript } from './redis-scripts.js'

/** The commands of one Keyv's connection. If no `target` is given, the client routes the command. */
export class RedisCommands {
  readonly #connection: Pick<RedisConnection, 'send' | 'sendOn'>

  constructor(connection: Pick<RedisConnection, 'send' | 'sendOn'>) {
    this.#connection = connection
  }

  /** Sends a command. Its words are encoded, because a lone surrogate would not reach the server unchanged. */
  send(key: string, words: readonly string[], target?: MasterConnection): Promise<unknown> {
    const encoded = words.map(encodeText)
    return target === undefined
      ? this.#connection.send(encodeText(key), encoded)
      : this.#connection.sendOn(target, encoded)
  }

  /** Runs a script that returns 1 or 0. */
  async run(
    script: RedisScript,
    key: string,
    values: readonly string[],
    target?: MasterConnection,
  ): Promise<SwapOutcome> {
    const reply = await this.evaluate(script, key, values, target)
    if (reply !== 0 && reply !== 1) throw new Error('Redis answered a script with something other than 0 or 1.')
    return reply === 1 ? 'done' : 'conflict'
  }

  /** Runs a script. */
  async evaluate(
    script: RedisScript,
    key: string,
    values: readonly string[],
    target?: MasterConnection,
  ): Promise<unknown> {
    try {
      return await this.send(key, ['EVALSHA', await script.digest(), '1', key, ...values], target)
    } catch (error) {
      // After a restart or a failover the server does not have the script yet.
      if (!(error instanceof Error && error.message.startsWith('NOSCRIPT'))) throw error
      return this.send(key, ['EVAL', script.source, '1', key, ...values], target)
    }
  }
}
