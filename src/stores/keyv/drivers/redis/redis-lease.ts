/**
 * Leases in Redis: each is one key with an expiry, whose value is the holder's token. If a lease is taken, the caller
 * tries again after a pause. A holder renews and releases its lease by its token; if the holder dies, the lease
 * expires.
 */
import { onAbort } from '../../../../util/on-abort.js'
import type { RedisCommands } from './redis-commands.js'
import { releaseLeaseScript, renewLeaseScript } from './redis-scripts.js'

/** The pauses between two attempts, in milliseconds. The first is short, because most turns are short. */
const firstPauseMs = 10
const longestPauseMs = 500

/** The leases of one Keyv's connection. */
export class RedisLeases {
  readonly #commands: RedisCommands
  readonly #ttlMs: number
  readonly #renewals = new Set<ReturnType<typeof setTimeout>>()
  #isClosed = false

  /** @param ttlMs - Milliseconds after which a lease is free again if its holder died. */
  constructor(commands: RedisCommands, ttlMs: number) {
    this.#commands = commands
    this.#ttlMs = Math.max(1, Math.ceil(ttlMs))
  }

  /**
   * Waits until the lease is free, and takes it. Rejects if the server fails or `signal` ends the wait.
   *
   * @returns A function that releases the lease.
   */
  async take(key: string, signal: AbortSignal): Promise<() => Promise<void>> {
    signal.throwIfAborted()
    // Compute the digest now, so that a release sends its command at once, even just before the connection is closed.
    await releaseLeaseScript.digest()
    const token = newToken()
    const taking = this.#take(key, token, signal)
    let stop = (): void => undefined
    const aborted = new Promise<never>((_, reject) => {
      stop = onAbort(signal, () => reject(signal.reason))
    })
    try {
      await Promise.race([taking, aborted])
    } catch (error) {
      // An attempt may still be running, or may have succeeded although its reply was lost.
      void taking.catch(() => undefined).then(() => this.#giveBack(key, token).catch(() => undefined))
      throw error
    } finally {
      stop()
    }
    const stopRenewing = this.#renew(key, token)
    return () => {
      stopRenewing()
      return this.#giveBack(key, token)
    }
  }

  /** Ends the renewals. Held leases expire. */
  close(): void {
    this.#isClosed = true
    for (const timer of this.#renewals) clearTimeout(timer)
    this.#renewals.clear()
  }

  async #take(key: string, token: string, signal: AbortSignal): Promise<void> {
    for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(pauseMs * 1.5, longestPauseMs)) {
      signal.throwIfAborted()
      const reply = await this.#commands.send(key, ['SET', key, token, 'NX', 'PX', String(this.#ttlMs)])
      if (reply !== null && reply !== undefined) return
      await pause(pauseMs * (0.5 + Math.random() / 2), signal)
    }
  }

  /** Returns a function that ends the renewal. */
  #renew(key: string, token: string): () => void {
    let timer: ReturnType<typeof setTimeout>
    const start = (): void => {
      if (this.#isClosed) return
      timer = setTimeout(renew, this.#ttlMs / 3)
      // In Node a timer is an object. It must not keep the process alive.
      if (typeof timer === 'object') timer.unref()
      this.#renewals.add(timer)
    }
    const renew = async (): Promise<void> => {
      const own = timer
      try {
        // A lost lease is not taken back: another process may hold it now.
        if ((await this.#commands.run(renewLeaseScript, key, [token, String(this.#ttlMs)])) === 'conflict') return
      } catch {
        // The server may be back before the lease expires. Nothing depends on the lease.
      }
      // Go on, unless the lease was released meanwhile.
      if (this.#renewals.delete(own)) start()
    }
    start()
    return () => {
      clearTimeout(timer)
      this.#renewals.delete(timer)
    }
  }

  async #giveBack(key: string, token: string): Promise<void> {
    await this.#commands.run(releaseLeaseScript, key, [token])
  }
}

function newToken(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join('')
}

/** Waits, and ends early if `signal` is aborted. */
function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(timer)
      stop()
      resolve()
    }
    const timer = setTimeout(end, ms)
    const stop = onAbort(signal, end)
  })
}
