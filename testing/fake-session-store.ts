/**
 * A session store that keeps a journal and fails on request: the engine's behaviour on a bad day, without a bad day.
 * What it stores, and how it compares and swaps, is the memory store's.
 */
import {
  type Clock,
  MemorySessionStore,
  type SessionDocument,
  type SessionSaveHint,
  type SessionStore,
  type SessionStoreGuarantees,
  systemClock,
} from '../src/index.js'

/** An operation of a store. */
export type FakeStoreOperation = 'load' | 'create' | 'save' | 'delete' | 'close'

/** One call, as the journal keeps it. */
export interface FakeStoreCall {
  readonly operation: FakeStoreOperation
  /** Empty for `close`. */
  readonly sessionId: string
  /** Of the document that was to be stored. */
  readonly revision?: string
  readonly expectedRevision?: string
  /** `pending` until the call settles. */
  outcome: 'pending' | 'done' | 'failed'
}

/** A fault to come. */
export interface FakeStoreFault {
  readonly operation: FakeStoreOperation
  /**
   * What happens: an error before anything took effect, an error after it did, no answer before, no answer after, or
   * only latency.
   */
  readonly effect: 'fail-before' | 'fail-after' | 'hang-before' | 'hang-after' | 'latency'
  /** Which matching call it strikes first, counted from now. Default 1: the next one. */
  readonly nth?: number
  /** How many calls in a row it strikes; `Infinity` until {@link FakeSessionStore.heal}. Default 1. */
  readonly times?: number
  /** Only calls for this session. Default: any. */
  readonly sessionId?: string
  /** What is thrown. Default: an `Error` that says it was injected. */
  readonly error?: unknown
  /** Milliseconds on the store's clock before the call goes on. Default 0. */
  readonly latencyMs?: number
}

interface ActiveFault {
  readonly fault: FakeStoreFault
  /** Matching calls still to let pass. */
  skip: number
  left: number
}

/** What the constructor of {@link FakeSessionStore} takes. */
export interface FakeSessionStoreOptions {
  /** The store underneath. Default: a new memory store. */
  readonly inner?: SessionStore
  /** The clock for latency. Default: the machine's. */
  readonly clock?: Clock
}

/**
 * A store with a journal and faults.
 *
 * @example
 * ```ts
 * const store = new FakeSessionStore()
 * store.inject({ operation: 'save', effect: 'fail-after' })
 * const engine = new FlowEngine({ flows: [Onboarding], sessionStore: store })
 * ```
 */
export class FakeSessionStore implements SessionStore {
  readonly guarantees: SessionStoreGuarantees
  readonly #inner: SessionStore
  readonly #clock: Clock
  readonly #journal: FakeStoreCall[] = []
  #faults: ActiveFault[] = []

  constructor(options: FakeSessionStoreOptions = {}) {
    this.#inner = options.inner ?? new MemorySessionStore()
    this.#clock = options.clock ?? systemClock
    this.guarantees = this.#inner.guarantees
  }

  /** Every call so far, in order. */
  get journal(): readonly FakeStoreCall[] {
    return this.#journal
  }

  /** The operations of the journal, as words. */
  get operations(): readonly FakeStoreOperation[] {
    return this.#journal.map(({ operation }) => operation)
  }

  /** Prepares a fault. Faults for one operation strike in the order they were injected. */
  inject(fault: FakeStoreFault): void {
    this.#faults.push({ fault, skip: (fault.nth ?? 1) - 1, left: fault.times ?? 1 })
  }

  /** Takes back every fault that has not struck. */
  heal(): void {
    this.#faults = []
  }

  load(sessionId: string): Promise<SessionDocument | undefined> {
    return this.#call({ operation: 'load', sessionId, outcome: 'pending' }, () => this.#inner.load(sessionId))
  }

  create(document: SessionDocument): Promise<void> {
    const { id, revision } = document
    return this.#call({ operation: 'create', sessionId: id, revision, outcome: 'pending' }, () =>
      this.#inner.create(document),
    )
  }

  save(document: SessionDocument, expectedRevision: string, hint?: SessionSaveHint): Promise<void> {
    const { id, revision } = document
    return this.#call({ operation: 'save', sessionId: id, revision, expectedRevision, outcome: 'pending' }, () =>
      this.#inner.save(document, expectedRevision, hint),
    )
  }

  delete(sessionId: string, expectedRevision?: string): Promise<void> {
    const call: FakeStoreCall = { operation: 'delete', sessionId, outcome: 'pending' }
    return this.#call(expectedRevision === undefined ? call : { ...call, expectedRevision }, () =>
      this.#inner.delete(sessionId, expectedRevision),
    )
  }

  close(): Promise<void> {
    return this.#call({ operation: 'close', sessionId: '', outcome: 'pending' }, () => this.#inner.close())
  }

  hold(sessionId: string): () => void {
    return this.#inner.hold?.(sessionId) ?? (() => undefined)
  }

  onEvicted(listener: (sessionId: string) => void): () => void {
    return this.#inner.onEvicted?.(listener) ?? (() => undefined)
  }

  async #call<T>(call: FakeStoreCall, run: () => Promise<T>): Promise<T> {
    this.#journal.push(call)
    const fault = this.#strike(call)
    try {
      const result = fault === undefined ? await run() : await this.#disturb(fault, run)
      call.outcome = 'done'
      return result
    } catch (error) {
      call.outcome = 'failed'
      throw error
    }
  }

  async #disturb<T>(fault: FakeStoreFault, run: () => Promise<T>): Promise<T> {
    const { effect, latencyMs = 0 } = fault
    if (latencyMs > 0) await new Promise<void>((resolve) => this.#clock.setTimer(resolve, latencyMs))
    const error = fault.error ?? new Error(`Injected: ${fault.operation} ${effect}`)
    if (effect === 'fail-before') throw error
    if (effect === 'hang-before') return new Promise<T>(() => undefined)
    const result = await run()
    if (effect === 'fail-after') throw error
    if (effect === 'hang-after') return new Promise<T>(() => undefined)
    return result
  }

  /** The fault that strikes this call, if one does. */
  #strike(call: FakeStoreCall): FakeStoreFault | undefined {
    const matching = this.#faults.filter(
      ({ fault }) => fault.operation === call.operation && (fault.sessionId ?? call.sessionId) === call.sessionId,
    )
    const striking = matching.find(({ skip }) => skip === 0)
    // Each fault counts the calls, also those that another one struck.
    for (const active of matching) if (active.skip > 0) active.skip--
    if (striking === undefined) return undefined
    if (--striking.left <= 0) this.#faults = this.#faults.filter((other) => other !== striking)
    return striking.fault
  }
}
