/**
 * Sessions in the memory of this process: the default store, and the reference for what a store does. A document is
 * copied and frozen once, when it is stored; every load returns that copy. The sessions end with the process.
 */
import { type Clock, monotonicTime, systemClock } from '../../config/clock.js'
import { SessionConflictError } from '../../errors/session-errors.js'
import { frozenCopy } from '../../session/copy-document.js'
import type { SessionDocument } from '../../session/session-document.js'
import type {
  SessionSaveHint,
  SessionStore,
  SessionStoreGuarantees,
  SessionSummary,
} from '../../session/session-store.js'
import { summaryIn } from '../../session/session-summary.js'
import { checkOptionNames, numbersWithDefaults, type OptionNames } from '../../util/options.js'
import { MemoryClaims } from '../claims/claims.js'
import { listDocuments } from './list-documents.js'
import { SessionCache } from './session-cache.js'

/**
 * Where a {@link MemorySessionStore} keeps its documents: its own bounded cache, or an object that works like a Map.
 */
export interface MemorySessionBacking {
  /** The document of a session, if there is one. */
  get(sessionId: string): SessionDocument | undefined
  /** Stores a frozen document in place of any earlier one. For `stateBytes` see {@link SessionStore.save}. */
  set(sessionId: string, document: SessionDocument, stateBytes?: number): unknown
  /** Removes a document. Returns whether there was one. */
  delete(sessionId: string): boolean
  /** Optional, for a backing that evicts sessions: keeps the session until the returned function is called. */
  hold?(sessionId: string): () => void
  /** Optional: all documents with their session IDs. Without it the store has no {@link SessionStore.list}. */
  entries?(): Iterable<readonly [sessionId: string, document: SessionDocument]>
}

/**
 * What the constructor of {@link MemorySessionStore} takes.
 *
 * @inline
 */
export interface MemorySessionStoreOptions {
  /**
   * How many sessions are kept. If there are more, the least recently used one is evicted. `Infinity` keeps all. The
   * same number of claims, and of marks of deleted sessions, is kept; if there are more, the oldest is dropped. Default
   * 10 000.
   */
  readonly maxSessions?: number
  /**
   * About how many bytes of memory the sessions may take together. If they take more, the least recently used ones are
   * evicted. A single session that is larger than this is kept until the next one is stored. `Infinity`: no limit.
   * Default 134 217 728 (128 MiB).
   */
  readonly maxBytes?: number
  /**
   * Milliseconds that a session is kept after its last save. The memory of an expired session is freed by a later write
   * to any session. Default: for ever.
   */
  readonly ttlMs?: number
  /**
   * Milliseconds that a session is kept after it was first stored, no matter how often it is saved. A turn that ends
   * later fails with `SESSION_CONFLICT`. Default: for ever.
   */
  readonly absoluteTtlMs?: number
  /** The clock for `ttlMs`, `absoluteTtlMs` and claims. Default: the machine's. */
  readonly clock?: Clock
  /** Data to share with another store in tests: `store.backing`, or a Map, which has no limit. Default: its own. */
  readonly backing?: MemorySessionBacking
}

const optionNames: OptionNames<MemorySessionStoreOptions> = {
  maxSessions: true,
  maxBytes: true,
  ttlMs: true,
  absoluteTtlMs: true,
  clock: true,
  backing: true,
}

const forever = Number.POSITIVE_INFINITY
const defaults = { maxSessions: 10_000, maxBytes: 128 * 1024 * 1024, ttlMs: forever, absoluteTtlMs: forever }

/**
 * A store in memory, bounded, with compare-and-swap within this process. The documents that it returns are frozen.
 *
 * @example
 * ```ts
 * const engine = new FlowEngine({ flows: [Onboarding], sessionStore: new MemorySessionStore({ maxSessions: 1000 }) })
 * ```
 */
export class MemorySessionStore implements SessionStore {
  readonly guarantees: SessionStoreGuarantees
  /** See {@link SessionStore.list}. Oldest sessions first. Absent over a `backing` without `entries`. */
  readonly list?: NonNullable<SessionStore['list']>
  readonly #evictedListeners = new Set<(sessionId: string) => void>()
  readonly #clock: Clock
  readonly #maxClaims: number
  #backing: MemorySessionBacking | undefined

