import { describe, expect, test } from 'vitest'
import {
  type Bench,
  bench,
  documentOf,
  errorOf,
  historyEntry,
  revisions,
  storeTimeout,
} from '../../testing/contract/session-bench.js'
import type { FlowError } from '../errors/flow-error.js'
import { isOutcomeUnknown, SessionConflictError, SessionFlowInvariantError } from '../errors/session-errors.js'
import { MemorySessionStore } from '../stores/memory/memory-store.js'
import type { SessionDocument } from './session-document.js'
import { StoreAccess } from './store-access.js'

const always = Number.POSITIVE_INFINITY

/** A write over '1-a', or the creation of a new document: the same protocol. */
const writes = [
  { operation: 'create', before: undefined, own: '1-own' },
  { operation: 'save', before: '1-a', own: '2-own' },
] as const

describe.each(writes)('write: $operation', ({ operation, before, own }) => {
  const write = ({ access }: Bench): Promise<void> => access.write(documentOf('s-1', own), before)

  test('makes one call if it succeeds', async () => {
    const place = await bench(before)
    await write(place)
    expect(place.store.operations).toEqual([operation])
    expect(await revisions(place.inner, 's-1')).toEqual([own])
    expect(place.clock.pending).toBe(0)
  })

  test('[4.8-5] of two engines that write over one revision, one wins and the other gets a conflict at once', async () => {
    const place = await bench(before)
    const other = new StoreAccess({
      store: new MemorySessionStore({ backing: place.inner.backing }),
      clock: place.clock,
      storeTimeoutMs: storeTimeout,
    })
    await other.write(documentOf('s-1', '9-other'), before)
    const error = await errorOf(write(place))
    expect(error).toBeInstanceOf(SessionConflictError)
    expect(error.message).toBe("Session 's-1' was changed or deleted by another request.")
    expect(place.store.operations).toEqual([operation])
    expect(await revisions(place.inner, 's-1')).toEqual(['9-other'])
  })

  test('that failed but took effect is read back and succeeds', async () => {
    const place = await bench(before)
    place.store.failNext(operation, { after: true })
    await write(place)
    expect(place.store.operations).toEqual([operation, 'load'])
    expect(await revisions(place.inner, 's-1')).toEqual([own])
    expect(place.clock.pending).toBe(0)
  })

  test('that failed without effect is tried again', async () => {
    const place = await bench(before)
    place.store.failNext(operation)
    await write(place)
    expect(place.store.operations).toEqual([operation, 'load', operation])
    expect(await revisions(place.inner, 's-1')).toEqual([own])
    const [first, , second] = place.store.journal
    expect([second?.revision, second?.expectedRevision]).toEqual([first?.revision, first?.expectedRevision])
  })

  test('that takes effect on its second attempt succeeds', async () => {
    const place = await bench(before)
    place.store.failNext(operation)
    place.store.failNext(operation, { after: true })
    await write(place)
    expect(place.store.operations).toEqual([operation, 'load', operation, 'load'])
  })

  test('is tried three times at most; then it is known that nothing was stored', async () => {
    const place = await bench(before)
    const cause = new Error('disk full')
    place.store.failNext(operation, { times: always, error: cause })
    const error = await errorOf(write(place))
    expect(place.store.operations).toEqual([operation, 'load', operation, 'load', operation, 'load'])
    expect(error).toMatchObject({ code: 'SESSION_STORE_ERROR', operation, sessionId: 's-1' })
    expect(error.message).toBe(`Session store failed to ${operation} session 's-1'.`)
    expect(error.cause).toBe(cause)
    expect(isOutcomeUnknown(error)).toBe(false)
    expect(await revisions(place.inner, 's-1')).toEqual([before])
  })

  test('that failed and finds another revision is a conflict; the other document stays', async () => {
    const place = await bench('7-other')
    const cause = new Error('connection lost')
    place.store.failNext(operation, { error: cause })
    const error = await errorOf(write(place))
    expect(error.code).toBe('SESSION_CONFLICT')
    expect(error.cause).toBe(cause)
    expect(place.store.operations).toEqual([operation, 'load'])
    expect(await revisions(place.inner, 's-1')).toEqual(['7-other'])
  })

  test.each<[string, unknown]>([
    ['a document without a readable token', { id: 's-1' }],
    ['a document without a history', { id: 's-1', revision: '9-other' }],
    ['a document whose history has no entries', { id: 's-1', revision: '9-other', history: [null, 5, {}] }],
    [
      'a document whose turns are numbered with texts',
      { id: 's-1', revision: '9-other', history: [{ turn: '9', id: 'turn-9' }] },
    ],
    ['a document whose history is not a list', { id: 's-1', revision: '9-other', history: 'lost' }],
    ['something that is not a document', 'lost'],
  ])('that failed and finds %s is a conflict', async (_name, stored) => {
    const { access, store } = await bench(before)
    store.failNext(operation)
    store.answerNext(stored)
    const writing = access.write(documentOf('s-1', own), before, { hint: { appended: { history: 1 } }, addsTurn: true })
    expect((await errorOf(writing)).code).toBe('SESSION_CONFLICT')
  })

  test('that failed and finds an unreadable document has an unknown outcome', async () => {
    const { access, store } = await bench(before)
    store.failNext(operation)
    store.failNext('load', { error: new SessionFlowInvariantError({ sessionId: 's-1', problem: 'it is cut off' }) })
    const error = await errorOf(access.write(documentOf('s-1', own), before))
    expect([error.code, isOutcomeUnknown(error)]).toEqual(['SESSION_STORE_ERROR', true])
  })

  /** A history of turns with these IDs, all with the same message, reply and time. */
  const turns = (first: number, ...ids: readonly (string | undefined)[]): Partial<SessionDocument> => ({
    turns: first + ids.length - 1,
    history: ids.map((id, index) => {
      const { id: _id, ...entry } = historyEntry(first + index, 'The same.')
      return id === undefined ? entry : { ...entry, id }
    }),
  })

  test.each<[string, Partial<SessionDocument>, string]>([
    ['goes on from its turn', turns(1, 'a', 'own', 'c'), 'done'],
    ['has another turn in its place, with the same texts', turns(1, 'a', 'other', 'c'), 'SESSION_CONFLICT'],
    ['has a turn without an ID in its place', turns(1, 'a', undefined), 'SESSION_CONFLICT'],
    ['ends with its turn, saved anew by another', turns(1, 'a', 'own'), 'done'],
    ['begins with its turn', turns(2, 'own', 'c'), 'done'],
    ['begins with another turn in its place', turns(2, 'other', 'c'), 'SESSION_CONFLICT'],
    ['has its ID at another number', turns(1, 'a', 'b', 'own'), 'SESSION_CONFLICT'],
    ['is shorter', turns(1, 'a'), 'SESSION_CONFLICT'],
    ['has no turns', turns(1), 'SESSION_CONFLICT'],
    ['begins after its turn', turns(3, 'c', 'd'), 'unknown'],
  ])('that adds a turn, failed, and finds a document that %s', async (_name, found, expected) => {
    const place = await bench()
    await place.inner.create(documentOf('s-1', '9-other', found))
    place.store.failNext(operation)
    const document = documentOf('s-1', own, turns(1, 'a', 'own'))
    const outcome = await place.access
      .write(document, before, { hint: { appended: { history: 1 } }, addsTurn: true })
      .then(
        () => 'done',
        (error: FlowError) => (isOutcomeUnknown(error) ? 'unknown' : error.code),
      )
    expect(outcome).toBe(expected)
    expect(place.store.operations).toEqual([operation, 'load'])
    expect(await revisions(place.inner, 's-1')).toEqual(['9-other'])
  })

  test('that failed and cannot be read back has an unknown outcome', async () => {
    const place = await bench(before)
    const cause = new Error('still down')
    place.store.failNext(operation, { after: true })
    place.store.failNext('load', { error: cause })
    const error = await errorOf(write(place))
    expect(error).toMatchObject({ code: 'SESSION_STORE_ERROR', name: 'SessionStoreError', operation, sessionId: 's-1' })
    expect(error.message).toBe(`Session store failed to ${operation} session 's-1'. Whether it took effect is unknown.`)
    expect(error.cause).toBe(cause)
    expect(isOutcomeUnknown(error)).toBe(true)
    expect(place.store.operations).toEqual([operation, 'load'])
  })

  test('a conflict on a later attempt is read back first, because it may come from its own earlier attempt', async () => {
    const place = await bench(before)
    place.store.failNext(operation)
    // The first attempt took effect after it was read back. This store does not recognise its revision.
    place.store.failNext(operation, { after: true, error: new SessionConflictError({ sessionId: 's-1' }) })
    await write(place)
    expect(place.store.operations).toEqual([operation, 'load', operation, 'load'])
  })

  test('a conflict on a later attempt that finds another revision is a conflict', async () => {
    const place = await bench(before)
    place.store.failNext(operation)
    place.store.delayNext(operation, 1)
    const failing = errorOf(write(place))
    await place.clock.settle()
    expect(place.store.operations).toEqual([operation, 'load', operation])
    const stored = await place.inner.load('s-1')
    if (stored === undefined) await place.inner.create(documentOf('s-1', '1-other'))
    else await place.inner.save(documentOf('s-1', '1-other'), stored.revision)
    await place.clock.advance(1)
    expect((await failing).code).toBe('SESSION_CONFLICT')
    expect(place.store.operations).toEqual([operation, 'load', operation, 'load'])
    expect(await revisions(place.inner, 's-1')).toEqual(['1-other'])
  })

  test("a store's false conflicts are accepted after three attempts", async () => {
    const conflict = new SessionConflictError({ sessionId: 's-1' })
    const place = await bench(before)
    place.store.failNext(operation)
    place.store.failNext(operation, { times: always, error: conflict })
    expect(await errorOf(write(place))).toBe(conflict)
    expect(place.store.operations).toEqual([operation, 'load', operation, 'load', operation, 'load'])
  })

  test('a store that throws instead of rejecting is read back like any other', async () => {
    const place = await bench(before)
    place.store.failNext(operation, { atOnce: true })
    await write(place)
    expect(place.store.operations).toEqual([operation, 'load', operation])
  })
})

