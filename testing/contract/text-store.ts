// Helpers of the conformance suite's tests: a store that is right and easily broken, and the verdict of one case on a
// store. Each test names the case that must find its fault.
import { expect } from 'vitest'
import {
  SessionConflictError,
  type SessionDocument,
  SessionFlowInvariantError,
  type SessionListQuery,
  type SessionSaveHint,
  type SessionStore,
  type SessionSummary,
} from '../../src/index.js'
import { fromCursor, isListed, type SessionPage, summaryOf, toCursor } from '../../src/session/session-summary.js'
import { MemoryClaims } from '../../src/stores/claims/claims.js'
import { type SessionStoreSuiteOptions, sessionStoreSuite } from '../suites/stores/session-store-suite.js'

/** What is stored under a key. */
export interface TextEntry {
  readonly revision: string
  readonly text: string
  /** In the time of {@link TextClock}. */
  readonly endsAt?: number
  readonly expiresAt?: number
}

/** A clock that a test moves, and how long sessions are kept. */
export interface TextClock {
  now: number
  readonly absoluteTtlMs: number
  readonly ttlMs: number
}

/** What several handles share. */
export type TextData = Map<string, TextEntry>

/** Who has a lease. */
export interface TextLease {
  readonly store: TextStore
  readonly ttlMs: number
}

const leasesByData = new WeakMap<TextData, Map<string, TextLease>>()

/** Milliseconds after which the lease of a holder that is gone is free. */
const leaseTtlMs = 30

/** A store that is right: JSON texts in a Map; a broken store replaces one of its methods. */
export class TextStore implements SessionStore {
  readonly guarantees: SessionStore['guarantees'] = { compareAndSwap: 'process', durable: false }
  readonly data: TextData
  closed = false
  closedAt = 0

  readonly clock: TextClock

  constructor(data: TextData, clock: TextClock = { now: 0, absoluteTtlMs: Infinity, ttlMs: Infinity }) {
    this.data = data
    this.clock = clock
  }

  keyOf(sessionId: string): string {
    return sessionId
  }
  isSame(stored: string, expected: string): boolean {
    return stored === expected
  }
  write(document: SessionDocument, _hint?: SessionSaveHint): void {
    const key = this.keyOf(document.id)
    const endsAt = this.endOf(this.data.get(key))
    const expiresAt = this.expiryOf(endsAt)
    this.data.set(key, { revision: document.revision, text: JSON.stringify(document), endsAt, expiresAt })
  }
  read(entry: TextEntry, sessionId: string): SessionDocument {
    try {
      return JSON.parse(entry.text)
    } catch (cause) {
      throw new SessionFlowInvariantError({ sessionId, problem: 'it is not valid JSON', cause })
    }
  }
  find(sessionId: string): TextEntry | undefined {
    if (this.closed) throw new Error('The store is closed.')
    const entry = this.data.get(this.keyOf(sessionId))
    if (entry === undefined || !this.isOver(entry)) return entry
    this.forget(sessionId)
    return undefined
  }
  /** When a session ends, whatever happens to it. */
  endOf(before: TextEntry | undefined): number {
    return before?.endsAt ?? this.clock.now + this.clock.absoluteTtlMs
  }
  expiryOf(endsAt: number): number {
    return Math.min(this.clock.now + this.clock.ttlMs, endsAt)
  }
  isOver({ expiresAt = Number.POSITIVE_INFINITY }: TextEntry): boolean {
    return expiresAt <= this.clock.now
  }
  forget(sessionId: string): void {
    this.data.delete(this.keyOf(sessionId))
  }
  conflict(sessionId: string): Error {
    return new SessionConflictError({ sessionId })
  }

