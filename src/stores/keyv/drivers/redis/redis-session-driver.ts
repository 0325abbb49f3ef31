/**
 * Sessions in Redis: each is one hash, and therefore one key, also in a Cluster. A turn sends two commands: one that
 * reads, and one script that swaps. If the caller names an owner and the session is not in this process's cache, the
 * head is read first. Claims, leases and listings are in redis-claims.ts, redis-leases.ts, redis-owners.ts and
 * redis-listing.ts. redis-driver.ts and adapters/upstash decide how commands reach the server.
 */
import {
  removalMarkMs,
  type SessionDriver,
  type SessionSwap,
  type StoredHead,
  type StoredSession,
  type SwapOutcome,
} from '../../driver/session-driver.js'
import type { PolledLeases } from '../polled-leases.js'
import { decodeText } from '../text-escapes.js'
import type { MasterConnection, RedisConnection } from './connection/redis-connection.js'
import { RedisClaims } from './redis-claims.js'
import { RedisCommands } from './redis-commands.js'
import { RedisListing, type RedisNodes } from './redis-listing.js'
import { RedisOwners } from './redis-owners.js'
import type { RedisReplication, SwapOnce } from './redis-replication.js'
import { markField, removeScript, swapScript } from './redis-scripts.js'

/** What the driver needs to reach a server. */
export interface RedisDriverContext {
  readonly connection: Pick<RedisConnection, 'send' | 'sendOn' | 'close'>
  /** All nodes that hold sessions. */
  nodes(): Promise<RedisNodes>
  /** See `SessionSwap.ttlMs`. */
  ttlMs(): number | undefined
  /** Default: no save waits for replicas. */
  replication?(swapOnce: SwapOnce): RedisReplication
  /** Default: no leases. */
  leases?(commands: RedisCommands): PolledLeases
}

/** Makes the driver. */
export function createRedisSessionDriver(context: RedisDriverContext): SessionDriver {
  const { connection } = context
  const commands = new RedisCommands(connection)
  const claims = new RedisClaims(commands)
  const replication = context.replication?.(swapOnce)
  const leases = context.leases?.(commands)
  const owners = new RedisOwners(commands)
  const listing = new RedisListing({ ...context, commands, owners, readHead: (key) => readHead(key, []) })

  async function swap(change: SessionSwap): Promise<SwapOutcome> {
    await owners.note(change)
    return replication === undefined ? swapOnce(change) : replication.swap(change)
  }

  function swapOnce(change: SessionSwap, target?: MasterConnection): Promise<SwapOutcome> {
    return commands.run(swapScript, change.key, swapValues(change), target)
  }

  async function remove(key: string, expectedRevision?: string, owner?: SessionSwap['owner']): Promise<SwapOutcome> {
    const found = await owner?.()
    const expected = expectedRevision === undefined ? [] : [expectedRevision]
    const outcome = await commands.run(removeScript, key, [String(removalMarkMs), ...expected])
    if (outcome === 'done' && found !== undefined) await owners.remove(found, key)
    return outcome
  }

  async function hasRevision(key: string, revision: string): Promise<boolean> {
    const reply = (await commands.send(key, ['HGET', key, 'revision'])) as string | null
    return decodeField(reply) === revision
  }

  async function read(key: string, chunks: readonly string[], knownRevision?: string): Promise<StoredHead | undefined> {
    if (knownRevision !== undefined && (await hasRevision(key, knownRevision))) {
      if (replication !== undefined) await replication.makeSure(key, knownRevision)
      return { revision: knownRevision, head: '', chunks: [] }
    }
    return readHead(key, chunks)
  }

  async function readHead(key: string, chunks: readonly string[]): Promise<StoredHead | undefined> {
    const reply = (await commands.send(key, ['HMGET', key, 'revision', 'head', ...chunks])) as (string | null)[]
    const [revision, head, ...texts] = reply.map(decodeField)
    if (revision === undefined && head === undefined) return undefined
    if (replication !== undefined) await replication.makeSure(key, revision)
    return { revision: revision ?? '', head: head ?? '', chunks: texts }
  }

  async function readAll(key: string): Promise<StoredSession | undefined> {
    const chunks = fieldsOf(await commands.send(key, ['HGETALL', key]))
    if (chunks.size === 0 || chunks.has(markField)) return undefined
    const [revision = '', head = ''] = [chunks.get('revision'), chunks.get('head')]
    if (replication !== undefined) await replication.makeSure(key, revision)
    chunks.delete('revision')
    chunks.delete('head')
    return { revision, head, chunks }
  }

  return {
    guarantees: { compareAndSwap: 'backend', durable: true },
    read,
    readAll,
    swap,
    remove,
    claim: (key, sessionId, ttlMs) => claims.claim(key, sessionId, ttlMs),
    isRemoved: async (key) => (await commands.send(key, ['HEXISTS', key, markField])) === 1,
    ...(leases === undefined ? {} : { lease: (key, _ttlMs, signal) => leases.take(key, signal) }),
    isOwnedBy: (key, ownerKey) => owners.has(ownerKey, key),
    list: (request) => listing.page(request),
    close() {
      leases?.close()
      return connection.close()
    },
  }
}

/** The script's arguments, in order. */
function swapValues(change: SessionSwap): string[] {
  const { expectedRevision, revision, head, chunks, removed, replacesChunks, ttlMs, expiresBy } = change
  const kind = expectedRevision === undefined ? 'create' : 'save'
  const ttl = ttlMs === undefined ? '' : String(Math.max(1, Math.ceil(ttlMs)))
  // If nothing is stored yet, there is nothing to remove.
  const removesOthers = replacesChunks && kind === 'save' ? '1' : '0'
  const latest = expiresBy === undefined ? '' : String(expiresBy)
  const values = [kind, expectedRevision ?? '', ttl, latest, removesOthers, String(removed.length)]
  values.push('revision', revision, 'head', head)
  for (const [name, text] of chunks) values.push(name, text)
  for (const name of removed) values.push(name)
  return values
}

function decodeField(text: string | null): string | undefined {
  return text === null ? undefined : decodeText(text)
}

/** The fields of a hash. Protocol version 2 sends a flat list, version 3 a map or an object. */
function fieldsOf(reply: unknown): Map<string, string> {
  const flat = Array.isArray(reply)
    ? reply
    : (reply instanceof Map ? [...reply] : Object.entries(reply as object)).flat()
  const fields = new Map<string, string>()
  for (let index = 0; index < flat.length; index += 2) {
    fields.set(decodeText(flat[index] as string), decodeText(flat[index + 1] as string))
  }
  return fields
}
