/**
 * What is used of `@keyv/redis` and of the clients it takes: one server, Sentinel or Cluster. A command goes to the
 * master that owns the key, and its reply comes as text, whatever the client's own settings say.
 */
import { slotOf } from './redis-slot.js'

/** What is used of a client of the package `redis` or `@redis/client`. */
export interface RedisClientLike {
  readonly isOpen: boolean
  /** Absent in a Cluster client of version 5. */
  readonly isReady?: boolean
  /** Opens the connection. */
  connect(): Promise<unknown>
  /** Ends the connection at once. */
  destroy(): unknown
  /** Listens to an event of the client. */
  on(event: string, listener: (value?: unknown) => void): unknown
  /** Takes a listener back. */
  off(event: string, listener: (value?: unknown) => void): unknown
  sendCommand: unknown
}

/** What more is used of a Cluster client. */
interface RedisClusterLike extends RedisClientLike {
  readonly slots: readonly ({ readonly master: unknown } | undefined)[]
  nodeClient(node: unknown): RedisClientLike | Promise<RedisClientLike>
}

/** What is used of the adapter of `@keyv/redis`. */
export interface RedisAdapter {
  readonly client: RedisClientLike
  readonly namespace?: string
  createKeyPrefix(key: string, namespace?: string): string
  disconnect(force?: boolean): Promise<void>
}

/** Whether `adapter` is one of `@keyv/redis`, by what is used of it. */
export function isRedisAdapter(adapter: unknown): adapter is RedisAdapter {
  const { client, createKeyPrefix } = (adapter ?? {}) as Partial<RedisAdapter>
  return (
    typeof createKeyPrefix === 'function' &&
    typeof client?.sendCommand === 'function' &&
    typeof client.connect === 'function' &&
    typeof client.isOpen === 'boolean'
  )
}

/** Whether the client has one connection to one server, whose events tell how it is. */
export function isSingleServer(client: RedisClientLike): boolean {
  return !isCluster(client) && !isSentinel(client)
}

/** Sends a command to the master that owns `key`. */
export function sendTo(client: RedisClientLike, key: string, words: readonly string[]): Promise<unknown> {
  const send = client.sendCommand as (...values: unknown[]) => Promise<unknown>
  const options = { typeMapping: {} }
  if (isCluster(client)) return send.call(client, key, false, words, options)
  if (isSentinel(client)) return send.call(client, false, words, options)
  return send.call(client, words, options)
}

/** The client whose connection takes the writes for `key`: that of the node, in a Cluster. */
export async function masterFor(client: RedisClientLike, key: string): Promise<RedisClientLike> {
  if (!isCluster(client)) return client
  const owner = client.slots[slotOf(key)]
  if (owner === undefined) throw new Error('No node of the Redis Cluster is known to own the slot of the session.')
  return client.nodeClient(owner.master)
}

function isCluster(client: RedisClientLike): client is RedisClusterLike {
  return 'slots' in client && client.slots !== undefined
}

function isSentinel(client: RedisClientLike): boolean {
  return 'getSentinelNode' in client
}
