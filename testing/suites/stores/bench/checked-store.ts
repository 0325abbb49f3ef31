/**
 * A store with expectations: each method does one operation and fails the case, in words, if the result is not the
 * expected one.
 */
import type {
  SessionDocument,
  SessionListQuery,
  SessionSaveHint,
  SessionStore,
  SessionSummary,
} from '../../../../src/index.js'
import { describeOutcome, fail, type Outcome, outcomeOf } from '../../cases/failure.js'
import { findDifference, inShort, throughJson } from '../../cases/same-json.js'
import type { SuiteCalls } from './suite-calls.js'

/** A listing that has not ended after so many pages goes in circles. */
const mostPages = 10_000

/** A {@link SessionStore} under test. */
export class CheckedStore {
  /** The store itself. */
  readonly store: SessionStore
  readonly #calls: SuiteCalls

  constructor(store: SessionStore, calls: SuiteCalls) {
    this.store = store
    this.#calls = calls
  }

  /** Expects nothing. */
  tryLoad(sessionId: string): Promise<Outcome> {
    return this.#attempt(describeLoad(sessionId), () => this.store.load(sessionId))
  }

  /** Expects nothing. */
  trySummary(sessionId: string, caller?: { readonly owner?: string }): Promise<Outcome> {
    const call = `summary(${inShort(sessionId)})`
    return this.#attempt(call, () => (this.store as Required<SessionStore>).summary(sessionId, caller))
  }

  /** Expects nothing. */
  tryCreate(document: SessionDocument): Promise<Outcome> {
    return this.#attempt(describeCreate(document), () => this.store.create(document))
  }

  /** Expects nothing. */
  trySave(document: SessionDocument, expectedRevision: string, hint?: SessionSaveHint): Promise<Outcome> {
    return this.#attempt(describeSave(document, expectedRevision, hint), () =>
      // Without a hint the argument is not passed either: a store may count its arguments.
      hint === undefined
        ? this.store.save(document, expectedRevision)
        : this.store.save(document, expectedRevision, hint),
    )
  }

  /** Expects nothing. */
  tryDelete(sessionId: string, expectedRevision?: string): Promise<Outcome> {
    return this.#attempt(describeDelete(sessionId, expectedRevision), () =>
      expectedRevision === undefined ? this.store.delete(sessionId) : this.store.delete(sessionId, expectedRevision),
    )
  }

  /** Expects nothing. */
  tryClaim(key: string, sessionId: string, ttlMs: number): Promise<Outcome> {
    return this.#attempt(describeClaim(key, sessionId), () =>
      (this.store as Required<SessionStore>).claim(key, sessionId, ttlMs),
    )
  }

  /** Expects nothing. */
  tryIsDeleted(sessionId: string): Promise<Outcome> {
    return this.#attempt(describeIsDeleted(sessionId), () =>
      (this.store as Required<SessionStore>).isDeleted(sessionId),
    )
  }

  /** Expects nothing. */
  tryLease(sessionId: string, ttlMs: number, signal: AbortSignal): Promise<Outcome> {
    return this.#attempt(describeLease(sessionId), () =>
      (this.store as Required<SessionStore>).lease(sessionId, ttlMs, signal),
    )
  }

  /** Expects nothing. */
  tryList(query: SessionListQuery): Promise<Outcome> {
    return this.#attempt(describeList(query), () => (this.store as Required<SessionStore>).list(query))
  }

  /** Expects nothing. */
  tryClose(): Promise<Outcome> {
    return this.#attempt('close()', () => this.store.close())
  }

  /** Expects success. */
  async create(document: SessionDocument): Promise<void> {
    expectDone(describeCreate(document), await this.tryCreate(document))
  }

  /** Expects success. */
  async save(document: SessionDocument, expectedRevision: string, hint?: SessionSaveHint): Promise<void> {
    const outcome = await this.trySave(document, expectedRevision, hint)
    expectDone(describeSave(document, expectedRevision, hint), outcome)
  }

  /** Expects success. */
  async delete(sessionId: string, expectedRevision?: string): Promise<void> {
    expectDone(describeDelete(sessionId, expectedRevision), await this.tryDelete(sessionId, expectedRevision))
  }

  /** Expects that `kept` is the ID under the key. */
  async claims(key: string, sessionId: string, ttlMs: number, kept: string): Promise<void> {
    const call = describeClaim(key, sessionId)
    const outcome = await this.tryClaim(key, sessionId, ttlMs)
    expectDone(call, outcome)
    if (outcome.value !== kept) fail(`${call} to give ${inShort(kept)}`, inShort(outcome.value))
  }

  /** Expects this answer. */
  async saysDeleted(sessionId: string, expected: boolean): Promise<void> {
    const call = describeIsDeleted(sessionId)
    const outcome = await this.tryIsDeleted(sessionId)
    expectDone(call, outcome)
    if (outcome.value !== expected) fail(`${call} to give ${expected}`, inShort(outcome.value))
  }

  /**
   * Creates a session under the ID of one that is gone, and returns `true`. If a delete has left its mark under the ID,
   * expects a conflict, and returns `false`.
   */
  async recreates(document: SessionDocument): Promise<boolean> {
    const isMarked = (await this.store.isDeleted?.(document.id)) === true
    if (isMarked) expectConflict(describeCreate(document), await this.tryCreate(document))
    else await this.create(document)
    return !isMarked
  }

  /** Expects a lease. */
  async takesLease(sessionId: string, ttlMs: number, signal: AbortSignal): Promise<() => Promise<void>> {
    const call = describeLease(sessionId)
    const outcome = await this.tryLease(sessionId, ttlMs, signal)
    expectDone(call, outcome)
    const { value } = outcome
    if (typeof value !== 'function') fail(`${call} to give a function`, inShort(value))
    return value as () => Promise<void>
  }

  /** Expects a page with at most as many sessions as the limit. */
  async lists(query: SessionListQuery): Promise<{ sessions: readonly SessionSummary[]; cursor?: string }> {
    const call = describeList(query)
    const outcome = await this.tryList(query)
    expectDone(call, outcome)
    const { sessions, cursor } = Object(outcome.value) as { sessions?: unknown; cursor?: unknown }
    if (!Array.isArray(sessions) || sessions.length > query.limit) {
      fail(`${call} to give at most ${query.limit} sessions`, inShort(outcome.value))
    }
    if (cursor === undefined) return { sessions: sessions as SessionSummary[] }
    if (typeof cursor === 'string' && cursor !== '') return { sessions: sessions as SessionSummary[], cursor }
    return fail(`${call} to give a cursor that is a text, or none`, inShort(cursor))
  }

  /**
   * Expects pages, and returns the sessions of all.
   *
   * @param between - Called after each page but the last, with its sessions.
   */
  async listsAll(
    query: Partial<SessionListQuery>,
    between: (page: readonly SessionSummary[]) => Promise<void> = async () => undefined,
  ): Promise<SessionSummary[]> {
    const all: SessionSummary[] = []
    let { cursor } = query
    for (let pages = 0; pages < mostPages; pages++) {
      const page = await this.lists({ limit: 100, ...query, ...(cursor === undefined ? {} : { cursor }) })
      all.push(...page.sessions)
      cursor = page.cursor
      if (cursor === undefined) return all
      await between(page.sessions)
    }
    return fail(`${describeList({ limit: 100, ...query })} to end`, `${mostPages} pages`)
  }

  /** Expects success. */
  async close(): Promise<void> {
    expectDone('close()', await this.tryClose())
  }

  /** Expects a document. */
  async load(sessionId: string): Promise<SessionDocument> {
    const call = describeLoad(sessionId)
    const outcome = await this.tryLoad(sessionId)
    expectDone(call, outcome)
    const { value } = outcome
    if (typeof value === 'object' && value !== null) return value as SessionDocument
    return fail(`${call} to give the stored document`, inShort(value))
  }

  /** Expects a conflict. */
  async refusesCreate(document: SessionDocument): Promise<void> {
    expectConflict(describeCreate(document), await this.tryCreate(document))
  }

  /** Expects a conflict. */
  async refusesSave(document: SessionDocument, expectedRevision: string, hint?: SessionSaveHint): Promise<void> {
    const outcome = await this.trySave(document, expectedRevision, hint)
    expectConflict(describeSave(document, expectedRevision, hint), outcome)
  }

  /** Expects a conflict. */
  async refusesDelete(sessionId: string, expectedRevision: string): Promise<void> {
    expectConflict(describeDelete(sessionId, expectedRevision), await this.tryDelete(sessionId, expectedRevision))
  }

  /** Expects `document` to be stored, as JSON carries it: nothing more, nothing less, nothing else. */
  async holds(document: SessionDocument): Promise<void> {
    const difference = findDifference(await this.load(document.id), throughJson(document))
    if (difference !== undefined)
      fail(`${describeLoad(document.id)} to give what was stored last`, `it but ${difference}`)
  }

  /** Expects that nothing is stored. */
  async holdsNothing(sessionId: string): Promise<void> {
    const call = describeLoad(sessionId)
    const outcome = await this.tryLoad(sessionId)
    expectDone(call, outcome)
    if (outcome.value !== undefined)
      fail(`${call} to give undefined, because nothing is stored`, inShort(outcome.value))
  }

  #attempt(call: string, operation: () => Promise<unknown>): Promise<Outcome> {
    return this.#calls.follow(call, () => outcomeOf(operation))
  }
}

