/** What a case of the suite is, and what it finds on its bench. Types only. */
import type { CheckedStore } from './checked-store.js'
import type { SessionStoreSuiteOptions } from './suite-options.js'

/** One case. Its name is public: it is how a caller leaves it out. */
export interface SuiteCase {
  readonly name: string
  /** What the interface `SessionStore` promises, for the message of a failure. */
  readonly rule: string
  /** The options without which the case cannot be run. */
  readonly needs?: readonly ('corrupt' | 'createUnreachable' | 'claims' | 'leases' | 'lists' | 'absoluteTtl')[]
  /** Rejects if the store breaks the rule. */
  readonly run: (bench: SuiteBench) => Promise<void>
}

/** The stores of one case. Every handle is closed when the case is over. */
export interface SuiteBench {
  /** Milliseconds: see the option `leases`. */
  readonly leaseTtlMs: number
  /** See the option `absoluteTtl`. */
  readonly age: Partial<NonNullable<SessionStoreSuiteOptions['absoluteTtl']>>
  /** A store of the option `absoluteTtl`. */
  openAging(times: { readonly absoluteTtlMs?: number; readonly ttlMs?: number }): Promise<CheckedStore>
  /** A session ID that nothing is stored under. */
  newId(): string
  /** A fresh store. */
  open(): Promise<CheckedStore>
  /** Another handle on the same data. Fails if it does not see them. */
  another(store: CheckedStore): Promise<CheckedStore>
  /** Makes a stored session unreadable. */
  corrupt(sessionId: string, store: CheckedStore): Promise<void>
  /** A store that is down. */
  openUnreachable(): Promise<CheckedStore>
}
