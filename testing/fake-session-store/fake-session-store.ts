/**
 * A session store that keeps a journal and fails on request, to test how an engine handles a bad store. It wraps
 * another store, which stores the documents and does the compare-and-swap.
 */

import { systemClock } from '../../src/config/clock.js'
import {
  type Clock,
  MemorySessionStore,
  type SessionDocument,
  type SessionListQuery,
  type SessionSaveHint,
  type SessionStore,
  type UnderReplicatedReport,
} from '../../src/index.js'
import { ExpectationError } from '../expectations/expectation-error.js'
import { checkFault, checkFaultOptions, type FaultMethod } from './check-faults.js'
import { describeFault, type FakeStoreFault, type FakeStoreMatch, FaultList } from './faults.js'
import {
  type ExpectedStoreCall,
  type FakeStoreCall,
  type FakeStoreOperation,
  faultsProblem,
  journalProblem,
} from './journal.js'
import { FakeLeases } from './leases.js'
import type {
  FailOptions,
  FakeSessionStoreOptions,
  HangOptions,
  OutageOptions,
  RivalOptions,
  RivalWriteOptions,
} from './options.js'
import { PastDocuments, writeAsRival } from './past-documents.js'

export type { FakeStoreFault } from './faults.js'

/**
 * A store with a journal and faults. If several faults match a call, the one that was prepared first applies.
 *
 * @example
 * ```ts
 * const store = new FakeSessionStore()
 * const engine = new FlowEngine({ flows: [Onboarding], sessionStore: store })
 * store.failNext('create', { after: true })
 * await engine.run({ flowName: 'Onboarding', userMessage: 'Hello' })
 * store.expectJournal(['create failed', 'load'])
 * store.assertFaultsUsed()
 * ```
 */
export class FakeSessionStore implements SessionStore {
  readonly guarantees: SessionStore['guarantees']
  /** Absent if the wrapped store has none. */
  readonly claim?: NonNullable<SessionStore['claim']>
  /** Absent if the wrapped store has none. */
  readonly isDeleted?: NonNullable<SessionStore['isDeleted']>
  /** Absent unless the option `leases` is set, or the wrapped store has leases. */
  readonly lease?: NonNullable<SessionStore['lease']>
  /** Absent, so that the engine loads; a test may set it. */
  summary?: NonNullable<SessionStore['summary']>
  /** Absent if the wrapped store has none. */
  readonly list?: NonNullable<SessionStore['list']>
  readonly #inner: SessionStore
  readonly #clock: Clock
  readonly #past = new PastDocuments()
  readonly #faults = new FaultList()
  #journal: FakeStoreCall[] = []