  async load(sessionId: string): Promise<SessionDocument | undefined> {
    const entry = this.find(sessionId)
    return entry === undefined ? undefined : this.read(entry, sessionId)
  }
  async summary(sessionId: string): Promise<SessionSummary | undefined> {
    const document = await this.load(sessionId)
    return document && this.rowOf(document)
  }
  async create(document: SessionDocument): Promise<void> {
    const entry = this.find(document.id)
    if (entry === undefined && this.isMarked(document.id)) throw this.conflict(document.id)
    if (entry === undefined) return this.write(document)
    if (!this.isSame(entry.revision, document.revision)) throw this.conflict(document.id)
  }
  async save(document: SessionDocument, expected: string, hint?: SessionSaveHint): Promise<void> {
    const entry = this.find(document.id)
    if (entry !== undefined && this.isSame(entry.revision, document.revision)) return
    if (entry === undefined || !this.isSame(entry.revision, expected)) throw this.conflict(document.id)
    this.write(document, hint)
  }
  async delete(sessionId: string, expected?: string): Promise<void> {
    const entry = this.find(sessionId)
    const isOther = entry !== undefined && expected !== undefined && !this.isSame(entry.revision, expected)
    if (isOther) throw this.conflict(sessionId)
    this.data.delete(this.keyOf(sessionId))
    this.mark(sessionId)
  }
  mark(sessionId: string): void {
    MemoryClaims.of(this.data).markDeleted(this.keyOf(sessionId), performance.now())
  }
  isMarked(sessionId: string): boolean {
    return MemoryClaims.of(this.data).isDeleted(this.keyOf(sessionId), performance.now())
  }
  async isDeleted(sessionId: string): Promise<boolean> {
    this.find('')
    return this.isMarked(sessionId)
  }
  keep(key: string, sessionId: string, ttlMs: number): string {
    return MemoryClaims.of(this.data).claim(key, sessionId, ttlMs, performance.now())
  }
  async claim(key: string, sessionId: string, ttlMs: number): Promise<string> {
    this.find('')
    return this.keep(key, sessionId, ttlMs)
  }
  rowOf(document: SessionDocument): SessionSummary {
    return summaryOf(document) as SessionSummary
  }
  /** Pages go by the keys. */
  async list(query: SessionListQuery): Promise<SessionPage> {
    this.find('')
    const { limit, cursor } = query
    const [after] = cursor === undefined ? [undefined] : fromCursor<[string]>(cursor, isKey)
    const rest = [...this.data.keys()].filter((key) => after === undefined || key > after).sort()
    const page = rest.slice(0, limit)
    const sessions = page.flatMap((key) => this.listed(key)).filter((row) => this.isShown(row, query))
    return { sessions, ...(page.length === rest.length ? {} : { cursor: toCursor([page.at(-1)]) }) }
  }
  /** The shown part of an entry; nothing if it cannot be read. */
  listed(key: string): SessionSummary[] {
    try {
      return [this.rowOf(JSON.parse(this.data.get(key)?.text ?? ''))]
    } catch {
      return []
    }
  }
  isShown(row: SessionSummary, query: SessionListQuery): boolean {
    return isListed(row, query)
  }
  get leases(): Map<string, TextLease> {
    const leases = leasesByData.get(this.data) ?? new Map<string, TextLease>()
    leasesByData.set(this.data, leases)
    return leases
  }
  isFree(lease: TextLease | undefined): boolean {
    return lease === undefined || (lease.store.closed && lease.store.closedAt + lease.ttlMs <= performance.now())
  }
  async lease(sessionId: string, ttlMs: number, signal: AbortSignal): Promise<() => Promise<void>> {
    this.find('')
    for (;;) {
      signal.throwIfAborted()
      if (this.isFree(this.leases.get(sessionId))) break
      await new Promise((resolve) => setTimeout(resolve, 2))
    }
    const lease = { store: this, ttlMs }
    this.leases.set(sessionId, lease)
    return async () => this.giveBack(sessionId, lease)
  }
  giveBack(sessionId: string, lease: TextLease): void {
    if (this.leases.get(sessionId) === lease) this.leases.delete(sessionId)
  }
  async close(): Promise<void> {
    this.closed = true
    this.closedAt = performance.now()
  }
}

function isKey(values: readonly unknown[]): boolean {
  return values.length === 1 && typeof values[0] === 'string'
}

