/**
 * Claims in Redis: each is one key with an expiry. A single command stores the session ID, or returns the one that the
 * key already holds.
 */
import { decodeText } from '../text-escapes.js'
import type { RedisCommands } from './redis-commands.js'
import { claimScript } from './redis-scripts.js'

/** The claims of one Keyv's connection. */
export class RedisClaims {
  readonly #commands: RedisCommands
  /** Set once the server has turned out to be older than 7.0. */
  #isOldServer = false

  constructor(commands: RedisCommands) {
    this.#commands = commands
  }

  /** Claims the key for `sessionId`, unless it is taken. Returns the session ID that the key holds. */
  async claim(key: string, sessionId: string, ttlMs: number): Promise<string> {
    const ttl = String(Math.max(1, Math.ceil(ttlMs)))
    const kept = this.#isOldServer ? undefined : await this.#set(key, sessionId, ttl)
    if (kept === null) return sessionId
    return decodeText((kept ?? (await this.#commands.evaluate(claimScript, key, [sessionId, ttl]))) as string)
  }

  /** Returns the earlier session ID, `null` if there was none, or `undefined` if the server refuses the command. */
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