function expectDone(call: string, outcome: Outcome): asserts outcome is Extract<Outcome, { kind: 'done' }> {
  if (outcome.kind !== 'done') fail(`${call} to succeed`, describeOutcome(outcome))
}

function expectConflict(call: string, outcome: Outcome): void {
  if (outcome.kind !== 'conflict') fail(`${call} to reject with the code SESSION_CONFLICT`, describeOutcome(outcome))
}

function describeLoad(sessionId: string): string {
  return `load(${inShort(sessionId)})`
}

function describeCreate({ id, revision }: SessionDocument): string {
  return `create(${inShort(id)} at ${inShort(revision)})`
}

function describeSave({ id, revision }: SessionDocument, expectedRevision: string, hint?: SessionSaveHint): string {
  const hinted = hint === undefined ? '' : `, hint ${inShort(hint)}`
  return `save(${inShort(id)} at ${inShort(revision)}, expecting ${inShort(expectedRevision)}${hinted})`
}

function describeClaim(key: string, sessionId: string): string {
  return `claim(${inShort(key)}, ${inShort(sessionId)})`
}

function describeIsDeleted(sessionId: string): string {
  return `isDeleted(${inShort(sessionId)})`
}

function describeList(query: SessionListQuery): string {
  return `list(${inShort(query)})`
}

function describeLease(sessionId: string): string {
  return `lease(${inShort(sessionId)})`
}

function describeDelete(sessionId: string, expectedRevision: string | undefined): string {
  return `delete(${inShort(sessionId)}${expectedRevision === undefined ? '' : `, expecting ${inShort(expectedRevision)}`})`
}
