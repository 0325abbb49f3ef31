/**
 * Sessions in the Map that a Keyv without an adapter uses: swaps work within this process, and sessions end with it.
 */
import { MemoryClaims } from '../../claims/claims.js'
import type { SessionDriver, SessionSwap, StoredHead, StoredSession, SwapOutcome } from '../driver/session-driver.js'
import { changeChunks } from './changed-chunks.js'
import { pageOf } from './page-of-keys.js'

interface MapRecord {
  readonly revision: string
  readonly head: string
  readonly chunks: Map<string, string>
  /** In the time of `performance.now()`: the Map does not outlive the process. */
  readonly expiresAt: number
}

/** The driver for Keyv's Map. Two stores over one Map see each other's sessions. */
export function createMapDriver(map: Map<unknown, unknown>): SessionDriver {
  let closed = false
  const find = (key: string): MapRecord | undefined => {
    if (closed) throw closedError()
    const record = map.get(key) as MapRecord | undefined
    if (record === undefined || record.expiresAt > performance.now()) return record
    map.delete(key)
    return undefined
  }
  const isRemoved = (key: string): boolean => MemoryClaims.of(map).isDeleted(key, performance.now())
  return {
    guarantees: { compareAndSwap: 'process', durable: false },
    async read(key, chunks): Promise<StoredHead | undefined> {
      const record = find(key)
      if (record === undefined) return undefined
      return { revision: record.revision, head: record.head, chunks: chunks.map((name) => record.chunks.get(name)) }
    },
    async readAll(key): Promise<StoredSession | undefined> {
      const record = find(key)
      if (record === undefined) return undefined
      return { revision: record.revision, head: record.head, chunks: new Map(record.chunks) }
    },
    async swap(swap): Promise<SwapOutcome> {
      const stored = find(swap.key)
      if (stored?.revision === swap.revision) return 'done'
      if (stored?.revision !== swap.expectedRevision) return 'conflict'
      if (stored === undefined && isRemoved(swap.key)) return 'conflict'
      map.set(swap.key, recordOf(swap, stored))
      return 'done'
    },
    async remove(key, expectedRevision): Promise<SwapOutcome> {
      const stored = find(key)
      const isOther = stored !== undefined && stored.revision !== expectedRevision
      if (expectedRevision !== undefined && isOther) return 'conflict'
      map.delete(key)
      MemoryClaims.of(map).markDeleted(key, performance.now())
      return 'done'
    },
    async claim(key, sessionId, ttlMs): Promise<string> {
      if (closed) throw closedError()
      return MemoryClaims.of(map).claim(key, sessionId, ttlMs, performance.now())
    },
    async isRemoved(key): Promise<boolean> {
      if (closed) throw closedError()
      return isRemoved(key)
    },
    async list(listing) {
      if (closed) throw closedError()
      const keys = Array.from(map.keys(), String)
      return pageOf(keys, listing, (key) => {
        const record = map.get(key) as MapRecord | undefined
        return record !== undefined && record.expiresAt > performance.now() ? record : undefined
      })
    },
    async close() {
      closed = true
    },
  }
}

function closedError(): Error {
  return new Error('The Map driver is closed.')
}

function recordOf(swap: SessionSwap, stored: MapRecord | undefined): MapRecord {
  const { revision, head, ttlMs = Number.POSITIVE_INFINITY, expiresBy = Number.POSITIVE_INFINITY } = swap
  return {
    revision,
    head,
    chunks: changeChunks(stored?.chunks ?? new Map(), swap),
    expiresAt: performance.now() + Math.min(ttlMs, expiresBy - Date.now()),
  }
}
