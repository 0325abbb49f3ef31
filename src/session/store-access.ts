/**
 * The engine's access to its store: every operation has a deadline, every failure becomes a session error, and a write
 * that failed but may have taken effect is settled here. When a connection is cut between request and reply, the caller
 * sees a failure although the document was written; so after a doubtful failure the document is read back.
 */
import { type Clock, elapsedMs, monotonicTime, setDeadline } from '../config/clock.js'
import { type Deadline, Deadlines } from '../config/deadlines.js'
import { LimitExceededError } from '../errors/engine-errors.js'
import { FlowError } from '../errors/flow-error.js'
import {
  isSessionConflict,
  OutcomeUnknownError,
  SessionConflictError,
  SessionStoreError,
} from '../errors/session-errors.js'
import { isSessionId } from '../util/patterns.js'
import type { LockHolder } from './lock/lock-line.js'
import { decodeSession } from './session-codec.js'
import type { SessionDocument, SessionHistoryEntry } from './session-document.js'
import type { SessionListQuery, SessionSaveHint, SessionStore } from './session-store.js'
import { isPage, type SessionPage } from './session-summary.js'

/** How often a write is attempted, and how many times `storeTimeoutMs` it may take in all. */
export const writeAttempts = 3

/** What a read-back found: a document, with its revision where one can be read, or nothing. */
type Found = { readonly revision: string | undefined; readonly stored?: unknown } | 'missing' | 'unreadable'

/**
 * What a read-back shows: the write took effect, it did not, another write did instead, or nobody can know any more.
 */
type Verdict = 'done' | 'again' | 'conflict' | 'unknown'

/** One write, and what a read-back shows about it. */
interface Write {
  readonly operation: 'create' | 'save' | 'delete'
  readonly sessionId: string
  readonly holder: LockHolder | undefined
  attempt(): Promise<void>
  judge(found: Found): Verdict
}

/** What {@link StoreAccess} needs. */
export interface StoreAccessOptions {
  readonly store: SessionStore
  readonly clock: Clock
  /** For one operation, in milliseconds; a whole write with its read-backs gets three times as long. */
  readonly storeTimeoutMs: number
  /** Those of the engine. Default: its own, on the same clock. */
  readonly deadlines?: Deadlines
  /** Default: nobody watches. */
  readonly watch?: StoreWatch
}

/** Who is reported how long the operations of the store take. */
export interface StoreWatch {
  /** Whether anybody gets what {@link report} reports. */
  isWatched(): boolean
  /** Called when an operation has settled, a write with its read-backs. What it throws is ignored. */
  report(operation: StoreOperation): void
}

/** One operation of the store, when it has settled. */
export interface StoreOperation {
  readonly operation: 'load' | 'create' | 'save' | 'delete' | 'claim' | 'list'
  /** Empty for a `list`. */
  readonly sessionId: string
  readonly durationMs: number
  /** Of the turn that it is part of; `undefined` where it is part of none. */
  readonly turnId: string | undefined
  /** What it failed with; `undefined` for a success. */
  readonly error: unknown
}

/** What is known of a document that is written. */
interface WriteOptions {
  /** For the store, as `stateBytes`: see {@link SessionStore.save}. */
  readonly hint?: SessionSaveHint | undefined
  readonly stateBytes?: number | undefined
  /**
   * Whether the last entry of `history` is new: then the ID of that turn shows that the write took effect. Default
   * `false`.
   */
  readonly addsTurn?: boolean
  /** The holder of the session's lock. If the lock was taken over, nothing is sent to the store any more. */
  readonly holder?: LockHolder | undefined
}

/** A {@link SessionStore} as the engine uses it. */
export class StoreAccess {
  readonly store: SessionStore
  readonly #clock: Clock
  readonly #deadlines: Deadlines
  readonly #timeoutMs: number
  readonly #watch: StoreWatch | undefined

  constructor(options: StoreAccessOptions) {
    this.#watch = options.watch
    this.store = options.store
    this.#clock = options.clock
    this.#deadlines = options.deadlines ?? new Deadlines(options.clock)
    this.#timeoutMs = options.storeTimeoutMs
  }

