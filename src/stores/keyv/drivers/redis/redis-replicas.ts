/**
 * Counts the replicas that have what was written. A server answers nothing else on a connection while WAIT runs on it,
 * so one WAIT serves every write that was sent before it: however many sessions there are, no write
 * waits for more than two.
 */
import type { RedisClientLike } from './connection/redis-client.js'
import type { MasterConnection, RedisConnection } from './connection/redis-connection.js'
import type { RedisWaitOptions } from './redis-settings.js'

interface Waits {
  /** The one that was sent. */
  running: Promise<number> | undefined
  /** The one that is sent when that is over. */
  next: Promise<number> | undefined
}

/** Counts for one Keyv's connection. */
export class RedisReplicas {
  readonly #connection: Pick<RedisConnection, 'sendOn'>
  readonly #words: readonly string[]
  readonly #waits = new WeakMap<RedisClientLike, Waits>()

  constructor(connection: Pick<RedisConnection, 'sendOn'>, { replicas, timeoutMs }: Required<RedisWaitOptions>) {
    this.#connection = connection
    this.#words = ['WAIT', String(replicas), String(timeoutMs)]
  }

  /**
   * How many replicas have what was written on `target` before this call. Means nothing where that
   * connection was lost since.
   */
  count(target: MasterConnection): Promise<number> {
    const waits = this.#waits.get(target.client) ?? { running: undefined, next: undefined }
    this.#waits.set(target.client, waits)
    if (waits.running === undefined) return this.#start(waits, target)
    const start = (): Promise<number> => {
      waits.next = undefined
      return this.#start(waits, target)
    }
    waits.next ??= waits.running.then(start, start)
    return waits.next
  }

  #start(waits: Waits, target: MasterConnection): Promise<number> {
    const running = this.#connection.sendOn(target, this.#words).then((reply) => Number(reply) || 0)
    const end = (): void => {
      waits.running = undefined
    }
    waits.running = running
    running.then(end, end)
    return running
  }
}
