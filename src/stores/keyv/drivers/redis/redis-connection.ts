/**
 * The way to a Redis server: connects when it is first needed, waits a moment for a connection that was just lost,
 * gives up one that no longer answers, and never opens one after it was closed. What is sent is the driver's business.
 */
import { isSingleServer, masterFor, type RedisAdapter, type RedisClientLike, sendTo } from './redis-client.js'

/** How long a command waits for a connection that was lost, counted from the loss: a blip is no outage. */
const graceMs = 1_000

/** How long `close` waits for what is under way. */
const closeWithinMs = 1_000

/** One connection to one master. Another `number` is another connection. */
export interface RedisLine {
  readonly client: RedisClientLike
  readonly number: number
}

/** Whether both are the same connection. */
export function isSameLine(left: RedisLine, right: RedisLine): boolean {
  return left.client === right.client && left.number === right.number
}

/** One Keyv's connection. */
export class RedisConnection {
  readonly #adapter: RedisAdapter
  readonly #replyWithinMs: number | undefined
  readonly #underWay = new Set<Promise<unknown>>()
  #connecting: Promise<void> | undefined
  #returning: Promise<void> | undefined
  #watched: RedisClientLike | undefined
  #lostAt = Number.NEGATIVE_INFINITY
  #lastReplyAt = 0
  readonly #numbers = new WeakMap<RedisClientLike, { current: number }>()
  #isClosed = false

  /** @param replyWithinMs - Milliseconds without any reply after which the connection is given up. */
  constructor(adapter: RedisAdapter, replyWithinMs: number | undefined) {
    this.#adapter = adapter
    this.#replyWithinMs = replyWithinMs
  }

  /** The connection on which a command for `key` would be sent now. Connects where that is needed. */
  async lineFor(key: string): Promise<RedisLine> {
    const client = await masterFor(await this.#ready(), key)
    return { client, number: this.#numberOf(client) }
  }

  /** Sends a command to the master that owns `key`. Rejects where the server is not there. */
  send(key: string, words: readonly string[]): Promise<unknown> {
    return this.#track(this.#ready().then((client) => this.#send(client, key, words)))
  }

  /** Sends a command on a connection. */
  sendOn(line: RedisLine, words: readonly string[]): Promise<unknown> {
    return this.#track(this.#send(line.client, '', words))
  }

  async #track(work: Promise<unknown>): Promise<unknown> {
    this.#underWay.add(work)
    try {
      return await work
    } finally {
      this.#underWay.delete(work)
    }
  }

  /** Ends the connection. */
  async close(): Promise<void> {
    if (this.#isClosed) return
    this.#isClosed = true
    const { client } = this.#adapter
    if (!client.isOpen) return
    // A client that is ended in the middle of connecting would connect all the same.
    const settled = client.isReady === false ? nextState(client) : Promise.resolve()
    await atMost(closeWithinMs, Promise.all([settled, Promise.allSettled([...this.#underWay])]))
    // Not the polite way: that one waits for replies, of which a paused server has none.
    await this.#adapter.disconnect(true)
  }

  async #send(client: RedisClientLike, key: string, words: readonly string[]): Promise<unknown> {
    const sentAt = performance.now()
    const giveUp = (): void => {
      if (this.#lastReplyAt < sentAt && client.isReady === true) this.#reopen(client)
    }
    const timer = this.#replyWithinMs === undefined ? undefined : setTimeout(giveUp, this.#replyWithinMs)
    try {
      const reply = await sendTo(client, key, words)
      this.#lastReplyAt = performance.now()
      return reply
    } finally {
      clearTimeout(timer)
    }
  }

  async #ready(): Promise<RedisClientLike> {
    if (this.#isClosed) throw new Error('The connection to Redis is closed.')
    const { client } = this.#adapter
    if (client !== this.#watched) this.#watch(client)
    if (client.isReady === true) return client
    if (!client.isOpen) this.#connecting ??= this.#connect(client)
    if (this.#connecting !== undefined) await this.#connecting
    else if (client.isReady === false) {
      const left = this.#lostAt + graceMs - performance.now()
      if (left > 0) await atMost(left, this.#whenReady(client))
    }
    if (this.#isClosed) throw new Error('The connection to Redis is closed.')
    return client
  }

  #numberOf(client: RedisClientLike): number {
    const known = this.#numbers.get(client)
    if (known !== undefined) return known.current
    const number = { current: 0 }
    const isAnother = (): void => {
      number.current++
    }
    client.on('ready', isAnother)
    // Of Sentinel: another server may be the master now.
    client.on('topology-change', isAnother)
    this.#numbers.set(client, number)
    return number.current
  }

  /** One listener for all who wait. */
  #whenReady(client: RedisClientLike): Promise<void> {
    this.#returning ??= once(client, 'ready').finally(() => {
      this.#returning = undefined
    })
    return this.#returning
  }

  #connect(client: RedisClientLike): Promise<void> {
    return connect(client).finally(() => {
      this.#connecting = undefined
    })
  }

  /** Ends a connection that is silent, with all that waits for a reply on it, and opens another. */
  #reopen(client: RedisClientLike): void {
    client.destroy()
    if (this.#isClosed) return
    this.#connecting = this.#connect(client)
    this.#connecting.catch(() => undefined)
  }

  #watch(client: RedisClientLike): void {
    this.#watched = client
    let wasReady = client.isReady === true
    const onReady = (): void => {
      wasReady = true
    }
    client.on('ready', onReady)
    client.on('node-ready', onReady)
    // Also so that there is a listener: an error event without one would end the process.
    client.on('error', () => {
      if (wasReady) this.#lostAt = performance.now()
      wasReady = false
    })
  }
}

/** Resolves when the client is connected, and rejects with the first error; a single server's client goes on trying. */
async function connect(client: RedisClientLike): Promise<void> {
  if (!isSingleServer(client)) return void (await client.connect())
  let onError: ((error?: unknown) => void) | undefined
  const firstError = new Promise<never>((_, reject) => {
    onError = reject
    client.on('error', onError)
  })
  try {
    await Promise.race([client.connect(), firstError])
  } finally {
    if (onError !== undefined) client.off('error', onError)
  }
}

function once(client: RedisClientLike, event: string): Promise<void> {
  return new Promise((resolve) => {
    const listener = (): void => {
      client.off(event, listener)
      resolve()
    }
    client.on(event, listener)
  })
}

function nextState(client: RedisClientLike): Promise<void> {
  return Promise.race([once(client, 'ready'), once(client, 'error')])
}

async function atMost(ms: number, work: Promise<unknown>): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const timeout = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms)
  })
  await Promise.race([work, timeout])
  clearTimeout(timer)
}
