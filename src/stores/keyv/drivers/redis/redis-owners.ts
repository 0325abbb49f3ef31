/**
 * The sessions of each owner in Redis: one sorted set per owner, under its own key, also in a Cluster. A session is
 * added to the set before it is created and removed after it was deleted, so the set never lacks a session; a listing
 * removes surplus entries. Turns do not touch the set unless sessions expire. If they do, each process extends the
 * set's expiry once per session lifetime for each of its sessions.
 */
import { BoundedMap } from '../../../bounded-map/bounded-map.js'
import type { ListedPage, SessionOwner, SessionSwap } from '../../driver/session-driver.js'
import { type Listed, sessionsOf, unreadableOf } from '../page-of-keys.js'
import { decodeText } from '../text-escapes.js'
import type { RedisCommands } from './redis-commands.js'
import { addOwnedScript } from './redis-scripts.js'

/**
 * A set lives this many times as long as a session, because a process extends its expiry only once per session
 * lifetime, and may be late.
 */
const lives = 3

/**
 * For this many sessions a process remembers that it extended their sets. If it forgot one, it extends the set again.
 */
const rememberedSessions = 10_000

/**
 * A younger entry stays in the set, because its session may be about to be created. Milliseconds, longer than any turn
 * plus any difference between clocks.
 */
const graceMs = 3_600_000

const membersAtOnce = 1_000

/** Reads the head of a session. */
type ReadHead = (key: string) => Promise<Listed | 'missing'>

/** The sets of one Keyv. */
export class RedisOwners {
  readonly #commands: RedisCommands
  /**
   * When this process extended the set of each session, in the time of `performance.now()`. The map's key is the
   * session's key, which needs no digest.
   */
  readonly #prolonged = new BoundedMap<string, number>({ maxEntries: rememberedSessions })

  constructor(commands: RedisCommands) {
    this.#commands = commands
  }

  /** Called before a session is stored. Makes sure that the set expires after the session. */
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

  /** Removes a deleted session from the set. Ignores a failure: a later listing removes the entry. */
  async remove({ ownerKey, createdAt }: SessionOwner, key: string): Promise<void> {
    await this.#commands.send(ownerKey, ['ZREM', ownerKey, memberOf(createdAt, key)]).catch(() => undefined)
  }

  /** Whether the set of an owner has a session. Its time is not known, so the set is gone through. */
  async has(ownerKey: string, key: string): Promise<boolean> {
    for (let from = '-'; ; ) {
      const words = ['ZRANGEBYLEX', ownerKey, from, '+', 'LIMIT', '0', String(membersAtOnce)]
      const members = (await this.#commands.send(ownerKey, words)) as string[]
      if (members.some((stored) => partsOf(decodeText(stored))[1] === key)) return true
      if (members.length < membersAtOnce) return false
      from = `(${members.at(-1)}`
    }
  }

  /**
   * One page, ordered by creation time.
   *
   * @param after - The last member of the previous page, in its stored form; empty for the first page.
   * @returns The sessions, and the last member if there may be more.
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
        // Meanwhile another session may have been stored under the same key.
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

/** All members have the same score, so Redis sorts them as texts, which means by time. A time contains no blank. */
function memberOf(createdAt: string, key: string): string {
  return `${createdAt} ${key}`
}

function partsOf(member: string): readonly [createdAt: string, key: string] {
  const space = member.indexOf(' ')
  return [member.slice(0, space), member.slice(space + 1)]
}
