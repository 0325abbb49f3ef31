import { describe, expect, test } from 'vitest'
import { FakeSessionStore, VirtualClock } from '../../../testing/index.js'
import { SessionConflictError, SessionFlowInvariantError } from '../../index.js'
import { FlowSession } from '../../session/flow-session.js'
import { LockHolder } from '../../session/lock/lock-line.js'
import { StoreAccess } from '../../session/store-access.js'
import type { EngineContext } from '../core/engine-context.js'
import { EngineEvents } from '../core/engine-events.js'
import type { DeleteOptions } from '../core/engine-options.js'
import { removeSession } from './remove-session.js'

/** A store that answers `found` and takes every delete. */
function made(found: unknown) {
  const store = new FakeSessionStore()
  store.answerNext(found, { times: Number.POSITIVE_INFINITY })
  const access = new StoreAccess({ store, clock: new VirtualClock(), storeTimeoutMs: 5000 })
  return {
    store,
    access,
    deletes: () =>
      store.journal
        .filter(({ operation }) => operation === 'delete')
        .map(({ sessionId, expectedRevision }) => [sessionId, expectedRevision]),
  }
}

const timing = { clock: new VirtualClock(), turnTimeoutMs: 5_000, storeTimeoutMs: 5_000 }

const remove = async (access: StoreAccess, sessionId: string, options: DeleteOptions | undefined): Promise<boolean> => {
  const { clock } = timing
  const context = { clock, events: new EngineEvents(() => undefined), session: new FlowSession(access, timing) }
  const holder = new LockHolder(() => ({ counted: false }))
  return (await removeSession(context as unknown as EngineContext, holder, sessionId, options)) !== undefined
}

const unreadable = new SessionFlowInvariantError({ sessionId: 'one', problem: 'it is not valid JSON' })

describe('removeSession', () => {
  test('[4.6-1] removes by the revision that is stored, whatever else is in the document', async () => {
    const { access, deletes } = made({ revision: '3-abc', nonsense: true })
    expect(await remove(access, 'one', undefined)).toBe(true)
    expect(deletes()).toEqual([['one', '3-abc']])
  })

  test.each([[undefined], [null]])('[4.6-2] %s: there was nothing to remove, and nothing can come', async (found) => {
    const { access, deletes } = made(found)
    expect(await remove(access, 'one', undefined)).toBe(false)
    // No document has this revision.
    expect(deletes()).toEqual([['one', '0-none']])
  })

  test('a mark whose reply was lost is left again: that nothing is stored does not show it', async () => {
    const { access, store, deletes } = made(undefined)
    store.failNext('delete')
    expect(await remove(access, 'one', undefined)).toBe(false)
    expect(deletes()).toHaveLength(2)
  })

  test.each([
    [undefined, true],
    [{ owner: 'bob' }, true],
    [{ owner: 'ada' }, false],
    [{}, false],
  ])(
    'a session of bob that is created meanwhile is loaded: asked as %j, it is removed: %s',
    async (options, removed) => {
      const { access, store } = made(undefined)
      store.heal()
      store.answerNext(undefined)
      store.answerNext({ revision: '1-a', owner: 'bob' })
      store.failNext('delete', { error: new SessionConflictError({ sessionId: 'one' }) })
      expect(await remove(access, 'one', options)).toBe(removed)
    },
  )

  test.each([[{}], [{ revision: '' }], [{ revision: 3 }], ['a text'], [5]])(
    'removes %j, which has no revision, whatever is stored',
    async (found) => {
      const { access, deletes } = made(found)
      expect(await remove(access, 'one', undefined)).toBe(true)
      expect(deletes()).toEqual([['one', undefined]])
    },
  )

  test('removes what the store cannot read, unless an owner is asked for', async () => {
    const { access, store, deletes } = made(undefined)
    store.heal()
    store.failNext('load', { times: 3, error: unreadable })
    expect(await remove(access, 'one', {})).toBe(false)
    expect(await remove(access, 'one', { owner: 'ada' })).toBe(false)
    // No document has this revision.
    expect(deletes()).toEqual([
      ['one', '0-none'],
      ['one', '0-none'],
    ])
    expect(await remove(access, 'one', undefined)).toBe(true)
    expect(deletes().at(-1)).toEqual(['one', undefined])
  })

  test.each([
    ['ada', { owner: 'ada' }, true],
    ['ada', { owner: 'bob' }, false],
    ['ada', {}, false],
    ['ada', undefined, true],
    [undefined, { owner: 'ada' }, false],
    [undefined, {}, true],
    [undefined, undefined, true],
  ])('the document of %s, asked as %j: %s', async (owner, options, removed) => {
    const { access, deletes } = made({ revision: '1-a', ...(owner === undefined ? {} : { owner }) })
    expect(await remove(access, 'one', options)).toBe(removed)
    // The session of another owner is asked for as an unknown one is: by a revision that no document has.
    expect(deletes()).toEqual([['one', removed ? '1-a' : '0-none']])
  })

  test('[7.2-4] a store that fails to load, or to delete, is reported', async () => {
    const { access, store } = made({ revision: '1-a' })
    store.failNext('delete', { error: new SessionConflictError({ sessionId: 'one' }) })
    await expect(remove(access, 'one', undefined)).rejects.toMatchObject({ code: 'SESSION_CONFLICT' })
    const cause = new Error('down')
    store.heal()
    store.failNext('load', { error: cause })
    await expect(remove(access, 'one', undefined)).rejects.toMatchObject({ code: 'SESSION_STORE_ERROR', cause })
  })
})