  /** The stored document, checked; `undefined` where there is none. */
  async load(sessionId: string): Promise<SessionDocument | undefined> {
    const stored = await this.loadUnchecked(sessionId)
    return stored === undefined ? undefined : decodeSession(stored, sessionId)
  }

  /**
   * Whatever is stored, unchecked; `undefined` where there is nothing.
   *
   * @param caller - See {@link SessionStore.load}: of another owner's session only the owner may be read then.
   * @param turnId - Of the turn that loads, for {@link StoreWatch}.
   */
  loadUnchecked(
    sessionId: string,
    caller?: { readonly owner?: string | undefined },
    turnId?: string | undefined,
  ): Promise<unknown> {
    const load = (): Promise<unknown> =>
      this.#bounded<unknown>(
        () => this.store.load(sessionId, caller),
        (cause) => asStoreError('load', sessionId, cause),
      )
    return this.#watched('load', sessionId, turnId, load)
  }

  /**
   * Writes a document: creates it (`expectedRevision` undefined) or swaps it in.
   *
   * @throws {@link SessionConflictError} where another document is stored, or none where one was expected.
   * @throws {@link SessionStoreError} where the store failed. It is an {@link OutcomeUnknownError} where nobody knows
   * whether the write took effect.
   */
  write(
    document: SessionDocument,
    expectedRevision: string | undefined,
    { hint, addsTurn = false, stateBytes, holder }: WriteOptions = {},
  ): Promise<void> {
    const { store } = this
    const sessionId = document.id
    if (expectedRevision === undefined) {
      return this.#write({
        operation: 'create',
        sessionId,
        holder,
        attempt: () => store.create(document, stateBytes),
        judge(found) {
          if (found === 'missing') return 'again'
          return judgeTurn(found, document, addsTurn)
        },
      })
    }
    return this.#write({
      operation: 'save',
      sessionId,
      holder,
      attempt: () => store.save(document, expectedRevision, hint, stateBytes),
      judge(found) {
        if (found === 'missing') return 'conflict'
        if (found !== 'unreadable' && found.revision === expectedRevision) return 'again'
        return judgeTurn(found, document, addsTurn)
      },
    })
  }

  /**
   * Removes a document. `expectedRevision` undefined: whatever is stored, for a document whose revision cannot be read.
   *
   * @param holder - See {@link WriteOptions.holder}.
   */
  remove(sessionId: string, expectedRevision: string | undefined, holder?: LockHolder): Promise<void> {
    return this.#write({
      operation: 'delete',
      sessionId,
      holder,
      attempt: () => this.store.delete(sessionId, expectedRevision),
      judge(found) {
        if (found === 'missing') return 'done'
        if (found === 'unreadable') return expectedRevision === undefined ? 'again' : 'conflict'
        return found.revision === expectedRevision ? 'again' : 'conflict'
      },
    })
  }

  /** Whether the store keeps claims. */
  get canClaim(): boolean {
    return this.store.claim !== undefined
  }

  /**
   * The session ID that is kept under `key`: that of an earlier claim, or else this one from now on.
   * Only where {@link canClaim}.
   *
   * @throws {@link SessionStoreError} where the store failed, or returned something other than a session ID. Whether it
   * kept this one is unknown then; the claim can be repeated.
   */
  claim(key: string, sessionId: string, ttlMs: number): Promise<string> {
    return this.#watched('claim', sessionId, undefined, () => this.#claim(key, sessionId, ttlMs))
  }

  async #claim(key: string, sessionId: string, ttlMs: number): Promise<string> {
    try {
      const kept: unknown = await this.#bounded(() =>
        (this.store as Required<SessionStore>).claim(key, sessionId, ttlMs),
      )
      if (typeof kept === 'string' && isSessionId(kept)) return kept
      throw new TypeError('The store answered a claim with something other than a session ID.')
    } catch (cause) {
      // Also a conflict: a claim has none.
      throw new SessionStoreError({ operation: 'claim', sessionId, cause })
    }
  }

  /** Whether the store can list sessions. */
  get canList(): boolean {
    return this.store.list !== undefined
  }

  /**
   * One page of the stored sessions. Only where {@link canList}.
   *
   * @throws {@link SessionStoreError} where the store failed, or returned something other than a page;
   * `InvalidInputError` for a cursor that is not the store's.
   */
  list(query: SessionListQuery): Promise<SessionPage> {
    return this.#watched('list', '', undefined, () => this.#list(query))
  }

  async #list(query: SessionListQuery): Promise<SessionPage> {
    try {
      const page: unknown = await this.#bounded(() => (this.store as Required<SessionStore>).list(query))
      if (isPage(page)) return page
      throw new TypeError('The store answered a listing with something other than sessions and a cursor.')
    } catch (cause) {
      if (FlowError.isInstance(cause) && cause.code === 'INVALID_INPUT') throw cause
      throw new SessionStoreError({ operation: 'list', cause })
    }
  }

  /** Closes the store, within the deadline of one operation. */
  async close(): Promise<void> {
    try {
      await this.#bounded(() => this.store.close())
    } catch (cause) {
      throw asStoreError('close', undefined, cause)
    }
  }

  /** Runs an operation, and reports it to who watches. Nothing is added to one that nobody watches. */
  #watched<T>(
    operation: StoreOperation['operation'],
    sessionId: string,
    turnId: string | undefined,
    work: () => Promise<T>,
  ): Promise<T> {
    const watch = this.#watch
    if (watch?.isWatched() !== true) return work()
    const startedAt = monotonicTime(this.#clock)
    const report = (error?: unknown): void => {
      try {
        watch.report({ operation, sessionId, turnId, durationMs: elapsedMs(this.#clock, startedAt), error })
      } catch {
        // What is reported of an operation must not change what it settles with.
      }
    }
    return work().then(
      (value) => {
        report()
        return value
      },
      (error: unknown) => {
        report(error)
        throw error
      },
    )
  }

  #write(write: Write): Promise<void> {
    const { operation, sessionId, holder } = write
    // To ask the holder costs more than the rest of this.
    if (this.#watch?.isWatched() !== true) return this.#attemptWrite(write)
    return this.#watched(operation, sessionId, holder?.waitOf().turnId, () => this.#attemptWrite(write))
  }

  /** Attempts a write. Where it fails in doubt, {@link #settle} finds out what happened. */
  #attemptWrite(write: Write): Promise<void> {
    const startedAt = monotonicTime(this.#clock)
    const attempt = (): Promise<void> => {
      write.holder?.check()
      return write.attempt()
    }
    return this.#bounded(attempt).catch((error: unknown) => {
      if (isSessionConflict(error)) throw error
      return this.#settle(write, error, startedAt)
    })
  }

  /** Reads back what is stored, and repeats the write where it did not take effect. Has a deadline for all of it. */
  #settle(write: Write, firstCause: unknown, startedAt: number): Promise<void> {
    const remaining = startedAt + writeAttempts * this.#timeoutMs - monotonicTime(this.#clock)
    const state = { isOver: false }
    return new Promise((resolve, reject) => {
      const abandon = (cause: unknown): void => {
        state.isOver = true
        reject(outcomeUnknown(write, cause))
      }
      let stopDeadline: () => void
      try {
        stopDeadline = setDeadline(this.#clock, Math.max(0, remaining), () => abandon(firstCause))
      } catch (error) {
        abandon(error)
        return
      }
      this.#repeat(write, firstCause, state).then(resolve, reject).finally(stopDeadline)
    })
  }

  /** @param state - Once it is over, nothing more may be read or written: the caller has its answer. */
  async #repeat(write: Write, firstCause: unknown, state: { readonly isOver: boolean }): Promise<void> {
    let cause = firstCause
    for (let attempts = 1; !state.isOver; attempts++) {
      const verdict = await this.#judge(write)
      if (verdict === 'done' || state.isOver) return
      refuseOther(write, verdict, cause)
      if (attempts === writeAttempts) throw asStoreError(write.operation, write.sessionId, cause)
      write.holder?.check()
      try {
        return await this.#bounded(write.attempt)
      } catch (error) {
        // A conflict is read back too: what it met may be the write of the attempt before.
        cause = error
      }
    }
  }

  /** Reads back what is stored, and judges the write by it. */
  async #judge(write: Write): Promise<Verdict> {
    let found: Found
    try {
      found = await this.#readBack(write.sessionId)
    } catch (error) {
      throw outcomeUnknown(write, error)
    }
    return write.judge(found)
  }

  async #readBack(sessionId: string): Promise<Found> {
    try {
      const stored: unknown = await this.#bounded(() => this.store.load(sessionId))
      return stored === undefined ? 'missing' : { revision: revisionOf(stored), stored }
    } catch (error) {
      // Something is stored that the store cannot read.
      if (isSessionConflict(error)) return 'unreadable'
      throw error
    }
  }

  /**
   * Runs one operation under its deadline. A result that comes later is ignored.
   *
   * @param toError - Makes the error to fail with. Default: what the operation, or its deadline, failed with.
   */
  #bounded<T>(operation: () => Promise<T>, toError = (cause: unknown): unknown => cause): Promise<T> {
    return new Promise((resolve, reject) => {
      let deadline: Deadline | undefined
      const fail = (cause: unknown): void => {
        deadline?.cancel()
        reject(toError(cause))
      }
      const succeed = (value: T): void => {
        deadline?.cancel()
        // A store in JavaScript may have `null` for nothing.
        resolve(value ?? (undefined as T))
      }
      try {
        // It may return something other than a promise.
        Promise.resolve(operation()).then(succeed, fail)
      } catch (thrown) {
        fail(thrown)
        return
      }
      deadline = this.#deadlines.set(this.#timeoutMs, (failure) => fail(failure ?? tookTooLong(this.#timeoutMs)))
    })
  }
}

