/**
 * Sessions in this process: the default store, and the reference for what a store does. The head of a document is
 * kept as JSON text, so that nothing is shared; history and messages, which only grow and are frozen, are shared by
 * reference. What is lost with the process is lost.
 */
import { LRUCache } from 'lru-cache'
import { type Clock, systemClock } from '../config/clock.js'
import { SessionConflictError } from '../errors/session-errors.js'
import { deepFreeze } from '../json.js'
import type { SessionDocument, SessionMemory } from '../session/session-document.js'
import type { SessionStore, SessionStoreGuarantees } from '../session/session-store.js'
import { isSharedList } from '../session/shared-lists.js'

/** One stored session. */
export interface MemorySessionRecord {
  readonly revision: string
  /** The document without its lists, as JSON text. */
  readonly head: string
  readonly history: SessionDocument['history']
  readonly memory: SessionDocument['flow']['memory']
}

/** Where a {@link MemorySessionStore} keeps its records: an LRU cache of its own, or whatever behaves like a Map. */
export interface MemorySessionBacking {
  get(sessionId: string): MemorySessionRecord | undefined
  set(sessionId: string, record: MemorySessionRecord): unknown
  delete(sessionId: string): boolean
}

/** What the constructor of {@link MemorySessionStore} takes. */
export interface MemorySessionStoreOptions {
  /** Sessions kept; beyond it the one used longest ago is dropped. Default 10 000. */
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
  /** How many turns hold a session. */
  readonly #held = new Map<string, number>()
  /** Held sessions that the cache dropped: they go back when the last turn lets go. */
  readonly #parked = new Map<string, MemorySessionRecord>()
  #backing: MemorySessionBacking | undefined

  constructor(options: MemorySessionStoreOptions = {}) {
    this.#backing = options.backing ?? this.#createBacking(options)
  }

  /** The data, to hand to another store of the same process. */
  get backing(): MemorySessionBacking {
    return this.#open()
  }

  async load(sessionId: string): Promise<SessionDocument | undefined> {
    const record = this.#read(sessionId)
    if (record === undefined) return undefined
    const document = JSON.parse(record.head)
    document.history = record.history
    document.flow.memory = copyMemory(record.memory)
    return document
  }

  async create(document: SessionDocument): Promise<void> {
    const stored = this.#read(document.id)
    if (stored !== undefined && stored.revision !== document.revision) {
      throw new SessionConflictError({ sessionId: document.id })
    }
    if (stored === undefined) this.#write(document)
  }

  async save(document: SessionDocument, expectedRevision: string): Promise<void> {
    const stored = this.#read(document.id)
    if (stored?.revision === document.revision) return
    if (stored?.revision !== expectedRevision) throw new SessionConflictError({ sessionId: document.id })
    this.#write(document)
  }

  async delete(sessionId: string, expectedRevision?: string): Promise<void> {
    const stored = this.#read(sessionId)
    if (stored === undefined) return
    if (expectedRevision !== undefined && stored.revision !== expectedRevision) {
      throw new SessionConflictError({ sessionId })
    }
    this.#parked.delete(sessionId)
    this.#open().delete(sessionId)
  }

  /** Drops this store's handle on its data; calls after it reject. */
  async close(): Promise<void> {
    this.#backing = undefined
    this.#parked.clear()
    this.#evictedListeners.clear()
  }

  hold(sessionId: string): () => void {
    this.#held.set(sessionId, (this.#held.get(sessionId) ?? 0) + 1)
    return () => this.#release(sessionId)
  }

  onEvicted(listener: (sessionId: string) => void): () => void {
    this.#evictedListeners.add(listener)
    return () => this.#evictedListeners.delete(listener)
  }

  #release(sessionId: string): void {
    const holders = (this.#held.get(sessionId) ?? 0) - 1
    if (holders > 0) {
      this.#held.set(sessionId, holders)
      return
    }
    this.#held.delete(sessionId)
    const record = this.#parked.get(sessionId)
    this.#parked.delete(sessionId)
    if (record !== undefined) this.#backing?.set(sessionId, record)
  }

  #createBacking(options: MemorySessionStoreOptions): MemorySessionBacking {
    const clock = options.clock ?? systemClock
    return new LRUCache<string, MemorySessionRecord>({
      max: options.maxSessions ?? 10_000,
      // With a resolution of 0 the cache asks the clock each time and starts no timer of its own.
      ...(options.ttlMs === undefined ? {} : { ttl: options.ttlMs, ttlResolution: 0, perf: clock }),
      dispose: (record, sessionId, reason) => {
        if (reason === 'evict' && this.#held.has(sessionId)) this.#parked.set(sessionId, record)
        else if (reason === 'evict' || reason === 'expire') {
          for (const listener of this.#evictedListeners) listener(sessionId)
        }
      },
    })
  }

  #open(): MemorySessionBacking {
    if (this.#backing === undefined) throw new Error('The memory session store is closed.')
    return this.#backing
  }

  #read(sessionId: string): MemorySessionRecord | undefined {
    return this.#open().get(sessionId) ?? this.#parked.get(sessionId)
  }

  #write(document: SessionDocument): void {
    const { history, flow, ...head } = document
    const { memory, ...flowHead } = flow
    this.#parked.delete(document.id)
    this.#open().set(document.id, {
      revision: document.revision,
      head: JSON.stringify({ ...head, flow: flowHead }),
      history: privateList(history),
      memory: copyMemory(memory),
    })
  }
}

function copyMemory(memory: SessionDocument['flow']['memory']): Record<string, SessionMemory> {
  const copy: Record<string, SessionMemory> = {}
  for (const namespace of Object.keys(memory)) {
    const { messages } = memory[namespace] as SessionMemory
    // Defined, not assigned: a namespace may be called __proto__.
    if (namespace === '__proto__') Object.defineProperty(copy, namespace, { value: { messages: privateList(messages) }, enumerable: true, writable: true, configurable: true })
    else copy[namespace] = { messages: privateList(messages) }
  }
  return copy
}

function privateList<T>(list: readonly T[]): readonly T[] {
  return isSharedList(list) ? list : deepFreeze<T[]>(JSON.parse(JSON.stringify(list)))
}
