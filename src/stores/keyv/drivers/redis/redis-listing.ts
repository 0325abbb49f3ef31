/**
 * Lists the sessions in Redis in pages. An owner's sessions come from the owner's set; all sessions come from `SCAN`,
 * one node after the other. After a failover a set may lack sessions. So the first listing of any owner scans
 * everything, adds the missing sessions, and stores a mark; after that, listings use the sets. Delete the mark to
 * repair the sets.
 */
import { fromCursor, toCursor } from '../../../../session/session-summary.js'
import { BoundedMap } from '../../../bounded-map/bounded-map.js'
import type { ListedPage, ListedSession, SessionListing, StoredHead } from '../../driver/session-driver.js'
import { readAll, sessionsOf, unreadableOf } from '../page-of-keys.js'
import { decodeText, encodeText } from '../text-escapes.js'
import type { RedisCommands } from './redis-commands.js'
import type { RedisOwners } from './redis-owners.js'

/** After this many SCAN replies without a session's key, a page ends. */
const scansForPage = 20

const rememberedCursors = 1_000

/** The key of the mark, after the prefix. No session has this key. */
const markName = '~owners'

/**
 * The place at which a scan continues: the number of the node, the run of that node's process, and the node's cursor.
 */
interface ScanPlace {
  /** Identifies the set of nodes and their slots. */
  readonly topology: number
  readonly node: number
  /** The node's process. A cursor is valid only for the process that returned it. */
  readonly run: string
  /** The node's cursor; `end` after its last reply. */
  readonly scan: string
  /** Keys that were found but did not fit on the page. */
  readonly left: readonly string[]
}

type Cursor =
  | readonly ['scan', ScanPlace['topology'], ScanPlace['node'], string, string, readonly string[]]
  | readonly ['set', string]

const beginning: ScanPlace = { topology: -1, node: 0, run: '', scan: '0', left: [] }

/** Sends a command, as encoded words, to one node. */
type SendToNode = (words: readonly string[]) => Promise<unknown>

/**
 * All nodes that hold sessions, in a stable order. `topology` is a number that changes if the nodes or their slots
 * change.
 */
export interface RedisNodes {
  readonly topology: number
  readonly nodes: readonly SendToNode[]
}

/** What {@link RedisListing} needs. */
export interface RedisListingContext {
  nodes(): Promise<RedisNodes>
  readonly commands: RedisCommands
  readonly owners: RedisOwners
  /** The head under a key, if a session is stored there. */
  readHead(key: string): Promise<StoredHead | undefined>
  /** See `SessionSwap.ttlMs`. */
  ttlMs(): number | undefined
}

/** The listings of one connection. */
export class RedisListing {
  readonly #context: RedisListingContext
  /** Cursors that this process made for listings that have scanned everything up to there. */
  readonly #whole = new BoundedMap<string, true>({ maxEntries: rememberedCursors })

  constructor(context: RedisListingContext) {
    this.#context = context
  }

