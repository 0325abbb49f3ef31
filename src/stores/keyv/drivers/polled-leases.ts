/**
 * Leases over any backend that can keep a token of the holder under a key, with an expiry by its own clock. A caller
 * that finds a lease taken asks again after a while. A holder renews and returns its lease by its token; one that dies
 * leaves it to expire. The commands are in redis-leases.ts and sql-leases.ts.
 */
import { onAbort } from '../../../util/on-abort.js'

/** What a backend does for leases, each in one step. */
export interface LeaseCommands {
  /** Called before a lease is taken: what {@link LeaseCommands.release} needs to send its command at once. */
  prepare?(): Promise<unknown>
  /** Keeps the token under the key if the key is free, or expired, and says whether it did. */
  take(key: string, token: string, ttlMs: number): Promise<boolean>
  /** Restarts the time of the token's lease; `false` if the lease was lost. */
  renew(key: string, token: string, ttlMs: number): Promise<boolean>
  /** Frees the lease if the token has it. */
  release(key: string, token: string): Promise<unknown>
}

/**
 * The option `lease` of the functions that make a Keyv.
 *
 * @inline
 */
export interface LeaseOptions {
  /** Milliseconds after which the lease of a holder that died is free. */
  readonly ttlMs: number
}

/** The pauses between two attempts, in milliseconds. The first is short, because most turns are short. */
const firstPauseMs = 10
const longestPauseMs = 500

/** The leases of one Keyv's connection. */
export class PolledLeases {
  readonly #commands: LeaseCommands
  readonly #ttlMs: number
  readonly #renewals = new Set<ReturnType<typeof setTimeout>>()
  #isClosed = false

  /** @param ttlMs - Milliseconds after which a lease is free again if its holder died. */
  constructor(commands: LeaseCommands, ttlMs: number) {
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
    // Before the wait, so that a lease is returned at once, also just before the connection is closed.
    await this.#commands.prepare?.()
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
      if (await this.#commands.take(key, token, this.#ttlMs)) return
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
        if (!(await this.#commands.renew(key, token, this.#ttlMs))) return
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
    await this.#commands.release(key, token)
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
