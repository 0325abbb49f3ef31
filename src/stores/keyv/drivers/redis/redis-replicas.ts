/**
 * Counts the replicas that have received a write. While WAIT runs on a connection, the server answers nothing else on
 * it. So one WAIT serves every write that was sent before it: no write waits for more than two, no matter how many
 * sessions there are.
 */
import type { RedisClientLike } from './connection/redis-client.js'
import type { MasterConnection, RedisConnection } from './connection/redis-connection.js'
import type { RedisWaitOptions } from './redis-settings.js'

interface Waits {
  /** The WAIT that was sent. */
  running: Promise<number> | undefined
  /** The WAIT that is sent when the running one ends. */
  next: Promise<number> | undefined
}

/** Counts the replicas for one Keyv's connection. */
export class RedisReplicas {
  readonly #connection: Pick<RedisConnection, 'sendOn'>
  readonly #words: readonly string[]
  readonly #waits = new WeakMap<RedisClientLike, Waits>()

  constructor(connection: Pick<RedisConnection, 'sendOn'>, { replicas, timeoutMs }: Required<RedisWaitOptions>) {
    this.#connection = connection
    this.#words = ['WAIT', String(replicas), String(timeoutMs)]
  }

  /**
   * How many replicas have received the writes that were sent on `target` before this call. The number means nothing if
   * that connection has been lost since.
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