  /** Returns one page. */
  async page(listing: SessionListing): Promise<ListedPage> {
    const { ownerKey, prefix } = listing
    const cursor = listing.cursor === undefined ? undefined : fromCursor<Cursor>(listing.cursor, isCursor)
    if (cursor?.[0] === 'scan') {
      const [, topology, node, run, scan, left] = cursor
      return this.#scanned(listing, { topology, node, run, scan, left })
    }
    if (ownerKey === undefined) return this.#scanned(listing, beginning)
    if (cursor === undefined && !(await this.#isMarked(prefix))) return this.#scanned(listing, beginning)
    return this.#owned(ownerKey, listing, cursor?.[1] ?? '')
  }

  async #owned(ownerKey: string, listing: SessionListing, after: string): Promise<ListedPage> {
    const { limit, read } = listing
    const { last, ...page } = await this.#context.owners.page(ownerKey, limit, after, async (key) => {
      const stored = await this.#context.readHead(key)
      return stored === undefined ? 'missing' : read(key, stored)
    })
    return last === undefined ? page : { ...page, cursor: toCursor(['set', last]) }
  }

  async #scanned(listing: SessionListing, from: ScanPlace): Promise<ListedPage> {
    const { prefix, ownerKey, limit } = listing
    const { keys, next } = await this.#scan(prefix, limit, from)
    const listed = await readAll(keys, listing, (key) => this.#context.readHead(key))
    const sessions = sessionsOf(undefined, listed)
    const cursor = next && toCursor(['scan', next.topology, next.node, next.run, next.scan, next.left])
    if (ownerKey === undefined) {
      const page = { sessions, ...unreadableOf(listed) }
      return cursor === undefined ? page : { ...page, cursor }
    }
    await this.#addAll(sessions)
    // The cursor may come from another process. Then it is unknown whether everything before it was scanned.
    const isWhole = listing.cursor === undefined || this.#whole.get(listing.cursor) === true
    if (isWhole && cursor === undefined) await this.#mark(prefix)
    else if (isWhole && cursor !== undefined) this.#whole.set(cursor, true)
    return { sessions: [], cursor: cursor ?? toCursor(['set', '']) }
  }

  /** The next keys, at most `limit`, and the place to continue from; `undefined` after the last keys. */
  async #scan(
    prefix: string,
    limit: number,
    from: ScanPlace,
  ): Promise<{ readonly keys: readonly string[]; readonly next: ScanPlace | undefined }> {
    const { topology, nodes } = await this.#context.nodes()
    // If a slot has moved meanwhile, its sessions may be on a node that was already scanned: start again.
    let place = from.topology === topology ? from : { ...beginning, topology, left: from.left }
    for (let scans = 0; place.left.length === 0 && scans < scansForPage; scans++) {
      if (place.scan === 'end') place = { ...place, node: place.node + 1, scan: '0' }
      const send = nodes[place.node]
      if (send === undefined) return { keys: [], next: undefined }
      place = await this.#scanNode(send, prefix, limit, place)
    }
    const { node, scan, left } = place
    const isLast = scan === 'end' && node === nodes.length - 1 && left.length <= limit
    return { keys: left.slice(0, limit), next: isLast ? undefined : { ...place, left: left.slice(limit) } }
  }

  async #scanNode(send: SendToNode, prefix: string, limit: number, place: ScanPlace): Promise<ScanPlace> {
    const run = await runOf(send)
    const from = run === place.run ? place.scan : '0'
    const words = ['SCAN', from, 'MATCH', pattern(prefix), 'COUNT', String(limit), 'TYPE', 'hash']
    const [scan, keys] = (await send(words)) as [string, string[]]
    const left = [...new Set(keys.map(decodeText))].filter((key) => key.startsWith(prefix))
    return { ...place, run, scan: scan === '0' ? 'end' : scan, left }
  }

  async #addAll(found: readonly ListedSession[]): Promise<void> {
    const { owners, ttlMs } = this.#context
    await Promise.all(
      found.map(async ({ summary: { createdAt }, ownerKey, key }) => {
        if (ownerKey !== undefined) await owners.add({ ownerKey, createdAt }, key, ttlMs())
      }),
    )
  }

  async #isMarked(prefix: string): Promise<boolean> {
    const key = prefix + markName
    return (await this.#context.commands.send(key, ['GET', key])) === '1'
  }

  async #mark(prefix: string): Promise<void> {
    const key = prefix + markName
    await this.#context.commands.send(key, ['SET', key, '1'])
  }
}

/** An ID of the node's process; empty if the server does not return one. */
async function runOf(send: SendToNode): Promise<string> {
  const info = await send(['INFO', 'server']).catch(() => '')
  return /run_id:(\w+)/.exec(String(info))?.[1] ?? ''
}

/** A pattern for the keys with a prefix. If the prefix is stored in an escaped form, a pattern for all keys. */
function pattern(prefix: string): string {
  return encodeText(prefix) === prefix ? `${prefix.replace(/[\\*?[\]^-]/g, '\\$&')}*` : '*'
}

function isCursor(values: readonly unknown[]): boolean {
  const [kind, topology, node, run, scan, left] = values
  if (kind === 'set') return values.length === 2 && typeof topology === 'string'
  return (
    kind === 'scan' &&
    values.length === 6 &&
    Number.isSafeInteger(topology) &&
    Number.isSafeInteger(node) &&
    typeof run === 'string' &&
    typeof scan === 'string' &&
    /^(?:\d{1,20}|end)$/.test(scan) &&
    Array.isArray(left) &&
    left.every((key) => typeof key === 'string')
  )
}