  constructor(options: FakeSessionStoreOptions = {}) {
    this.#inner = options.inner ?? new MemorySessionStore()
    this.#clock = options.clock ?? systemClock
    this.guarantees = this.#inner.guarantees
    if (this.#inner.claim !== undefined) this.claim = (...claim) => this.#claim(...claim)
    if (this.#inner.isDeleted !== undefined) this.isDeleted = (sessionId) => this.#isDeleted(sessionId)
    if (this.#inner.list !== undefined) this.list = (query) => this.#list(query)
    if (options.leases === true || this.#inner.lease !== undefined) this.lease = (...lease) => this.#lease(...lease)
  }

  /** Every call so far, in order. */
  get journal(): readonly FakeStoreCall[] {
    return this.#journal
  }

  /** The operations of the journal, as words. */
  get operations(): readonly FakeStoreOperation[] {
    return this.#journal.map(({ operation }) => operation)
  }

  /** Begins a new journal. */
  clearJournal(): void {
    this.#journal = []
  }

  /** The next call fails: before it takes effect or, with `after`, after it took effect without its caller knowing. */
  failNext(operation: FakeStoreOperation, options: FailOptions = {}): void {
    checkFaultOptions('failNext', options)
    const { after = false, atOnce = false, ...more } = options
    this.#prepare('failNext', { operation, effect: atOnce ? 'throw' : after ? 'fail-after' : 'fail-before', ...more })
  }

  /** The next call never settles. It has no effect or, with `after`, it took effect. */
  hangNext(operation: FakeStoreOperation, options: HangOptions = {}): void {
    checkFaultOptions('hangNext', options)
    const { after = false, ...more } = options
    this.#prepare('hangNext', { operation, effect: after ? 'hang-after' : 'hang-before', ...more })
  }

  /** The next call starts `ms` milliseconds late, by the store's clock. */
  delayNext(operation: FakeStoreOperation, ms: number, match: FakeStoreMatch = {}): void {
    checkFaultOptions('delayNext', match)
    this.#prepare('delayNext', { operation, effect: 'latency', latencyMs: ms, ...match })
  }

  /** Another process writes the session just before the next `save`, so the engine's save finds another revision. */
  rivalWrites(options: RivalWriteOptions = {}): void {
    checkFaultOptions('rivalWrites', options)
    const { before = 'save', ...more } = options
    this.#prepare('rivalWrites', { operation: before, effect: 'rival-write', ...more })
  }

  /** Another process deletes the session just before the next `save`. */
  rivalDeletes(options: RivalOptions = {}): void {
    checkFaultOptions('rivalDeletes', options)
    const { before = 'save', ...more } = options
    this.#prepare('rivalDeletes', { operation: before, effect: 'rival-delete', ...more })
  }

  /** The next `load` returns the document from before the last write, like a replica that lags behind. */
  staleRead(match: FakeStoreMatch = {}): void {
    checkFaultOptions('staleRead', match)
    this.#prepare('staleRead', { operation: 'load', effect: 'stale-read', ...match })
  }

  /** The next `load` returns this instead of the stored document: for example a truncated document, or none at all. */
  answerNext(answer: unknown, match: FakeStoreMatch = {}): void {
    checkFaultOptions('answerNext', match)
    this.#prepare('answerNext', { operation: 'load', effect: 'answer', answer, ...match })
  }

  /** Every call except `close` fails until {@link heal}. */
  outage(options: OutageOptions = {}): void {
    checkFaultOptions('outage', options)
    const { hang = false, ...more } = options
    this.#prepare('outage', { effect: hang ? 'hang-before' : 'fail-before', times: Number.POSITIVE_INFINITY, ...more })
  }

  /** Ends an outage and every other fault. A call that hangs still never settles. */
  heal(): void {
    this.#faults.heal()
  }

  /** Prepares a fault that is given as data, for a generated test. In a handwritten test use the methods above. */
  inject(fault: FakeStoreFault): void {
    checkFaultOptions('inject', fault)
    this.#prepare('inject', fault)
  }

  /**
   * Checks every call since the beginning, or since {@link clearJournal}.
   *
   * @throws {@link ExpectationError} that shows the journal as a table.
   */
  expectJournal(expected: readonly ExpectedStoreCall[]): void {
    const problem = journalProblem(this.#journal, expected, this.#past.lastText)
    if (problem !== undefined) throw new ExpectationError(problem)
  }

  /**
   * Checks that each fault was used: a fault that no call meets tests nothing. A fault with `times` must apply that
   * often, unless the store was healed; a fault that lasts until the store is healed must apply once.
   *
   * @throws {@link ExpectationError} that lists the others.
   */
  assertFaultsUsed(): void {
    const problem = faultsProblem(this.#faults.unused(), this.#journal)
    if (problem !== undefined) throw new ExpectationError(problem)
  }

  load(sessionId: string, caller?: { readonly owner?: string | undefined }): Promise<SessionDocument | undefined> {
    return this.#call(
      { operation: 'load', sessionId, outcome: 'pending' },
      () => this.#inner.load(sessionId, caller),
      () => this.#past.before(sessionId),
    )
  }

  create(document: SessionDocument): Promise<void> {
    const { id, revision } = document
    return this.#call({ operation: 'create', sessionId: id, revision, outcome: 'pending' }, async () => {
      await this.#inner.create(document)
      this.#past.note(id, document)
    })
  }

  save(document: SessionDocument, expectedRevision: string, hint?: SessionSaveHint): Promise<void> {
    const { id, revision } = document
    const call: FakeStoreCall = { operation: 'save', sessionId: id, revision, expectedRevision, outcome: 'pending' }
    return this.#call(hint === undefined ? call : { ...call, hint }, async () => {
      await this.#inner.save(document, expectedRevision, hint)
      this.#past.note(id, document)
    })
  }

  delete(sessionId: string, expectedRevision?: string): Promise<void> {
    const call: FakeStoreCall = { operation: 'delete', sessionId, outcome: 'pending' }
    return this.#call(expectedRevision === undefined ? call : { ...call, expectedRevision }, async () => {
      await this.#inner.delete(sessionId, expectedRevision)
      this.#past.note(sessionId, undefined)
    })
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

