/**
 * The connection to a Redis server. It connects on first use, waits a moment if the connection was just lost, replaces
 * a connection that no longer answers, and never reconnects after it was closed. redis-session-driver.ts decides what
 * is sent.
 */
import {
  isSingleServer,
  masterFor,
  mastersOf,
  type RedisAdapter,
  type RedisClientLike,
  sendTo,
} from './redis-client.js'

/**
 * Milliseconds that a command waits for a lost connection to return, counted from the loss: a short interruption is not
 * an outage.
 */
const graceMs = 1_000

/** Milliseconds that `close` waits for running commands. */
const closeWithinMs = 1_000

/** One connection to one master. The `number` changes if the client reconnects. */
export interface MasterConnection {
  readonly client: RedisClientLike
  readonly number: number
}

/** Whether both are the same connection. */
export function isSameConnection(left: MasterConnection, right: MasterConnection): boolean {
  return left.client === right.client && left.number === right.number
}

/** The connection of one Keyv. */
export class RedisConnection {
  readonly #adapter: RedisAdapter
  readonly #replyWithinMs: number | undefined
  readonly #numbers = new WeakMap<RedisClientLike, { current: number }>()
  /** Commands without a reply. */
  #pending = 0
  /**
   * The time of the last reply or, after an idle time, of the first command. Counts only while commands are pending.
   */
  #silentSince = 0
  #silenceTimer: ReturnType<typeof setTimeout> | undefined
  #onIdle: (() => void) | undefined
  #connecting: Promise<void> | undefined
  #returning: Promise<void> | undefined
  #watched: RedisClientLike | undefined
  #lostAt = Number.NEGATIVE_INFINITY
  #isClosed = false

  /**
   * @param replyWithinMs - Milliseconds without any reply after which the connection is replaced; `undefined`: never.
   */
  constructor(adapter: RedisAdapter, replyWithinMs: number | undefined) {
    this.#adapter = adapter
    this.#replyWithinMs = replyWithinMs
  }

  /** The connection on which a command for `key` would be sent now. Connects if needed. */
  async connectionFor(key: string): Promise<MasterConnection> {
    const client = await masterFor(await this.#ready(), key)
    return { client, number: this.#numberOf(client) }
  }

  /** The connections to all masters: see {@link mastersOf}. Connects if needed. */
  async masters(): Promise<Awaited<ReturnType<typeof mastersOf>>> {
    return mastersOf(await this.#ready())
  }

  /** Sends a command to the master that owns `key`. Rejects if the server cannot be reached. */
  send(key: string, words: readonly string[]): Promise<unknown> {
    const { client } = this.#adapter
    if (client.isReady === true && client === this.#watched && !this.#isClosed) return this.#send(client, key, words)
    return this.#ready().then((ready) => this.#send(ready, key, words))
  }

  /** Sends a command on a connection. */
  sendOn(connection: MasterConnection, words: readonly string[]): Promise<unknown> {
    return this.#send(connection.client, '', words)
  }

  /** Ends the connection. */
  async close(): Promise<void> {
    if (this.#isClosed) return
    this.#isClosed = true
    const { client } = this.#adapter
    if (client.isOpen) {
      // A client that is closed while it connects would still connect.
      const settled = client.isReady === false ? nextState(client) : Promise.resolve()
      await atMost(closeWithinMs, Promise.all([settled, this.#idle()]))
      // Force it: a graceful close waits for replies, and a paused server sends none.
      await this.#adapter.disconnect(true)
    }
    clearTimeout(this.#silenceTimer)
  }

  async #send(client: RedisClientLike, key: string, words: readonly string[]): Promise<unknown> {
    if (this.#pending === 0) this.#silentSince = performance.now()
    this.#pending++
    this.#watchSilence()
    try {
      return await sendTo(client, key, words)
    } finally {
      this.#silentSince = performance.now()
      this.#pending--
      if (this.#pending === 0) this.#onIdle?.()
    }
  }

  #idle(): Promise<void> {
    return new Promise((resolve) => {
      if (this.#pending === 0) resolve()
      else this.#onIdle = resolve
    })
  }

  /**
   * Replaces the connection if it is silent for too long. One timer serves all commands, because a timer per command
   * would cost more than sending the command.
   */
  #watchSilence(afterMs: number | undefined = this.#replyWithinMs): void {
    if (this.#replyWithinMs === undefined || this.#silenceTimer !== undefined || this.#isClosed) return
    const limitMs = this.#replyWithinMs
    this.#silenceTimer = setTimeout(() => {
      this.#silenceTimer = undefined
      if (this.#pending === 0) return
      const { client } = this.#adapter
      const leftMs = this.#silentSince + limitMs - performance.now()
      if (leftMs <= 0 && client.isReady === true) this.#reopen(client)
      this.#watchSilence(leftMs > 0 ? leftMs : limitMs)
    }, afterMs)
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
    const onChange = (): void => {
      number.current++
    }
    client.on('ready', onChange)
    // Sentinel's event: another server may be the master now.
    client.on('topology-change', onChange)
    this.#numbers.set(client, number)
    return number.current
  }

  /** One listener for all waiting commands. */
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

  /** Ends a connection that does not answer, and all commands that wait on it, and opens another connection. */
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
    // This listener is also needed because an error event without one would end the process.
    client.on('error', () => {
      if (wasReady) this.#lostAt = performance.now()
      wasReady = false
    })
  }
}

/** Resolves when the client is connected, and rejects with the first error; a single server's client keeps trying. */
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