function tookTooLong(timeoutMs: number): LimitExceededError {
  return new LimitExceededError({ limit: 'storeTimeoutMs', value: timeoutMs, problem: 'A store operation' })
}

/** Throws the error of a write that took no effect, or of which nobody can know it. */
function refuseOther(write: Write, verdict: Verdict, cause: unknown): void {
  if (verdict === 'unknown') throw outcomeUnknown(write, cause)
  if (verdict === 'conflict') throw new SessionConflictError({ sessionId: write.sessionId, cause })
}

/** The revision in whatever a store returned; `undefined` where it has none that can be read. */
export function revisionOf(stored: unknown): string | undefined {
  const { revision } = Object(stored) as { revision?: unknown }
  return typeof revision === 'string' && revision !== '' ? revision : undefined
}

function asStoreError(
  operation: SessionStoreError['operation'],
  sessionId: string | undefined,
  cause: unknown,
): FlowError {
  if (isSessionConflict(cause)) return cause as FlowError
  if (FlowError.isInstance(cause) && cause.code === 'SESSION_STORE_ERROR') return cause
  return new SessionStoreError({ operation, sessionId, cause })
}

function outcomeUnknown({ operation, sessionId }: Write, cause: unknown): SessionStoreError {
  return new OutcomeUnknownError({ operation, sessionId, detail: 'Whether it took effect is unknown.', cause })
}

/**
 * Whether the document that was found shows that the write of `own` took effect: it is `own`, or a later one that was
 * made from it. The next turns may have been stored before the read-back; then the history contains the turn of this
 * write, unless the oldest turns were removed since.
 */
function judgeTurn(found: Exclude<Found, 'missing'>, own: SessionDocument, addsTurn: boolean): Verdict {
  // Another release, or a process with another key, has written since: it may have gone on from this write.
  if (found === 'unreadable') return 'unknown'
  if (found.revision === own.revision) return 'done'
  // A write without a turn of its own leaves no trace in the history.
  const turn = addsTurn ? own.history.at(-1) : undefined
  const { history } = Object(found.stored) as { readonly history?: unknown }
  if (turn === undefined || !Array.isArray(history) || history.length === 0) return 'conflict'
  const entries = history as readonly (Partial<SessionHistoryEntry> | null)[]
  const first = entries[0]?.turn
  if (typeof first === 'number' && first > turn.turn) return 'unknown'
  return entries.some((entry) => entry?.turn === turn.turn && entry.id === turn.id) ? 'done' : 'conflict'
}