  onUnderReplicated(listener: (report: UnderReplicatedReport) => void): () => void {
    return this.#inner.onUnderReplicated?.(listener) ?? (() => undefined)
  }

  #claim(key: string, sessionId: string, ttlMs: number): Promise<string> {
    const inner = this.#inner as Required<SessionStore>
    return this.#call({ operation: 'claim', sessionId, key, outcome: 'pending' }, () =>
      inner.claim(key, sessionId, ttlMs),
    )
  }

  #isDeleted(sessionId: string): Promise<boolean> {
    const inner = this.#inner as Required<SessionStore>
    return this.#call({ operation: 'isDeleted', sessionId, outcome: 'pending' }, () => inner.isDeleted(sessionId))
  }

  #list(query: SessionListQuery): ReturnType<Required<SessionStore>['list']> {
    const inner = this.#inner as Required<SessionStore>
    return this.#call({ operation: 'list', sessionId: '', query, outcome: 'pending' }, () => inner.list(query))
  }

  #lease(sessionId: string, ttlMs: number, signal: AbortSignal): Promise<() => Promise<void>> {
    const inner = this.#inner
    return this.#call({ operation: 'lease', sessionId, outcome: 'pending' }, () => {
      if (inner.lease !== undefined) return inner.lease(sessionId, ttlMs, signal)
      const data = inner instanceof MemorySessionStore ? inner.backing : inner
      return FakeLeases.of(data, this.#clock).take(sessionId, ttlMs, signal)
    })
  }

  #prepare(method: FaultMethod, fault: FakeStoreFault): void {
    checkFault(method, fault)
    this.#faults.add(fault)
  }

  #call<T>(call: FakeStoreCall, run: () => Promise<T>, runStale?: () => T): Promise<T> {
    this.#journal.push(call)
    const fault = this.#faults.strike(call)
    if (fault !== undefined) call.fault = fault.effect
    if (fault?.effect === 'throw') {
      call.outcome = 'failed'
      throw errorOf(fault, call)
    }
    return this.#noted(call, () => (fault === undefined ? run() : this.#disturb(call, fault, run, runStale)))
  }

  async #noted<T>(call: FakeStoreCall, run: () => Promise<T>): Promise<T> {
    try {
      const result = await run()
      call.outcome = 'done'
      return result
    } catch (error) {
      call.outcome = 'failed'
      throw error
    }
  }

  async #disturb<T>(call: FakeStoreCall, fault: FakeStoreFault, run: () => Promise<T>, runStale?: () => T): Promise<T> {
    const { effect, latencyMs = 0 } = fault
    const { sessionId } = call
    if (latencyMs > 0) await new Promise<void>((resolve) => this.#clock.setTimer(resolve, latencyMs))
    if (effect === 'fail-before') throw errorOf(fault, call)
    if (effect === 'hang-before') return new Promise<T>(() => undefined)
    if (effect === 'answer') return fault.answer as T
    if (effect === 'stale-read' && runStale !== undefined) return runStale()
    if (effect === 'rival-write') this.#past.note(sessionId, await writeAsRival(this.#inner, sessionId, fault.change))
    if (effect === 'rival-delete') {
      await this.#inner.delete(sessionId)
      this.#past.note(sessionId, undefined)
    }
    const result = await run()
    if (effect === 'fail-after') throw errorOf(fault, call)
    if (effect === 'hang-after') return new Promise<T>(() => undefined)
    return result
  }
}

/** The value that a fault throws: the one passed to it, even `undefined`. */
function errorOf(fault: FakeStoreFault, { operation }: FakeStoreCall): unknown {
  if ('error' in fault) return fault.error
  return new Error(`Injected: ${describeFault({ operation, effect: fault.effect })}.`)
}
