/**
 * The parts that are used of `@keyv/redis`, and of the clients that it accepts: for one server, Sentinel or a Cluster.
 * A command goes to the master that owns the key.
 */
import { slotOf } from './redis-slot.js'

/** The part of a `redis` or `@redis/client` client that is used. */
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
  /** Removes a listener. */
  off(event: string, listener: (value?: unknown) => void): unknown
  sendCommand: unknown
}

/** The additional part of a Cluster client that is used. */
interface RedisClusterLike extends RedisClientLike {
  readonly slots: readonly ({ readonly master: unknown } | undefined)[]
  readonly masters: readonly { readonly address: string }[]
  nodeClient(node: unknown): RedisClientLike | Promise<RedisClientLike>
}

/** The part of the `@keyv/redis` adapter that is used. */
export interface RedisAdapter {
  readonly client: RedisClientLike
  readonly namespace?: string
  createKeyPrefix(key: string, namespace?: string): string
  disconnect(force?: boolean): Promise<void>
}

/** Whether `adapter` has the used part of `@keyv/redis`. */
export function isRedisAdapter(adapter: unknown): adapter is RedisAdapter {
  const { client, createKeyPrefix } = (adapter ?? {}) as Partial<RedisAdapter>
  return (
    typeof createKeyPrefix === 'function' &&
    typeof client?.sendCommand === 'function' &&
    typeof client.connect === 'function' &&
    typeof client.isOpen === 'boolean'
  )
}

/** Whether the client has one connection to one server, whose state its events report. */
export function isSingleServer(client: RedisClientLike): boolean {
  return !isCluster(client) && !isSentinel(client)
}

/** Options of a command: the reply comes as text, regardless of the client's own settings. */
const asText = Object.freeze({ typeMapping: Object.freeze({}) })

/** Sends a command to the master that owns `key`. */
export function sendTo(client: RedisClientLike, key: string, words: readonly string[]): Promise<unknown> {
  const send = client.sendCommand as (...values: unknown[]) => Promise<unknown>
  if (isCluster(client)) return send.call(client, key, false, words, asText)
  if (isSentinel(client)) return send.call(client, false, words, asText)
  return send.call(client, words, asText)
}

/** The client whose connection takes the writes for `key`. In a Cluster it is the client of the node. */
export async function masterFor(client: RedisClientLike, key: string): Promise<RedisClientLike> {
  if (!isCluster(client)) return client
  const owner = client.slots[slotOf(key)]
  if (owner === undefined) throw new Error('No node of the Redis Cluster is known to own the slot of the session.')
  return client.nodeClient(owner.master)
}

/**
 * The clients of all masters, in a stable order, and a number that changes if the nodes or their slots change. Outside
 * a Cluster there is one client.
 */
export async function mastersOf(
  client: RedisClientLike,
): Promise<{ readonly topology: number; readonly masters: readonly RedisClientLike[] }> {
  if (!isCluster(client)) return { topology: 0, masters: [client] }
  const nodes = client.masters.toSorted((left, right) => (left.address < right.address ? -1 : 1))
  const numbers = new Map<unknown, number>(nodes.map((node, index) => [node, index]))
  let layout = nodes.map(({ address }) => address).join()
  for (let slot = 0, last: unknown; slot < client.slots.length; slot++) {
    const owner = client.slots[slot]?.master
    if (owner !== last) layout += ` ${slot} ${numbers.get(owner)}`
    last = owner
  }
  const masters = await Promise.all(nodes.map((node) => client.nodeClient(node)))
  return { topology: slotOf(layout), masters }
}

function isCluster(client: RedisClientLike): client is RedisClusterLike {
  return 'slots' in client && client.slots !== undefined
}

function isSentinel(client: RedisClientLike): boolean {
  return 'getSentinelNode' in client
}