  /** @throws `InvalidInputError` for an unknown option, and for a limit or a time that is not a number above 0. */
  constructor(options: MemorySessionStoreOptions = {}) {
    checkOptionNames('MemorySessionStore', options, optionNames)
    const { maxSessions, maxBytes, ttlMs, absoluteTtlMs, clock = systemClock, backing } = options
    const lifeMs = Math.min(ttlMs ?? forever, absoluteTtlMs ?? forever)
    const ttl = lifeMs === forever ? {} : { ttlMs: lifeMs }
    this.guarantees = Object.freeze({ compareAndSwap: 'process', durable: false, ...ttl })
    this.#clock = clock
    this.#maxClaims = (backing === undefined ? maxSessions : undefined) ?? defaults.maxSessions
    this.#backing =
      backing ??
      new SessionCache({
        ...numbersWithDefaults('MemorySessionStore', { maxSessions, maxBytes, ttlMs, absoluteTtlMs }, defaults),
        clock,
        onEvicted: (sessionId) => {
          for (const listener of this.#evictedListeners) listener(sessionId)
        },
      })
    // `list` exists only if the backing has `entries`.
    if (this.#backing.entries !== undefined) {
      this.list = async (query) => listDocuments((this.backing as Required<MemorySessionBacking>).entries(), query)
    }
  }

  /** The data, to hand to another store of the same process. */
  get backing(): MemorySessionBacking {
    if (this.#backing === undefined) throw new Error('The memory session store is closed.')
    return this.#backing
  }

  async load(sessionId: string): Promise<SessionDocument | undefined> {
    return this.backing.get(sessionId)
  }

  async summary(sessionId: string): Promise<SessionSummary | undefined> {
    const stored = this.backing.get(sessionId)
    return stored && summaryIn(stored, sessionId)
  }

  async create(document: SessionDocument, stateBytes?: number): Promise<void> {
    const { id, revision } = document
    const stored = this.backing.get(id)
    if (stored?.revision === revision) return
    if (stored !== undefined || this.#isDeleted(id)) throw new SessionConflictError({ sessionId: id })
    this.backing.set(id, frozenCopy(document), stateBytes)
  }

  async save(
    document: SessionDocument,
    expectedRevision: string,
    _hint?: SessionSaveHint,
    stateBytes?: number,
  ): Promise<void> {
    const { id, revision } = document
    const stored = this.backing.get(id)
    if (stored?.revision === revision) return
    if (stored?.revision !== expectedRevision) throw new SessionConflictError({ sessionId: id })
    this.backing.set(id, frozenCopy(document, stored), stateBytes)
  }

  async delete(sessionId: string, expectedRevision?: string): Promise<void> {
    const stored = this.backing.get(sessionId)
    if (stored !== undefined && expectedRevision !== undefined && stored.revision !== expectedRevision) {
      throw new SessionConflictError({ sessionId })
    }
    this.#claims.markDeleted(sessionId, monotonicTime(this.#clock))
    this.backing.delete(sessionId)
  }

  async claim(key: string, sessionId: string, ttlMs: number): Promise<string> {
    return this.#claims.claim(key, sessionId, ttlMs, monotonicTime(this.#clock))
  }

  async isDeleted(sessionId: string): Promise<boolean> {
    return this.#isDeleted(sessionId)
  }

  /** Detaches this store from its data. Later calls reject. */
  async close(): Promise<void> {
    this.#backing = undefined
    this.#evictedListeners.clear()
  }

  hold(sessionId: string): () => void {
    return this.#backing?.hold?.(sessionId) ?? (() => undefined)
  }

  get #claims(): MemoryClaims {
    return MemoryClaims.of(this.backing, this.#maxClaims)
  }

  #isDeleted(sessionId: string): boolean {
    return this.#claims.isDeleted(sessionId, monotonicTime(this.#clock))
  }

  onEvicted(listener: (sessionId: string) => void): () => void {
    this.#evictedListeners.add(listener)
    return () => this.#evictedListeners.delete(listener)
  }
}
