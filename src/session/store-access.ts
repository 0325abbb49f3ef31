/**
 * The engine's way to its store: every operation under a deadline, every failure as a session error, and the protocol
 * for a write that failed but may have happened. A connection cut between request and reply looks like a failure to
 * the caller, though the write took effect; so after any doubt the document is read back before anything is believed.
 */
import { type Clock, setDeadline } from '../config/clock.js'
import { LimitExceededError } from '../errors/engine-errors.js'
import { FlowError } from '../errors/flow-error.js'
import {
  isSessionConflict,
  OutcomeUnknownError,
  SessionConflictError,
  SessionStoreError,
} from '../errors/session-errors.js'
import { decodeSession } from './session-codec.js'
import type { SessionDocument } from './session-document.js'
import type { SessionSaveHint, SessionStore } from './session-store.js'

/** How often one write is tried, and how many times `storeTimeoutMs` it may take in all. */
export const writeAttempts = 3

/** What a read-back found: a document, with its revision where one can be read, or nothing. */
type Found = { readonly revision: string | undefined; readonly stored?: unknown } | 'missing'

/** What a read-back tells of a write: it happened, it did not, or somebody else's did instead. */
type Verdict = 'done' | 'again' | 'conflict'

/** What {@link StoreAccess} needs. */
export interface StoreAccessOptions {
  readonly store: SessionStore
  readonly clock: Clock
  /** For one operation, in milliseconds; a whole write with its read-backs gets three times as long. */
  readonly storeTimeoutMs: number
}

/** A {@link SessionStore} as the engine uses it. */
export class StoreAccess {
  readonly store: SessionStore
  readonly #clock: Clock
  readonly #timeoutMs: number

  constructor(options: StoreAccessOptions) {
    this.store = options.store
    this.#clock = options.clock
    this.#timeoutMs = options.storeTimeoutMs
  }

  /** The stored document, checked; `undefined` where there is none. */
  async load(sessionId: string): Promise<SessionDocument | undefined> {
    const stored = await this.loadUnchecked(sessionId)
    return stored === undefined ? undefined : decodeSession(stored, sessionId)
  }

  /** Whatever is stored, unchecked; `undefined` where there is nothing. */
  async loadUnchecked(sessionId: string): Promise<unknown> {
    try {
      const stored: unknown = await this.#bounded(() => this.store.load(sessionId))
      return stored ?? undefined
    } catch (cause) {
      throw asStoreError('load', sessionId, cause)
    }
  }