/** A store whose backend is down. */
export class DownStore extends TextStore {
  override find(): undefined {
    throw new Error('connect ECONNREFUSED')
  }
}

/** Makes a handle on some data. */
export type StoreClass = new (data: TextData, clock?: TextClock) => TextStore

/** Every option of the suite, for handles of one class. */
export function optionsFor(Store: StoreClass, Down: StoreClass = DownStore): SessionStoreSuiteOptions {
  let clock: TextClock | undefined
  return {
    absoluteTtl: {
      createStore({ absoluteTtlMs = Infinity, ttlMs = Infinity }) {
        clock = { now: 0, absoluteTtlMs, ttlMs }
        return new Store(new Map(), clock)
      },
      advance(ms) {
        if (clock !== undefined) clock.now += ms
      },
    },
    reopen: (store) => new Store((store as TextStore).data),
    corrupt: (sessionId, store) => {
      const { data } = store as TextStore
      data.set(sessionId, { revision: data.get(sessionId)?.revision ?? '', text: '{"id":' })
    },
    createUnreachable: () => new Down(new Map()),
    claims: true,
    leases: { ttlMs: leaseTtlMs },
    lists: true,
    deadlineMs: 2_000,
  }
}

/** What the case reports about a store; `undefined` if the store passes. */
export async function verdictOf(name: string, Store: StoreClass, Down?: StoreClass): Promise<string | undefined> {
  const bodies = new Map<string, () => Promise<void>>()
  sessionStoreSuite(
    (title, body) => bodies.set(title, body),
    () => new Store(new Map()),
    optionsFor(Store, Down),
  )
  const body = bodies.get(name)
  if (body === undefined) throw new Error(`There is no case '${name}'.`)
  return body().then(
    () => undefined,
    (error: unknown) => (error as Error).message,
  )
}

/** A store with a fault, and the cases that must find it. */
export interface BrokenStore {
  readonly what: string
  readonly store: StoreClass
  readonly down?: StoreClass
  readonly caughtBy: readonly string[]
}

/** Fails unless the store works, and each case that should find its fault does, by name and with a sentence. */
export async function expectCaught({ store, down, caughtBy }: BrokenStore): Promise<void> {
  expect(await verdictOf('load gives what create stored', store, down)).toBeUndefined()
  for (const name of caughtBy) {
    const verdict = (await verdictOf(name, store, down)) ?? (await verdictOf(name, withoutMarks(store), down))
    expect(verdict ?? 'nothing', name).toContain(`${name}: Expected `)
  }
}

/** A store whose deleted IDs can be used again, as those of a store without claims can. */
function withoutMarks(Store: StoreClass): StoreClass {
  return class extends Store {
    override mark(): void {}
  }
}

/** As `JSON.parse` and `JSON.stringify` take one. */
export type Reviver = (key: string, value: unknown) => unknown

/** A store whose documents go through a function on the way out. */
export function readingThrough(what: string, revive: Reviver, ...caughtBy: readonly string[]): BrokenStore {
  const store = class extends TextStore {
    override read({ text }: TextEntry): SessionDocument {
      return JSON.parse(text, revive)
    }
  }
  return { what, store, caughtBy }
}

/** A store whose documents go through a function on the way in. */
export function writingThrough(what: string, replace: Reviver, ...caughtBy: readonly string[]): BrokenStore {
  const store = class extends TextStore {
    override write(document: SessionDocument): void {
      super.write(JSON.parse(JSON.stringify(document, replace)))
    }
  }
  return { what, store, caughtBy }
}

/** A reviver of texts. */
export function changedTexts(change: (text: string) => unknown): Reviver {
  return (_key, value) => (typeof value === 'string' ? change(value) : value)
}

/** A reviver of keys. */
export function changedKeys(change: (key: string) => string | undefined): Reviver {
  return (_key, value) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
    const entries = Object.entries(value).map(([key, inner]) => [change(key), inner] as const)
    return Object.fromEntries(entries.filter(([key]) => key !== undefined))
  }
}
