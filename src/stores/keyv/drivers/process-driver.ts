/**
 * Sessions through Keyv's own `get`, `set` and `delete`, for an adapter without a compare-and-swap. A queue for each
 * key guards them within this process; nothing guards them against other processes. Each save writes the whole session.
 */
import type { Keyv } from 'keyv'
import {
  type ListedPage,
  removalMarkMs,
  type SessionDriver,
  type SessionListing,
  type SessionSwap,
  type StoredSession,
  type SwapOutcome,
} from '../driver/session-driver.js'
import { changeChunks } from './changed-chunks.js'
import { pageOf } from './page-of-keys.js'

/** One session as one value. */
interface ProcessRecord {
  readonly revision: string
  readonly head: string
  readonly chunks: Readonly<Record<string, string>>
}

/** One claim as one value. */
interface ClaimRecord {
  readonly sessionId: string
}

/** What is stored in place of a session that was removed. */
interface Mark {
  readonly removed: true
}

const mark: Mark = { removed: true }

/** The last operation of each key, for each adapter: stores of this process that share an adapter share its queues. */
const queuesByAdapter = new WeakMap<object, Map<string, Promise<unknown>>>()

/**
 * The driver for one process over any adapter. It makes Keyv and the adapter throw their errors (`throwOnErrors`), and
 * reads each save back. If an adapter hides an outage nevertheless, sessions seem to be missing. `durable` is `false`,
 * because it is not known whether the adapter's data outlives this process.
 */
export function createProcessDriver(keyv: Keyv): SessionDriver {
  const adapter: object = keyv.store
  const queues = queuesByAdapter.get(adapter) ?? new Map<string, Promise<unknown>>()
  queuesByAdapter.set(adapter, queues)
  let closed = false
  keyv.throwOnErrors = true
  if ('throwOnErrors' in adapter) adapter.throwOnErrors = true

  /** Runs one operation at a time for each key. */
  function inTurn<T>(key: string, work: () => Promise<T>): Promise<T> {
    if (closed) return Promise.reject(closedError())
    const before = queues.get(key) ?? Promise.resolve()
    const result = before.then(work, work)
    const settled = result.then(
      () => undefined,
      () => undefined,
    )
    queues.set(key, settled)
    void settled.then(() => {
      if (queues.get(key) === settled) queues.delete(key)
    })
    return result
  }

  async function readAll(key: string): Promise<StoredSession | undefined> {
    const record = await inTurn(key, () => getRecord(keyv, key))
    return record === undefined ? undefined : { ...record, chunks: new Map(Object.entries(record.chunks ?? {})) }
  }

  function list(listing: SessionListing): Promise<ListedPage> {
    return closed ? Promise.reject(closedError()) : listAll(keyv, listing)
  }

  return {
    guarantees: { compareAndSwap: 'process', durable: false },
    readAll,
    async read(key, chunks) {
      const stored = await readAll(key)
      return stored === undefined ? undefined : { ...stored, chunks: chunks.map((name) => stored.chunks.get(name)) }
    },
    swap: (swap) =>
      inTurn(swap.key, async (): Promise<SwapOutcome> => {
        const { key, expectedRevision, revision, head } = swap
        const stored = await keyv.get<ProcessRecord | Mark>(key)
        if (isMark(stored)) return 'conflict'
        if (stored?.revision === revision) return 'done'
        if (stored?.revision !== expectedRevision) return 'conflict'
        await keyv.set(key, { revision, head, chunks: chunksAfter(swap, stored?.chunks) }, ttlOf(swap))
        if ((await getRecord(keyv, key))?.revision !== revision) throw notStored()
        return 'done'
      }),
    remove: (key, expectedRevision) => inTurn(key, () => leaveMark(keyv, key, expectedRevision)),
    claim: (key, sessionId, ttlMs) =>
      inTurn(key, async () => {
        const kept = await keyv.get<ClaimRecord>(key)
        if (kept !== undefined) return kept.sessionId
        await keyv.set(key, { sessionId } satisfies ClaimRecord, ttlMs)
        if ((await keyv.get<ClaimRecord>(key))?.sessionId !== sessionId) throw notStored()
        return sessionId
      }),
    isRemoved: (key) => inTurn(key, async () => isMark(await keyv.get(key))),
    // Keyv has an iterator only for the few adapters that can list their keys.
    ...(keyv.iterator === undefined ? {} : { list }),
    async close() {
      closed = true
      await keyv.disconnect()
    },
  }
}

/** What is stored of a session; `undefined` also for a mark. */
async function getRecord(keyv: Keyv, key: string): Promise<ProcessRecord | undefined> {
  const stored = await keyv.get<ProcessRecord | Mark>(key)
  return isMark(stored) ? undefined : stored
}

/** Puts a mark in place of a session. */
async function leaveMark(keyv: Keyv, key: string, expectedRevision: string | undefined): Promise<SwapOutcome> {
  // Without a revision, even an unreadable session is removed.
  const stored = expectedRevision === undefined ? undefined : await getRecord(keyv, key)
  if (stored !== undefined && stored.revision !== expectedRevision) return 'conflict'
  await keyv.set(key, mark, removalMarkMs)
  if (!isMark(await keyv.get(key))) throw notStored()
  return 'done'
}

/** One page from Keyv's iterator, which returns whole sessions, although only their heads are needed. */
async function listAll(keyv: Keyv, listing: SessionListing): Promise<ListedPage> {
  const records = new Map<string, ProcessRecord>()
  for await (const [key, value] of keyv.iterator?.(keyv.namespace) ?? []) {
    if (!isMark(value)) records.set(key, value as ProcessRecord)
  }
  return pageOf([...records.keys()], listing, (key) => records.get(key))
}

function isMark(stored: unknown): stored is Mark {
  return (stored as Mark | null | undefined)?.removed === true
}

function closedError(): Error {
  return new Error('The Keyv driver is closed.')
}

/** At least 1, because for Keyv 0 means no time to live. */
function ttlOf({ ttlMs, expiresBy }: SessionSwap): number | undefined {
  return expiresBy === undefined ? ttlMs : Math.max(1, Math.min(ttlMs ?? expiresBy, expiresBy - Date.now()))
}

function notStored(): Error {
  return new Error('Keyv did not store what it was given.')
}

/** The stored chunks after a swap. */
function chunksAfter(swap: SessionSwap, stored: ProcessRecord['chunks'] = {}): ProcessRecord['chunks'] {
  return Object.fromEntries(changeChunks(new Map(Object.entries(stored)), swap))
}