describe('write', () => {
  test('a save that adds no turn is not considered done if another writer continued the same document', async () => {
    const place = await bench('1-a')
    const { history } = documentOf('s-1', '1-a')
    await place.inner.save(documentOf('s-1', '2-other', { history: [...history, historyEntry(2, 'Booked.')] }), '1-a')
    place.store.failNext('save')
    const aborted = documentOf('s-1', '2-own', { runStatus: 'aborted' })
    expect((await errorOf(place.access.write(aborted, '1-a'))).code).toBe('SESSION_CONFLICT')
    expect(await revisions(place.inner, 's-1')).toEqual(['2-other'])
  })

  test('a save whose document is gone is a conflict, at once or read back', async () => {
    const place = await bench()
    expect((await errorOf(place.access.write(documentOf('s-1', '2-own'), '1-a'))).code).toBe('SESSION_CONFLICT')
    place.store.failNext('save')
    expect((await errorOf(place.access.write(documentOf('s-1', '2-own'), '1-a'))).code).toBe('SESSION_CONFLICT')
    expect(place.store.operations).toEqual(['save', 'save', 'load'])
    expect(await revisions(place.inner, 's-1')).toEqual([undefined])
  })

  test('of a long session is done if the document that is found continues its last turn', async () => {
    const place = await bench()
    const history = [1, 2, 3, 4].map((turn) => historyEntry(turn, 'Booked.'))
    await place.inner.create(documentOf('s-1', '9-later', { history }))
    place.store.failNext('save')
    const own = documentOf('s-1', '3-own', { history: history.slice(0, 3) })
    await place.access.write(own, '2-a', { hint: { appended: { history: 1 } }, addsTurn: true })
    place.store.failNext('save')
    const lost = documentOf('s-1', '3-own', {
      history: [...history.slice(0, 2), { ...historyEntry(3, 'Lost.'), id: 'x' }],
    })
    const error = await errorOf(place.access.write(lost, '2-a', { hint: { appended: { history: 1 } }, addsTurn: true }))
    expect(error.code).toBe('SESSION_CONFLICT')
    expect(await revisions(place.inner, 's-1')).toEqual(['9-later'])
  })

  test('that failed is tried again if the store returns null for nothing', async () => {
    const { access, store, inner } = await bench()
    store.failNext('create')
    store.answerNext(null)
    await access.write(documentOf('s-1', '1-own'), undefined)
    expect(store.operations).toEqual(['create', 'load', 'create'])
    expect(await revisions(inner, 's-1')).toEqual(['1-own'])
  })

  test('passes the hint to the store on every attempt', async () => {
    const { access, store } = await bench('1-a')
    store.failNext('save')
    const hint = { appended: { history: 1 } }
    await access.write(documentOf('s-1', '2-own'), '1-a', { hint })
    store.expectJournal([{ operation: 'save', outcome: 'failed', hint }, 'load', { operation: 'save', hint }])
  })
})
