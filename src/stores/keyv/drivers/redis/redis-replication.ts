/**
 * Swaps that wait for replicas. WAIT counts only writes on its own connection, so a swap is sent on a fixed connection
 * to the master. If that connection is lost before the replicas were counted, the swap is sent once more; if it had
 * already been done, that changes nothing. If the second attempt fails too, the swap is in doubt, and the next read of
 * the session sends it again before it returns what the swap wrote.
 */
import { BoundedMap } from '../../../bounded-map/bounded-map.js'
import type { SessionSwap, SwapOutcome } from '../../driver/session-driver.js'
import { encodeText } from '../text-escapes.js'
import { isSameConnection, type MasterConnection, type RedisConnection } from './connection/redis-connection.js'
import { RedisReplicas } from './redis-replicas.js'
import type { RedisWaitOptions } from './redis-settings.js'

/** How many unconfirmed swaps are remembered. */
const maxDoubtful = 10_000

const maxAttempts = 2

/** Swaps without waiting for replicas. Without a `target`, the client routes the command. */
export type SwapOnce = (change: SessionSwap, target?: MasterConnection) => Promise<SwapOutcome>

/** The replication of one Keyv's sessions. */
export class RedisReplication {
  readonly #connection: Pick<RedisConnection, 'connectionFor'>
  readonly #replicas: RedisReplicas
  readonly #wanted: number
  readonly #swapOnce: SwapOnce
  /** Swaps in doubt, by key, in the form in which they are sent again. */
  readonly #doubtful = new BoundedMap<string, SessionSwap>({ maxEntries: maxDoubtful })

  constructor(
    connection: Pick<RedisConnection, 'connectionFor' | 'sendOn'>,
    wait: Required<RedisWaitOptions>,
    swapOnce: SwapOnce,
  ) {
    this.#connection = connection
    this.#replicas = new RedisReplicas(connection, wait)
    this.#wanted = wait.replicas
    this.#swapOnce = swapOnce
  }

  /** Swaps, and waits for the replicas. Rejects if the connection was lost before they were counted. */
  async swap(change: SessionSwap): Promise<SwapOutcome> {
    const { key, revision } = change
    try {
      const outcome = await this.#swap(change)
      this.#doubtful.delete(key)
      return outcome
    } catch (error) {
      const again = { ...change, expectedRevision: revision, head: '', chunks: [], removed: [], replacesChunks: false }
      this.#doubtful.set(key, again)
      throw error
    }
  }

  /** If a swap in doubt wrote the revision that was read, sends it again and waits for the replicas. */
  async makeSure(key: string, revision: string | undefined): Promise<void> {
    const change = this.#doubtful.get(key)
    if (change !== undefined && change.revision === revision) await this.swap(change)
  }

  async #swap(change: SessionSwap): Promise<SwapOutcome> {
    let wasRedirected = false
    for (let attempt = 1; attempt <= maxAttempts; attempt++) {
      const target = await this.#connectionFor(change.key)
      const sent = await this.#send(change, target)
      wasRedirected = sent.wasRedirected
      if (sent.outcome === 'conflict') return conflictAt(attempt)
      const replicas = wasRedirected ? undefined : await this.#count(change.key, target)
      if (replicas === undefined) continue
      if (replicas < this.#wanted) change.onUnderReplicated?.(replicas, this.#wanted)
      return 'done'
    }
    if (!wasRedirected) throw new Error('The connection to Redis was lost before the replicas were counted.')
    // The slot is moving to another node. The client did the swap there, on its own connection.
    change.onUnderReplicated?.(0, this.#wanted)
    return 'done'
  }

  async #send(
    change: SessionSwap,
    target: MasterConnection,
  ): Promise<{ outcome: SwapOutcome; wasRedirected: boolean }> {
    try {
      return { outcome: await this.#swapOnce(change, target), wasRedirected: false }
    } catch (error) {
      if (!isRedirection(error)) throw error
      // The client follows the redirection, and learns the slot's new node from it.
      return { outcome: await this.#swapOnce(change), wasRedirected: true }
    }
  }

  /** `undefined` if the connection has been replaced since. */
  async #count(key: string, target: MasterConnection): Promise<number | undefined> {
    const replicas = await this.#replicas.count(target)
    return isSameConnection(await this.#connectionFor(key), target) ? replicas : undefined
  }

  /** Looks up the connection by the key's encoded form, which is the form that is sent. */
  #connectionFor(key: string): Promise<MasterConnection> {
    return this.#connection.connectionFor(encodeText(key))
  }
}

function conflictAt(attempt: number): 'conflict' {
  if (attempt === 1) return 'conflict'
  // The first attempt took effect. Another writer has replaced it since, and may have read it first.
  throw new Error('The save succeeded, but another process has overwritten it.')
}

function isRedirection(error: unknown): boolean {
  return error instanceof Error && /^(MOVED|ASK) /.test(error.message)
}
