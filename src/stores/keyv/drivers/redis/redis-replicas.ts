/**
 * Counting the replicas that have what was written. A server answers nothing else on a connection that waits, so one
 * WAIT serves all who wrote before it was sent: however many sessions there are, nobody waits for more than two.
 */
import type { RedisClientLike } from './redis-client.js'
import type { RedisConnection, RedisLine } from './redis-connection.js'
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

  /** How many replicas have what was written on `line` before this call. Means nothing where the line was lost since. */
  count(line: RedisLine): Promise<number> {
    const waits = this.#waits.get(line.client) ?? { running: undefined, next: undefined }
    this.#waits.set(line.client, waits)
    if (waits.running === undefined) return this.#start(waits, line)
    const start = (): Promise<number> => {
      waits.next = undefined
      return this.#start(waits, line)
    }
    waits.next ??= waits.running.then(start, start)
    return waits.next
  }

  #start(waits: Waits, line: RedisLine): Promise<number> {
    const running = this.#connection.sendOn(line, this.#words).then((reply) => Number(reply) || 0)
    const end = (): void => {
      waits.running = undefined
    }
    waits.running = running
    running.then(end, end)
    return running
  }
}
