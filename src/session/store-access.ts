/**
 * The engine's access to its store. Every operation has a deadline, and every failure becomes a session error. If a
 * connection breaks between request and reply, a write fails for the caller although the document was stored. So after
 * a doubtful failure the document is read back to find out whether the write took effect.
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

/** The most attempts for one write; also how many times `storeTimeoutMs` the whole write may take. */
export const writeAttempts = 3

/**
 * How many times `storeTimeoutMs` a turn may need after its deadline: a commit that began just before it, a load and a
 * second commit over a summary, the save of its failure, and a load that looks for the answer after a conflict.
 */
export const operationsAfterDeadline: number = writeAttempts + 1 + writeAttempts + writeAttempts + 1

/** No document has this revision: a delete that expects it removes nothing, and leaves its mark. */
const noRevision = '0-none'

/** What a read-back found: a document, with its revision if that can be read, or nothing. */
type Found = { readonly revision: string | undefined; readonly stored?: unknown } | 'missing' | 'unreadable'

/** The result of a read-back: the write took effect, it can be repeated, another write won, or it is unknown. */
type Verdict = 'done' | 'again' | 'conflict' | 'unknown'

/** One write, and how a read-back is judged. */
interface Write {
  readonly operation: 'create' | 'save' | 'delete'
  readonly sessionId: string
  readonly holder: LockHolder | undefined
  attempt(): Promise<void>
  judge(found: Found): Verdict
}

export interface StoreAccessOptions {
  readonly store: SessionStore
  readonly clock: Clock
  /** The deadline of one operation, in milliseconds. A write with its read-backs has three times as long. */
  readonly storeTimeoutMs: number
  /** The engine's deadlines. Default: new ones on the same clock. */
  readonly deadlines?: Deadlines
  /** Default: none. */
  readonly watch?: StoreWatch
}

/** Receives the duration of each store operation. */
export interface StoreWatch {
  /** Whether {@link report} has a receiver. */
  isWatched(): boolean
  /** Called when an operation has settled, for a write after its read-backs. Errors that it throws are ignored. */
  report(operation: StoreOperation): void
}

/** One store operation that has settled. */
export interface StoreOperation {
  readonly operation: 'load' | 'create' | 'save' | 'delete' | 'claim' | 'list'
  /** Empty for a `list`. */
  readonly sessionId: string
  readonly durationMs: number
  /** The turn that the operation belongs to, if any. */
  readonly turnId: string | undefined
  /** The error of a failure; `undefined` for a success. */
  readonly error: unknown
}

/** What is known about a document that is written. */
interface WriteOptions {
  /** `hint` and `stateBytes` are passed to the store: see {@link SessionStore.save}. */
  readonly hint?: SessionSaveHint | undefined
  readonly stateBytes?: number | undefined
  /** Whether the last entry of `history` is new: its ID then shows whether the write took effect. Default `false`. */
  readonly addsTurn?: boolean
  /** The holder of the session's lock. If the lock is taken from it, the store is not called any more. */
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

  /** The stored document, checked; `undefined` if there is none. */
  async load(sessionId: string): Promise<SessionDocument | undefined> {
    const stored = await this.loadUnchecked(sessionId)
    return stored === undefined ? undefined : decodeSession(stored, sessionId)
  }

