import { describe, expect, test } from 'vitest'
import { bench, documentOf, errorOf, revisions, storeTimeout } from '../../testing/contract/session-bench.js'
import { LimitExceededError } from '../errors/engine-errors.js'
import type { FlowError } from '../errors/flow-error.js'
import {
  isOutcomeUnknown,
  SessionConflictError,
  SessionFlowInvariantError,
  SessionStoreError,
} from '../errors/session-errors.js'
import { isSharedList } from './lists/shared-lists.js'
import { revisionOf } from './store-access.js'

const always = Number.POSITIVE_INFINITY

describe('load', () => {
  test('returns the stored document, checked', async () => {
    const { access } = await bench('1-a')
    const document = await access.load('s-1')
    expect(document).toEqual(documentOf('s-1', '1-a'))
    expect(isSharedList(document?.history ?? [])).toBe(true)
  })

  test('returns undefined if nothing is stored, even if the store returns null', async () => {
    expect(await (await bench()).access.load('s-1')).toBeUndefined()
    const { access, store } = await bench()
    store.answerNext(null)
    expect(await access.load('s-1')).toBeUndefined()
  })

  test('a malformed document is not a missing one', async () => {
    const { access, store } = await bench()
    store.answerNext({ id: 's-1', version: 2 }, { times: 2 })
    const error = await errorOf(access.load('s-1'))
    expect(error.message).toBe("Session 's-1' is malformed: revision is missing and not a string.")
    expect(await access.loadUnchecked('s-1')).toEqual({ id: 's-1', version: 2 })
  })

  test.each([0, '', false])('%j counts as a stored, malformed document', async (value) => {
    const { access, store } = await bench()
    store.answerNext(value)
    expect((await errorOf(access.load('s-1'))).code).toBe('SESSION_FLOW_INVARIANT')
  })

  test('an outage is not a missing session: it is an error that does not expose its cause', async () => {
    const { access, store } = await bench()
    const cause = new Error('connect ECONNREFUSED redis://user:secret@db.internal')
    store.failNext('load', { error: cause })
    const error = await errorOf(access.load('s-1'))
    expect(error).toMatchObject({
      code: 'SESSION_STORE_ERROR',
      statusCode: 500,
      operation: 'load',
      sessionId: 's-1',
      message: "Session store failed to load session 's-1'.",
    })
    expect(error.cause).toBe(cause)
  })

  test.each<[string, unknown]>([
    ['undefined', undefined],
    ['a text', 'broken'],
    ['null', null],
  ])('a store that rejects with %s has failed, too', async (_name, reason) => {
    const { access, store } = await bench()
    store.failNext('load', { error: reason })
    const error = await errorOf(access.load('s-1'))
    expect([error.code, error.cause]).toEqual(['SESSION_STORE_ERROR', reason])
  })

  test('a store that throws instead of rejecting has failed, and leaves no timer', async () => {
    const cause = new Error('broken')
    const { access, store, clock } = await bench()
    store.failNext('load', { atOnce: true, error: cause })
    const error = await errorOf(access.load('s-1'))
    expect([error.code, error.cause]).toEqual(['SESSION_STORE_ERROR', cause])
    expect(clock.pending).toBe(0)
  })

  test.each([
    ['that a document is malformed', new SessionFlowInvariantError({ sessionId: 's-1', problem: 'it is cut off' })],
    ['that it failed', new SessionStoreError({ operation: 'load', sessionId: 's-1', detail: 'No route.' })],
  ])('passes on what a store says in the words of the engine: %s', async (_name, thrown) => {
    const { access, store } = await bench()
    store.failNext('load', { error: thrown })
    expect(await errorOf(access.load('s-1'))).toBe(thrown)
  })

  test('a store that hangs has failed after storeTimeoutMs', async () => {
    const { access, store, clock } = await bench('1-a')
    store.hangNext('load')
    const failing = errorOf(access.load('s-1'))
    await clock.advance(storeTimeout - 1)
    expect(clock.pending).toBe(1)
    await clock.advance(1)
    const error = await failing
    expect(error.message).toBe("Session store failed to load session 's-1'.")
    expect(error.cause).toBeInstanceOf(LimitExceededError)
    expect((error.cause as Error).message).toBe('A store operation exceeds the limit storeTimeoutMs (1000).')
    expect(clock.pending).toBe(0)
  })

  test('a store that answers just in time has not failed, and no timer is left', async () => {
    const { access, store, clock } = await bench('1-a')
    store.delayNext('load', storeTimeout - 1)
    const loading = access.load('s-1')
    await clock.advance(storeTimeout - 1)
    expect((await loading)?.revision).toBe('1-a')
    expect(clock.pending).toBe(0)
  })

  test('with the limit off, waits as long as it takes', async () => {
    const { access, store, clock } = await bench('1-a', Number.POSITIVE_INFINITY)
    store.delayNext('load', 10 ** 8)
    const loading = access.load('s-1')
    await clock.advance(10 ** 8)
    expect((await loading)?.revision).toBe('1-a')
  })
})

