/**
 * Sessions in Redis: one hash each, hence one key, also in a Cluster. A turn is two commands on the wire, one to read
 * and one script to swap. How the server is reached is left to the connection.
 */
import type { Keyv } from 'keyv'
import type { SessionDriver, SessionSwap, StoredHead, StoredSession, SwapOutcome } from '../../session-driver.js'
import { decodeText, encodeText } from '../text-escapes.js'
import type { RedisAdapter } from './redis-client.js'
import { RedisConnection, type RedisLine } from './redis-connection.js'
import { RedisReplication } from './redis-replication.js'
import { type RedisScript, removeScript, swapScript } from './redis-scripts.js'
import { redisSettingsOf } from './redis-settings.js'

/** The driver for the adapter of `@keyv/redis`, over any client that it takes. Connects at its first use. */
export function createRedisDriver(keyv: Keyv): SessionDriver {
  const { wait, replyWithinMs } = redisSettingsOf(keyv)
  const connection = new RedisConnection(keyv.store as RedisAdapter, replyWithinMs)
  const replication = wait === undefined ? undefined : new RedisReplication(connection, wait, swapOnce)

  /** Half a surrogate pair would not survive the way to the server: such words go as JSON. */
  function send(key: string, ...words: readonly string[]): Promise<unknown> {
    return connection.send(encodeText(key), words.map(encodeText))
  }

  /** @param line - Where to send it. Default: wherever the client's own routing leads. */
  async function run(
    script: RedisScript,
    key: string,
    values: readonly string[],
    line?: RedisLine,
  ): Promise<SwapOutcome> {
    const digest = await script.digest()
    const call = (...words: readonly string[]): Promise<unknown> => {
      const whole = [...words, '1', key, ...values]
      return line === undefined ? send(key, ...whole) : connection.sendOn(line, whole.map(encodeText))
    }
    const reply = await call('EVALSHA', digest).catch((error: unknown) => {
      // A server that was restarted, or took over, does not know the script: it is told.
      if (error instanceof Error && error.message.startsWith('NOSCRIPT')) return call('EVAL', script.source)
      throw error
    })
    if (reply !== 0 && reply !== 1) throw new Error('Redis answered a script with something else than 0 or 1.')
    return reply === 1 ? 'done' : 'conflict'
  }

  function swap(change: SessionSwap): Promise<SwapOutcome> {
    return replication === undefined ? swapOnce(change) : replication.swap(change)
  }

  function swapOnce(change: SessionSwap, line?: RedisLine): Promise<SwapOutcome> {
    return run(swapScript, change.key, swapValues(change), line)
  }

  async function remove(key: string, expectedRevision?: string): Promise<SwapOutcome> {
    if (expectedRevision !== undefined) return run(removeScript, key, [expectedRevision])
    await send(key, 'UNLINK', key)
    return 'done'
  }

  async function read(key: string, chunks: readonly string[]): Promise<StoredHead | undefined> {
    const reply = await send(key, 'HMGET', key, 'revision', 'head', ...chunks)
    const [revision, head, ...texts] = (reply as (string | null)[]).map((text) =>
      text === null ? undefined : decodeText(text),
    )
    if (revision === undefined && head === undefined) return undefined
    await replication?.makeSure(key, revision)
    return { revision: revision ?? '', head: head ?? '', chunks: texts }
  }

  async function readAll(key: string): Promise<StoredSession | undefined> {
    const fields = fieldsOf(await send(key, 'HGETALL', key))
    if (fields.size === 0) return undefined
    const [revision = '', head = ''] = [fields.get('revision'), fields.get('head')]
    await replication?.makeSure(key, revision)
    fields.delete('revision')
    fields.delete('head')
    return { revision, head, chunks: fields }
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
function swapValues({ expectedRevision, revision, head, chunks, replacesChunks, ttlMs }: SessionSwap): string[] {
  const kind = expectedRevision === undefined ? 'create' : 'save'
  const ttl = ttlMs === undefined ? '' : String(Math.max(1, Math.ceil(ttlMs)))
  // Where nothing is stored yet, there is nothing to remove.
  const removesOthers = replacesChunks && kind === 'save' ? '1' : '0'
  return [kind, expectedRevision ?? '', ttl, removesOthers, 'revision', revision, 'head', head, ...chunks.flat()]
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
