// A session driver in memory for tests of the store that uses it: it keeps a journal, fails on request before or after
// an operation took effect, and exposes what is stored, so that a test can replace it.
import { MemoryClaims } from '../../../src/stores/claims/claims.js'
import type {
  ListedPage,
  SessionDriver,
  SessionListing,
  SessionSwap,
  StoredHead,
  StoredSession,
  SwapOutcome,
} from '../../../src/stores/keyv/driver/session-driver.js'
import { pageOf } from '../../../src/stores/keyv/drivers/page-of-keys.js'

/**
 * One call of the driver, as words: `read history#1`, `readAll`, `append history#1 -history#0`, `replace history#0`,
 * `remove`, `isRemoved`, `claim`, `list`.
 */
export type FakeDriverCall = string

/** What is stored under a key. A test may change it. */
export interface FakeRecord {
  revision: string
  head: string
  readonly chunks: Map<string, string>
}

/** A driver whose backend is a Map of records. */
export class FakeDriver implements SessionDriver {
  readonly guarantees = { compareAndSwap: 'backend', durable: true } as const
  readonly records: Map<string, FakeRecord>
  readonly swaps: SessionSwap[] = []
  /** The known revision of each `read`. */
  readonly knownRevisions: (string | undefined)[] = []
  /** The replicas that the next swaps report. Default: no report. */
  replicas: number | undefined
  #calls: FakeDriverCall[] = []
  #fault: 'before' | 'after' | undefined
  #closed = 0

  /** @param records - Another driver's, as two processes share one backend. */
  constructor(records: Map<string, FakeRecord> = new Map()) {
    this.records = records
  }

  /** How often it was closed. */
  get closed(): number {
    return this.#closed
  }

  /** The calls since the last look. */
  takeCalls(): FakeDriverCall[] {
    const calls = this.#calls
    this.#calls = []
    return calls
  }

  /** Makes the next call fail, before or after it took effect. */
  failNext(when: 'before' | 'after'): void {
    this.#fault = when
  }

  read(key: string, chunks: readonly string[], knownRevision?: string): Promise<StoredHead | undefined> {
    this.knownRevisions.push(knownRevision)
    return this.#call(['read', ...chunks].join(' '), () => {
      const record = this.records.get(key)
      if (record === undefined) return undefined
      const { revision, head } = record
      if (revision === knownRevision) return { revision, head: '', chunks: [] }
      return { revision, head, chunks: chunks.map((name) => record.chunks.get(name)) }
    })
  }

  readAll(key: string): Promise<StoredSession | undefined> {
    return this.#call('readAll', () => {
      const record = this.records.get(key)
      return record === undefined ? undefined : { ...record, chunks: new Map(record.chunks) }
    })
  }

  swap(swap: SessionSwap): Promise<SwapOutcome> {
    this.swaps.push(swap)
    const names = swap.chunks.map(([name]) => name)
    const removals = swap.removed.map((name) => `-${name}`)
    return this.#call([swap.replacesChunks ? 'replace' : 'append', ...names, ...removals].join(' '), () => {
      const record = this.records.get(swap.key)
      if (record?.revision === swap.revision) return 'done'
      if (record?.revision !== swap.expectedRevision || this.#isRemoved(swap.key)) return 'conflict'
      const chunks = new Map([...(swap.replacesChunks ? [] : (record?.chunks ?? [])), ...swap.chunks])
      for (const name of swap.removed) chunks.delete(name)
      this.records.set(swap.key, { revision: swap.revision, head: swap.head, chunks })
      if (this.replicas !== undefined) swap.onUnderReplicated?.(this.replicas, 2)
      return 'done'
    })
  }

  remove(key: string, expectedRevision?: string, _owner?: SessionSwap['owner']): Promise<SwapOutcome> {
    return this.#call('remove', () => {
      const record = this.records.get(key)
      if (record !== undefined && expectedRevision !== undefined && record.revision !== expectedRevision) {
        return 'conflict'
      }
      this.records.delete(key)
      MemoryClaims.of(this.records).markDeleted(key, performance.now())
      return 'done'
    })
  }

  claim(key: string, sessionId: string, ttlMs: number): Promise<string> {
    return this.#call('claim', () => MemoryClaims.of(this.records).claim(key, sessionId, ttlMs, performance.now()))
  }

  isRemoved(key: string): Promise<boolean> {
    return this.#call('isRemoved', () => this.#isRemoved(key))
  }

  async list(listing: SessionListing): Promise<ListedPage> {
    return this.#call('list', () => pageOf([...this.records.keys()], listing, (key) => this.records.get(key)))
  }

  async close(): Promise<void> {
    this.#closed++
  }

  #isRemoved(key: string): boolean {
    return !this.records.has(key) && MemoryClaims.of(this.records).isDeleted(key, performance.now())
  }

  async #call<T>(call: FakeDriverCall, run: () => T): Promise<T> {
    this.#calls.push(call)
    const fault = this.#fault
    this.#fault = undefined
    if (fault === 'before') throw new Error('Injected: nothing happened.')
    const result = run()
    if (fault === 'after') throw new Error('Injected: it happened.')
    return result
  }
}