describe('remove', () => {
  test('removes the document with the revision', async () => {
    const place = await bench('1-a')
    await place.access.remove('s-1', '1-a')
    expect(place.store.operations).toEqual(['delete'])
    expect(place.store.journal[0]?.expectedRevision).toBe('1-a')
    expect(await revisions(place.inner, 's-1')).toEqual([undefined])
  })

  test('a missing document is not an error', async () => {
    const place = await bench()
    await place.access.remove('s-1', '1-a')
    expect(place.store.operations).toEqual(['delete'])
  })

  test('of a changed document is a conflict; the document stays', async () => {
    const place = await bench('2-b')
    expect((await errorOf(place.access.remove('s-1', '1-a'))).code).toBe('SESSION_CONFLICT')
    expect(place.store.operations).toEqual(['delete'])
    expect(await revisions(place.inner, 's-1')).toEqual(['2-b'])
  })

  test('that failed but took effect is read back and succeeds', async () => {
    const place = await bench('1-a')
    place.store.failNext('delete', { after: true })
    await place.access.remove('s-1', '1-a')
    expect(place.store.operations).toEqual(['delete', 'load'])
  })

  test('that failed without effect is tried again', async () => {
    const place = await bench('1-a')
    place.store.failNext('delete')
    await place.access.remove('s-1', '1-a')
    expect(place.store.operations).toEqual(['delete', 'load', 'delete'])
    expect(await revisions(place.inner, 's-1')).toEqual([undefined])
  })

  test('that failed and finds another revision is a conflict', async () => {
    const place = await bench('2-b')
    place.store.failNext('delete')
    expect((await errorOf(place.access.remove('s-1', '1-a'))).code).toBe('SESSION_CONFLICT')
    expect(place.store.operations).toEqual(['delete', 'load'])
    expect(await revisions(place.inner, 's-1')).toEqual(['2-b'])
  })

  test('is tried three times at most', async () => {
    const place = await bench('1-a')
    place.store.failNext('delete', { times: always })
    const error = await errorOf(place.access.remove('s-1', '1-a'))
    expect(place.store.operations).toEqual(['delete', 'load', 'delete', 'load', 'delete', 'load'])
    expect(error.message).toBe("Session store failed to delete session 's-1'.")
    expect(isOutcomeUnknown(error)).toBe(false)
  })

  test('that failed and cannot be read back has an unknown outcome', async () => {
    const place = await bench('1-a')
    place.store.failNext('delete')
    place.store.failNext('load')
    const error = await errorOf(place.access.remove('s-1', '1-a'))
    expect(error.message).toBe("Session store failed to delete session 's-1'. Whether it took effect is unknown.")
    expect(isOutcomeUnknown(error)).toBe(true)
  })

  test('that hangs is ended, read back and tried again', async () => {
    const place = await bench('1-a')
    place.store.hangNext('delete')
    const removing = place.access.remove('s-1', '1-a')
    await place.clock.advance(storeTimeout)
    await removing
    expect(place.store.operations).toEqual(['delete', 'load', 'delete'])
    expect(place.clock.pending).toBe(0)
  })

  test('without a revision, a document that has none is tried again', async () => {
    const { access, store } = await bench()
    store.answerNext({ id: 's-1' })
    store.failNext('delete')
    await access.remove('s-1', undefined)
    store.expectJournal([{ operation: 'delete', expectedRevision: undefined }, 'load', 'delete'])
  })

  test.each<[string, string | undefined, 'again' | 'conflict']>([
    ['without a revision, is tried again', undefined, 'again'],
    ['with a revision, is a conflict', '1-a', 'conflict'],
  ])('that failed and finds something that the store cannot read: %s', async (_name, revision, expected) => {
    const { access, store } = await bench()
    store.failNext('load', { error: new SessionFlowInvariantError({ sessionId: 's-1', problem: 'it is cut off' }) })
    store.failNext('delete')
    const outcome = await access.remove('s-1', revision).then(
      () => 'done',
      (error: FlowError) => error.code,
    )
    expect(outcome).toBe(expected === 'again' ? 'done' : 'SESSION_CONFLICT')
    store.expectJournal(['delete failed', 'load failed', ...(expected === 'again' ? (['delete'] as const) : [])])
  })

  test('without a revision, a well-formed document that came in between is a conflict', async () => {
    const place = await bench('1-new')
    place.store.failNext('delete')
    expect((await errorOf(place.access.remove('s-1', undefined))).code).toBe('SESSION_CONFLICT')
    expect(await revisions(place.inner, 's-1')).toEqual(['1-new'])
  })
})

describe('close', () => {
  test('closes the store', async () => {
    const place = await bench()
    await place.access.close()
    expect(place.store.operations).toEqual(['close'])
    expect(place.clock.pending).toBe(0)
  })

  test('reports that the store failed', async () => {
    const place = await bench()
    const cause = new Error('busy')
    place.store.failNext('close', { error: cause })
    const error = await errorOf(place.access.close())
    expect(error).toMatchObject({ message: 'Session store failed to close.', operation: 'close', sessionId: undefined })
    expect(error.cause).toBe(cause)
  })

  test('stops waiting for a store that hangs', async () => {
    const place = await bench()
    place.store.hangNext('close')
    const failing = errorOf(place.access.close())
    await place.clock.advance(storeTimeout)
    expect((await failing).message).toBe('Session store failed to close.')
    expect(place.clock.pending).toBe(0)
  })
})

describe('revisionOf', () => {
  test.each<[unknown, string | undefined]>([
    [{ revision: '1-a' }, '1-a'],
    [documentOf('s-1', '2-b'), '2-b'],
    [{ revision: '' }, undefined],
    [{ revision: 1 }, undefined],
    [{}, undefined],
    [null, undefined],
    ['1-a', undefined],
    [undefined, undefined],
  ])('of %j is %j', (stored, revision) => {
    expect(revisionOf(stored)).toBe(revision)
  })
})

describe('isOutcomeUnknown', () => {
  test.each<[unknown]>([
    [undefined],
    [new Error('x')],
    [new SessionStoreError({ operation: 'save', sessionId: 's-1' })],
    [new SessionConflictError({ sessionId: 's-1' })],
  ])('is false of %s', (error) => {
    expect(isOutcomeUnknown(error)).toBe(false)
  })
})
