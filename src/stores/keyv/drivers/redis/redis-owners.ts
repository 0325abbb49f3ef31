/**
 * The sessions of each owner in Redis: one sorted set, under a key of its own, also in a Cluster. A session is added
 * before it is created and taken out after it was deleted, so that a set never lacks one; what it has too much, a
 * listing takes out. Turns do not touch it, except where sessions expire: then a process prolongs the life of a set
 * once in that time for each of its sessions.
 */
import { LRUCache } from 'lru-cache'
import type { ListedPage, SessionOwner, SessionSwap } from '../../driver/session-driver.js'
import { type Listed, sessionsOf, unreadableOf } from '../page-of-keys.js'
import { decodeText } from '../text-escapes.js'
import type { RedisCommands } from './redis-commands.js'
import { addOwnedScript } from './redis-scripts.js'

/**
 * How many times as long as a session a set lives: processes prolong it once in the life of a session, and may be late.
 */
const lives = 3

/** Sessions whose sets a process remembers to have prolonged. That of one that it forgot is prolonged once more. */
const rememberedSessions = 10_000

/**
 * What is younger may be about to be created: it stays in the set. Milliseconds, above any turn and
 * any difference of clocks.
 */
const graceMs = 3_600_000

/** Reads the head of a session. */
type ReadHead = (key: string) => Promise<Listed | 'missing'>

/** The sets of one Keyv's connection. */
export class RedisOwners {
  readonly #commands: RedisCommands
  /**
   * By the key of a session, which needs no digest: when this process prolonged its set, in the time of `performance`.
   */
  readonly #prolonged = new LRUCache<string, number>({ max: rememberedSessions })

  constructor(commands: RedisCommands) {
    this.#commands = commands
  }

  /** Before a session is stored. One that will expire must do so before its set. */
  async note(swap: SessionSwap): Promise<void> {
    const { key, expectedRevision, owner } = swap
    const ttlMs = lifeOf(swap)
    const isCreated = expectedRevision === undefined
    if (!isCreated && ttlMs === undefined) return
    const last = this.#prolonged.get(key)
    if (!isCreated && last !== undefined && performance.now() - last < (ttlMs ?? 0)) return
    const found = await owner?.()
    if (found !== undefined) await this.add(found, key, ttlMs)
  }

  /** Adds a session to the set of its owner. */
  async add(owner: SessionOwner, key: string, ttlMs: number | undefined): Promise<void> {
    const life = ttlMs === undefined ? '' : String(Math.ceil(ttlMs * lives))
    const now = performance.now()
    await this.#commands.run(addOwnedScript, owner.ownerKey, [memberOf(owner.createdAt, key), life])
    this.#prolonged.set(key, now)
  }

  /** Takes out a session that was deleted. One that failed is taken out by a listing. */
  async remove({ ownerKey, createdAt }: SessionOwner, key: string): Promise<void> {
    await this.#commands.send(ownerKey, ['ZREM', ownerKey, memberOf(createdAt, key)]).catch(() => undefined)
  }

  /**
   * A page in the order in which the sessions were created.
   *
   * @param after - The last member of the page before, as it is stored; empty for the first page.
   * @returns The sessions, and the last member where there may be more.
   */
  async page(
    ownerKey: string,
    limit: number,
    after: string,
    readHead: ReadHead,
  ): Promise<Omit<ListedPage, 'cursor'> & { readonly last: string | undefined }> {
    const from = after === '' ? '-' : `(${after}`
    const words = ['ZRANGEBYLEX', ownerKey, from, '+', 'LIMIT', '0', String(limit)]
    const members = (await this.#commands.send(ownerKey, words)) as string[]
    const gone: string[] = []
    const found = await Promise.all(
      members.map(async (stored) => {
        const member = decodeText(stored)
        const [createdAt, key] = partsOf(member)
        const listed = await readHead(key)
        if (listed === undefined || listed === 'unreadable') return listed
        // Another session may be stored under the same key since.
        if (listed !== 'missing' && listed.ownerKey === ownerKey && listed.createdAt === createdAt) return listed
        if (!(Date.parse(createdAt) > Date.now() - graceMs)) gone.push(member)
        return undefined
      }),
    )
    if (gone.length > 0) await this.#commands.send(ownerKey, ['ZREM', ownerKey, ...gone])
    const last = members.length < limit ? undefined : members.at(-1)
    return { sessions: sessionsOf(ownerKey, found), ...unreadableOf(found), last }
  }
}

/** Milliseconds until a session expires; `undefined`: never. */
function lifeOf({ ttlMs, expiresBy }: SessionSwap): number | undefined {
  return ttlMs ?? (expiresBy === undefined ? undefined : Math.max(1, expiresBy - Date.now()))
}

/** All members have the same score, so that Redis sorts them as texts: by time. A time has no blank. */
function memberOf(createdAt: string, key: string): string {
  return `${createdAt} ${key}`
}

function partsOf(member: string): readonly [createdAt: string, key: string] {
  const space = member.indexOf(' ')
  return [member.slice(0, space), member.slice(space + 1)]
}
