/**
 * Sessions in Redis: each is one hash, hence one key, also in a Cluster. A turn sends two commands: one that reads, and one
 * script that swaps. redis-connection.ts decides how the server is reached.
 */
import type { Keyv } from 'keyv'
import type { SessionDriver, SessionSwap, StoredHead, StoredSession, SwapOutcome } from '../../session-driver.js'
import { decodeText, encodeText } from '../text-escapes.js'
import type { RedisAdapter } from './redis-client.js'
import { type MasterConnection, RedisConnection } from './redis-connection.js'
import { RedisReplication } from './redis-replication.js'
import { type RedisScript, removeScript, swapScript } from './redis-scripts.js'
import { redisSettingsOf } from './redis-settings.js'

/** The driver for the adapter of `@keyv/redis`, over any client that it takes. Connects at its first use. */
export function createRedisDriver(keyv: Keyv): SessionDriver {
  const { wait, replyWithinMs } = redisSettingsOf(keyv)
  const connection = new RedisConnection(keyv.store as RedisAdapter, replyWithinMs)
  const replication = wait === undefined ? undefined : new RedisReplication(connection, wait, swapOnce)

  /** Encoded, because half a surrogate pair would not reach the server as it is. */
  function send(key: string, words: readonly string[], target?: MasterConnection): Promise<unknown> {
    const encoded = words.map(encodeText)
    return target === undefined ? connection.send(encodeText(key), encoded) : connection.sendOn(target, encoded)
  }

  /** @param target - Where to send it. Default: wherever the client's own routing leads. */
  async function run(
    script: RedisScript,
    key: string,
    values: readonly string[],
    target?: MasterConnection,
  ): Promise<SwapOutcome> {
    let reply: unknown
    try {
      reply = await send(key, ['EVALSHA', await script.digest(), '1', key, ...values], target)
    } catch (error) {
      // A server that was restarted, or took over, does not know the script yet.
      if (!(error instanceof Error && error.message.startsWith('NOSCRIPT'))) throw error
      reply = await send(key, ['EVAL', script.source, '1', key, ...values], target)
    }
    if (reply !== 0 && reply !== 1) throw new Error('Redis answered a script with something other than 0 or 1.')
    return reply === 1 ? 'done' : 'conflict'
  }

  function swap(change: SessionSwap): Promise<SwapOutcome> {
    return replication === undefined ? swapOnce(change) : replication.swap(change)
  }

  function swapOnce(change: SessionSwap, target?: MasterConnection): Promise<SwapOutcome> {
    return run(swapScript, change.key, swapValues(change), target)
  }

  async function remove(key: string, expectedRevision?: string): Promise<SwapOutcome> {
    if (expectedRevision !== undefined) return run(removeScript, key, [expectedRevision])
    await send(key, ['UNLINK', key])
    return 'done'
  }

  async function hasRevision(key: string, revision: string): Promise<boolean> {
    const reply = (await send(key, ['HGET', key, 'revision'])) as string | null
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
    const reply = (await send(key, ['HMGET', key, 'revision', 'head', ...chunks])) as (string | null)[]
    const [revision, head, ...texts] = reply.map(decodeField)
    if (revision === undefined && head === undefined) return undefined
    if (replication !== undefined) await replication.makeSure(key, revision)
    return { revision: revision ?? '', head: head ?? '', chunks: texts }
  }

  async function readAll(key: string): Promise<StoredSession | undefined> {
    const chunks = fieldsOf(await send(key, ['HGETALL', key]))
    if (chunks.size === 0) return undefined
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
    close: () => connection.close(),
  }
}

/** The script's arguments, in its order. */
function swapValues(change: SessionSwap): string[] {
  const { expectedRevision, revision, head, chunks, removed, replacesChunks, ttlMs } = change
  const kind = expectedRevision === undefined ? 'create' : 'save'
  const ttl = ttlMs === undefined ? '' : String(Math.max(1, Math.ceil(ttlMs)))
  // Where nothing is stored yet, there is nothing to remove.
  const removesOthers = replacesChunks && kind === 'save' ? '1' : '0'
  const values = [kind, expectedRevision ?? '', ttl, removesOthers, String(removed.length)]
  values.push('revision', revision, 'head', head)
  for (const [name, text] of chunks) values.push(name, text)
  for (const name of removed) values.push(name)
  return values
}

function decodeField(text: string | null): string | undefined {
  return text === null ? undefined : decodeText(text)
}

/** The fields of a hash: a flat list in version 2 of the protocol, a map or an object in version 3. */
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
