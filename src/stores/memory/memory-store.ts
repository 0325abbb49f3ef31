/**
 * Sessions in this process: the default store, and the reference for what a store does. A document is copied on its
 * way in and out, so that nothing is shared but history and messages, which only grow and are frozen. What is lost with
 * the process is lost.
 */
import { type Clock, systemClock } from '../../config/clock.js'
import { SessionConflictError } from '../../errors/session-errors.js'
import { copyDocument, freezeLists } from '../../session/lists/copy-document.js'
import type { SessionDocument } from '../../session/session-document.js'
import type { SessionStore, SessionStoreGuarantees } from '../../session/session-store.js'
import { withDefaults } from '../../util/options.js'
import { BoundedSessions } from './bounded-sessions.js'
import { type MemorySessionRecord, WarmSessions } from './warm-sessions.js'

export type { MemorySessionRecord } from './warm-sessions.js'

/** Where a {@link MemorySessionStore} keeps its records: a bounded map of its own, or whatever behaves like a Map. */
export interface MemorySessionBacking {
  /** The record of a session, if there is one. */
  get(sessionId: string): MemorySessionRecord | undefined
  /** Stores a record, in place of any other. */
  set(sessionId: string, record: MemorySessionRecord): unknown
  /** Removes a record, and says whether there was one. */
  delete(sessionId: string): boolean
  /** Optional: how many records there are. One in 16 stays ready to use, and no fewer than 64; the others are packed. */
  readonly size?: number
  /** Optional, for one that drops sessions: keeps one until the returned function is called. */
  hold?(sessionId: string): () => void
}

/** What the constructor of {@link MemorySessionStore} takes. */
export interface MemorySessionStoreOptions {
  /** Sessions kept; beyond it the one used longest ago is dropped. `Infinity` keeps all. Default 10 000. */
  readonly maxSessions?: number
  /** Milliseconds that a session is kept after its last save. Default: for ever. */
  readonly ttlMs?: number
  /** The clock that `ttlMs` goes by. Default: the machine's. */
  readonly clock?: Clock
  /** Data to share with another store, for tests; `store.backing`, or a Map. A Map is not bounded. Default: its own. */
  readonly backing?: MemorySessionBacking
}

/**
 * A store in memory, bounded, with compare-and-swap within this process.
 *
 * @example
 * ```ts
 * const engine = new FlowEngine({ flows: [Onboarding], sessionStore: new MemorySessionStore({ maxSessions: 1000 }) })
 * ```
 */
export class MemorySessionStore implements SessionStore {
  readonly guarantees: SessionStoreGuarantees = { compareAndSwap: 'process', durable: false }
  readonly #evictedListeners = new Set<(sessionId: string) => void>()
  readonly #warm = new WarmSessions(() => this.#backing?.size ?? 0)
  #backing: MemorySessionBacking | undefined

  /** @throws `InvalidInputError` for a `maxSessions` or `ttlMs` that is no number above 0. */
  constructor(options: MemorySessionStoreOptions = {}) {
    this.#backing = options.backing ?? this.#createBacking(options)
  }

  /** The data, to hand to another store of the same process. */
  get backing(): MemorySessionBacking {
    return this.#open()
  }

  async load(sessionId: string): Promise<SessionDocument | undefined> {
    const record = this.#open().get(sessionId)
    return record === undefined ? undefined : copyDocument(this.#warm.read(record))
  }

  async create(document: SessionDocument): Promise<void> {
    const stored = this.#open().get(document.id)
    if (stored !== undefined && stored.revision !== document.revision) {
      throw new SessionConflictError({ sessionId: document.id })
    }
    if (stored === undefined) this.#write(document)
  }

  async save(document: SessionDocument, expectedRevision: string): Promise<void> {
    const stored = this.#open().get(document.id)
    if (stored?.revision === document.revision) return
    if (stored?.revision !== expectedRevision) throw new SessionConflictError({ sessionId: document.id })
    this.#write(document, stored)
  }

  async delete(sessionId: string, expectedRevision?: string): Promise<void> {
    const stored = this.#open().get(sessionId)
    if (stored === undefined) return
    if (expectedRevision !== undefined && stored.revision !== expectedRevision) {
      throw new SessionConflictError({ sessionId })
    }
    this.#warm.forget(stored)
    this.#open().delete(sessionId)
  }

  /** Drops this store's handle on its data; calls after it reject. */
  async close(): Promise<void> {
    this.#backing = undefined
    this.#warm.clear()
    this.#evictedListeners.clear()
  }

  hold(sessionId: string): () => void {
    return this.#backing?.hold?.(sessionId) ?? (() => undefined)
  }

  onEvicted(listener: (sessionId: string) => void): () => void {
    this.#evictedListeners.add(listener)
    return () => this.#evictedListeners.delete(listener)
  }

  #createBacking(options: MemorySessionStoreOptions): MemorySessionBacking {
    const { maxSessions, ttlMs, clock = systemClock } = options
    return new BoundedSessions<MemorySessionRecord>({
      ...withDefaults(
        'MemorySessionStore',
        { maxSessions: 10_000, ttlMs: Number.POSITIVE_INFINITY },
        { maxSessions, ttlMs },
      ),
      clock,
      onDropped: (sessionId, record) => {
        this.#warm.forget(record)
        for (const listener of this.#evictedListeners) listener(sessionId)
      },
    })
  }

  #open(): MemorySessionBacking {
    if (this.#backing === undefined) throw new Error('The memory session store is closed.')
    return this.#backing
  }

  #write(document: SessionDocument, replaced?: MemorySessionRecord): void {
    const copy = freezeLists(copyDocument(document))
    this.#open().set(document.id, this.#warm.record(copy, replaced))
  }
}
