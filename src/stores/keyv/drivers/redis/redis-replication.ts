/**
 * Swaps that count only when the replicas had the time to take them. What WAIT says holds for what was written on the
 * same connection. So a swap is sent on one connection to the master; where that was lost before the replicas were
 * counted, the swap is done once more: its script does nothing twice. Where that fails, too, the swap is in doubt, and
 * whoever reads its work makes sure first.
 */
import { LRUCache } from 'lru-cache'
import type { SessionSwap, SwapOutcome } from '../../session-driver.js'
import { encodeText } from '../text-escapes.js'
import { isSameLine, type RedisConnection, type RedisLine } from './redis-connection.js'
import { RedisReplicas } from './redis-replicas.js'
import type { RedisWaitOptions } from './redis-settings.js'

/** Swaps in doubt that are remembered. */
const maxDoubtful = 10_000

const maxAttempts = 2

/** Swaps without waiting: on a connection, or wherever the client's own routing leads. */
type SwapOnce = (change: SessionSwap, line?: RedisLine) => Promise<SwapOutcome>

/** The replication of one Keyv's sessions. */
export class RedisReplication {
  readonly #connection: Pick<RedisConnection, 'lineFor'>
  readonly #replicas: RedisReplicas
  readonly #wanted: number
  readonly #swapOnce: SwapOnce
  /** By key: the swap as it is done once more. */
  readonly #doubtful = new LRUCache<string, SessionSwap>({ max: maxDoubtful })

  constructor(
    connection: Pick<RedisConnection, 'lineFor' | 'sendOn'>,
    wait: Required<RedisWaitOptions>,
    swapOnce: SwapOnce,
  ) {
    this.#connection = connection
    this.#replicas = new RedisReplicas(connection, wait)
    this.#wanted = wait.replicas
    this.#swapOnce = swapOnce
  }

  /** Swaps, and waits for the replicas. Rejects where the connection was lost before they were counted. */
  async swap(change: SessionSwap): Promise<SwapOutcome> {
    const { key, revision } = change
    try {
      const outcome = await this.#swap(change)
      this.#doubtful.delete(key)
      return outcome
    } catch (error) {
      this.#doubtful.set(key, { ...change, expectedRevision: revision, head: '', chunks: [], replacesChunks: false })
      throw error
    }
  }

  /** Waits for the replicas where the revision that was read is the work of a swap in doubt. */
  async makeSure(key: string, revision: string | undefined): Promise<void> {
    const change = this.#doubtful.get(key)
    if (change !== undefined && change.revision === revision) await this.swap(change)
  }

  async #swap(change: SessionSwap): Promise<SwapOutcome> {
    let wasRedirected = false
    for (let attempt = 1; attempt <= maxAttempts; attempt++) {
      const line = await this.#lineFor(change.key)
      let outcome: SwapOutcome
      try {
        outcome = await this.#swapOnce(change, line)
        wasRedirected = false
      } catch (error) {
        if (!isRedirection(error)) throw error
        // The client follows it, and learns from it where the slot is now.
        outcome = await this.#swapOnce(change)
        wasRedirected = true
      }
      if (outcome === 'conflict') {
        if (attempt === 1) return outcome
        // It was done before: who won since then may have gone on from it.
        throw new Error('A swap in Redis was done, and met another one when it was done once more.')
      }
      const replicas = wasRedirected ? undefined : await this.#count(change.key, line)
      if (replicas === undefined) continue
      if (replicas < this.#wanted) change.onUnderReplicated?.(replicas, this.#wanted)
      return outcome
    }
    if (!wasRedirected) throw new Error('The connection to Redis was lost before the replicas were counted.')
    // A slot on its way from one node to another: it is done there, on a connection that is not ours to wait on.
    change.onUnderReplicated?.(0, this.#wanted)
    return 'done'
  }

  /** `undefined` where another connection has taken over since. */
  async #count(key: string, line: RedisLine): Promise<number | undefined> {
    const replicas = await this.#replicas.count(line)
    return isSameLine(await this.#lineFor(key), line) ? replicas : undefined
  }

  /** By the key as it is sent. */
  #lineFor(key: string): Promise<RedisLine> {
    return this.#connection.lineFor(encodeText(key))
  }
}

function isRedirection(error: unknown): boolean {
  return error instanceof Error && /^(MOVED|ASK) /.test(error.message)
}