  /**
   * Writes a document: creates it (`expectedRevision` undefined) or swaps it in.
   *
   * @param hint - For the store: see {@link SessionStore.save}.
   * @param addsTurn - Whether the last entry of `history` is new: then the write can be told by it. Default `false`.
   * @param stateBytes - For the store: see {@link SessionStore.save}.
   * @throws {@link SessionConflictError} where somebody else's document is stored, or none that was expected.
   * @throws {@link SessionStoreError} where the store failed; `outcomeUnknown` of it is `true` where the write may have happened.
   */
  write(
    document: SessionDocument,
    expectedRevision: string | undefined,
    hint?: SessionSaveHint,
    addsTurn = false,
    stateBytes?: number,
  ): Promise<void> {
    const { store } = this
    const { id } = document
    if (expectedRevision === undefined) {
      return this.#makeSure(
        'create',
        id,
        () => store.create(document, stateBytes),
        (found) => {
          if (found === 'missing') return 'again'
          return tookEffect(found, document, addsTurn) ? 'done' : 'conflict'
        },
      )
    }
    return this.#makeSure(
      'save',
      id,
      () => store.save(document, expectedRevision, hint, stateBytes),
      (found) => {
        if (found === 'missing') return 'conflict'
        if (found.revision === expectedRevision) return 'again'
        return tookEffect(found, document, addsTurn) ? 'done' : 'conflict'
      },
    )
  }

  /** Removes a document. `expectedRevision` undefined: whatever is stored, for a document whose revision cannot be read. */
  remove(sessionId: string, expectedRevision: string | undefined): Promise<void> {
    return this.#makeSure(
      'delete',
      sessionId,
      () => this.store.delete(sessionId, expectedRevision),
      (found) => {
        if (found === 'missing') return 'done'
        return found.revision === expectedRevision ? 'again' : 'conflict'
      },
    )
  }

  /** Closes the store, within the deadline of one operation. */
  async close(): Promise<void> {
    try {
      await this.#bounded(() => this.store.close())
    } catch (cause) {
      throw asStoreError('close', undefined, cause)
    }
  }

  /** Tries a write, and where that failed in doubt, reads back and tries again what did not happen. */
  async #makeSure(
    operation: 'create' | 'save' | 'delete',
    sessionId: string,
    attempt: () => Promise<void>,
    judge: (found: Found) => Verdict,
  ): Promise<void> {
    const startedAt = this.#clock.now()
    try {
      return await this.#bounded(attempt)
    } catch (error) {
      if (isSessionConflict(error)) throw error
      return this.#settle(operation, sessionId, error, startedAt, attempt, judge)
    }
  }

  async #settle(
    operation: 'create' | 'save' | 'delete',
    sessionId: string,
    firstCause: unknown,
    startedAt: number,
    attempt: () => Promise<void>,
    judge: (found: Found) => Verdict,
  ): Promise<void> {
    const remaining = startedAt + writeAttempts * this.#timeoutMs - this.#clock.now()
    const unknownOutcome = (cause: unknown): SessionStoreError =>
      new OutcomeUnknownError({ operation, sessionId, detail: 'Whether it took effect is unknown.', cause })
    let over = false
    const settle = async (): Promise<void> => {
      let cause = firstCause
      for (let attempts = 1; ; attempts++) {
        // Who waited has its answer: nothing more may be read or written behind its back.
        if (over) return
        let found: Found
        try {
          found = await this.#readBack(sessionId)
        } catch (error) {
          throw unknownOutcome(error)
        }
        const verdict = judge(found)
        if (verdict === 'done' || over) return
        if (verdict === 'conflict') throw new SessionConflictError({ sessionId, cause })
        if (attempts === writeAttempts) throw asStoreError(operation, sessionId, cause)
        try {
          return await this.#bounded(attempt)
        } catch (error) {
          // Also a conflict is read back before it is believed: the earlier attempt may be what it met.
          cause = error
        }
      }
    }
    return new Promise((resolve, reject) => {
      const stopDeadline = setDeadline(this.#clock, Math.max(0, remaining), () => {
        over = true
        reject(unknownOutcome(firstCause))
      })
      settle().then(resolve, reject).finally(stopDeadline)
    })
  }

  async #readBack(sessionId: string): Promise<Found> {
    try {
      const stored: unknown = await this.#bounded(() => this.store.load(sessionId))
      return stored === undefined || stored === null ? 'missing' : { revision: revisionOf(stored), stored }
    } catch (error) {
      // Something is there that the store cannot read.
      if (isSessionConflict(error)) return { revision: undefined }
      throw error
    }
  }

  /** One operation under its deadline. What answers later is not listened to. */
  #bounded<T>(operation: () => Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      let stopDeadline: (() => void) | undefined
      let isSettled = false
      const settle = (): void => {
        isSettled = true
        stopDeadline?.()
      }
      // What throws at once rejects, as all does that is thrown in here.
      Promise.resolve(operation()).then(
        (value) => {
          settle()
          resolve(value)
        },
        (error: unknown) => {
          settle()
          reject(error)
        },
      )
      // A store in memory has answered by then, and needs no timer.
      void Promise.resolve().then(() => {
        if (isSettled) return
        stopDeadline = setDeadline(this.#clock, this.#timeoutMs, () => {
          reject(
            new LimitExceededError({ limit: 'storeTimeoutMs', value: this.#timeoutMs, problem: 'A store operation' }),
          )
        })
      })
    })
  }
}

/** The revision in whatever a store returned, where there is one to read. */
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

/**
 * Whether a document that was found shows that the write of `own` happened: it is `own`, or one that goes on from it. The
 * next turn may have been stored before the read-back; then the turn just written stands in its history.
 */
function tookEffect(found: Exclude<Found, 'missing'>, own: SessionDocument, addsTurn: boolean): boolean {
  if (found.revision === own.revision) return true
  // Only a write that adds a turn can be told by one.
  const turn = addsTurn ? own.history.length : 0
  const { history } = (found.stored ?? {}) as { readonly history?: readonly unknown[] }
  if (turn === 0 || !Array.isArray(history) || history.length < turn) return false
  return JSON.stringify(history[turn - 1]) === JSON.stringify(own.history[turn - 1])
}
