/**
 * Claims in Redis: one key with an expiry for each. One command keeps a session ID there, or
 * returns the one that is kept.
 */
import { decodeText } from '../text-escapes.js'
import type { RedisCommands } from './redis-commands.js'
import { claimScript } from './redis-scripts.js'

/** The claims of one Keyv's connection. */
export class RedisClaims {
  readonly #commands: RedisCommands
  /** Whether the server is older than 7.0, as far as is known. */
  #isOldServer = false

  constructor(commands: RedisCommands) {
    this.#commands = commands
  }

  /** The session ID that is kept under the key. */
  async claim(key: string, sessionId: string, ttlMs: number): Promise<string> {
    const ttl = String(Math.max(1, Math.ceil(ttlMs)))
    const kept = this.#isOldServer ? undefined : await this.#set(key, sessionId, ttl)
    if (kept === null) return sessionId
    return decodeText((kept ?? (await this.#commands.evaluate(claimScript, key, [sessionId, ttl]))) as string)
  }

  /** What was kept before; `undefined` where the server does not take the command. */
  async #set(key: string, sessionId: string, ttl: string): Promise<unknown> {
    try {
      return await this.#commands.send(key, ['SET', key, sessionId, 'NX', 'GET', 'PX', ttl])
    } catch (error) {
      // A server before 7.0 refuses NX and GET in one command.
      if (!(error instanceof Error && /syntax error/i.test(error.message))) throw error
      this.#isOldServer = true
      return undefined
    }
  }
}