  /**
   * The stored data, unchecked; `undefined` if there is none.
   *
   * @param caller - See {@link SessionStore.load}. If the session belongs to another owner, only `owner` may be read.
   * @param turnId - The turn that loads, for {@link StoreWatch}.
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

  /** As {@link StoreAccess.loadUnchecked}; a store with `summary` returns what that returns. */
  summaryUnchecked(sessionId: string, caller?: { readonly owner?: string | undefined }): Promise<unknown> {
    const { store } = this
    if (store.summary === undefined) return this.loadUnchecked(sessionId, caller)
    const read = (): Promise<unknown> =>
      this.#bounded<unknown>(
        () => (store as Required<SessionStore>).summary(sessionId, caller),
        (cause) => asStoreError('load', sessionId, cause),
      )
    return this.#watched('load', sessionId, undefined, read)
  }

  /**
   * Writes a document: creates it (`expectedRevision` undefined) or swaps it in.
   *
   * @throws {@link SessionConflictError} if another document is stored, or if none is stored although one was expected.
   * @throws {@link SessionStoreError} if the store failed: an {@link OutcomeUnknownError} if it is unknown whether the
   * write took effect.
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
   * Removes a document.
   *
   * @param expectedRevision - `undefined` removes any revision, for a document whose revision cannot be read.
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

  /**
   * Leaves the mark of a deleted session under an ID that has no session, if the store leaves marks.
   *
   * @throws {@link SessionConflictError} if a session is stored there by now
   */
  async markDeleted(sessionId: string, holder?: LockHolder): Promise<void> {
    if (!this.canClaim) return
    await this.#write({
      operation: 'delete',
      sessionId,
      holder,
      attempt: () => this.store.delete(sessionId, noRevision),
      // Without a session it is not known whether the mark is there.
      judge: (found) => (found === 'missing' ? 'again' : 'conflict'),
    })
  }

  /** Whether the store implements claims. */
  get canClaim(): boolean {
    return this.store.claim !== undefined
  }

  /**
   * The session ID that is stored under `key`: the ID of an earlier claim, or this one. Requires {@link canClaim}.
   *
   * @throws {@link SessionStoreError} if the store failed, or returned something other than a session ID. It is then
   * unknown whether it stored this one; the claim can be repeated.
   */
  claim(key: string, sessionId: string, ttlMs: number): Promise<string> {
    return this.#watched('claim', sessionId, undefined, () => this.#claim(key, sessionId, ttlMs))
  }

  /**
   * Whether the session of a claim was deleted since. Always `false` for a store that leaves no marks.
   *
   * @throws {@link SessionStoreError} if the store failed
   */
  isDeleted(sessionId: string): Promise<boolean> {
    return this.#watched('claim', sessionId, undefined, () => this.#isDeleted(sessionId))
  }

  async #isDeleted(sessionId: string): Promise<boolean> {
    try {
      return await this.#bounded(async () => (await this.store.isDeleted?.(sessionId)) === true)
    } catch (cause) {
      throw new SessionStoreError({ operation: 'claim', sessionId, cause })
    }
  }

  async #claim(key: string, sessionId: string, ttlMs: number): Promise<string> {
    try {
      const kept: unknown = await this.#bounded(() =>
        (this.store as Required<SessionStore>).claim(key, sessionId, ttlMs),
      )
      if (typeof kept === 'string' && isSessionId(kept)) return kept
      throw new TypeError("The store's claim returned something other than a session ID.")
    } catch (cause) {
      // Also for a conflict: a claim cannot have one.
      throw new SessionStoreError({ operation: 'claim', sessionId, cause })
    }
  }

  /** Whether the store can list sessions. */
  get canList(): boolean {
    return this.store.list !== undefined
  }

  /**
   * One page of the stored sessions. Requires {@link canList}.
   *
   * @throws {@link SessionStoreError} if the store failed, or returned something other than a page;
   * `InvalidInputError` for a cursor that this store did not make.
   */
  list(query: SessionListQuery): Promise<SessionPage> {
    return this.#watched('list', '', undefined, () => this.#list(query))
  }

  async #list(query: SessionListQuery): Promise<SessionPage> {
    try {
      const page: unknown = await this.#bounded(() => (this.store as Required<SessionStore>).list(query))
      if (isPage(page)) return page
      throw new TypeError("The store's list returned something other than sessions and a cursor.")
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

  /** Runs an operation and reports it. Without a receiver, nothing is added to the operation. */
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
        // An error in the receiver must not change the operation's result.
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
    // Asking the holder for its turn costs more than the rest, so it is done only if there is a receiver.
    if (this.#watch?.isWatched() !== true) return this.#attemptWrite(write)
    return this.#watched(operation, sessionId, holder?.waitOf().turnId, () => this.#attemptWrite(write))
  }

  /** Attempts a write. If it is unclear whether it took effect, {@link #settle} finds out. */
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

  /** Reads back what is stored, and repeats the write if it did not take effect. One deadline covers all of it. */
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

  /** @param state - Once it is over, the store must not be called any more: the caller already has its answer. */
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
        // A conflict is read back too: it may come from the write of the attempt before.
        cause = error
      }
    }
  }

  /** Reads back what is stored, and decides whether the write took effect. */
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
      // The store has data under this ID that it cannot read.
      if (isSessionConflict(error)) return 'unreadable'
      throw error
    }
  }

  /**
   * Runs one operation under its deadline. A later result is ignored.
   *
   * @param toError - Makes the error to reject with. Default: the error of the operation or of its deadline.
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
        // A store written in JavaScript may return `null` for nothing.
        resolve(value ?? (undefined as T))
      }
      try {
        // The operation may return something other than a promise.
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

/** Throws the error of a write that lost to another write, or whose outcome is unknown. */
function refuseOther(write: Write, verdict: Verdict, cause: unknown): void {
  if (verdict === 'unknown') throw outcomeUnknown(write, cause)
  if (verdict === 'conflict') throw new SessionConflictError({ sessionId: write.sessionId, cause })
}

/** The revision in what a store returned; `undefined` if it has no readable one. */
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
 * Whether the document that was found shows that the write of `own` took effect: it is `own`, or a later document that
 * continues it. Later turns may have been stored before the read-back; the history then contains the turn of this
 * write, unless the oldest turns were removed since.
 */
function judgeTurn(found: Exclude<Found, 'missing'>, own: SessionDocument, addsTurn: boolean): Verdict {
  // Another release, or a process with another key, has written since. It may have continued from this write.
  if (found === 'unreadable') return 'unknown'
  if (found.revision === own.revision) return 'done'
  // A write that adds no turn leaves no trace in the history.
  const turn = addsTurn ? own.history.at(-1) : undefined
  const { history } = Object(found.stored) as { readonly history?: unknown }
  if (turn === undefined || !Array.isArray(history) || history.length === 0) return 'conflict'
  const entries = history as readonly (Partial<SessionHistoryEntry> | null)[]
  const first = entries[0]?.turn
  if (typeof first === 'number' && first > turn.turn) return 'unknown'
  return entries.some((entry) => entry?.turn === turn.turn && entry.id === turn.id) ? 'done' : 'conflict'
}
