import { describe, expectTypeOf, test } from 'vitest'
import type { SessionStore } from '../../src/index.js'
import { FakeSessionStore, type FakeStoreCall } from '../index.js'

describe('FakeSessionStore', () => {
  const store = new FakeSessionStore()

  test('is a whole store, with what a store may leave out', () => {
    expectTypeOf(store).toExtend<SessionStore>()
    // It has claims, leases and listings if the underlying store has them, so that an engine can check.
    expectTypeOf(store).toExtend<Required<Omit<SessionStore, 'claim' | 'isDeleted' | 'summary' | 'lease' | 'list'>>>()
    expectTypeOf<Required<FakeSessionStore>>().toExtend<Required<SessionStore>>()
    expectTypeOf(store.journal).toEqualTypeOf<readonly FakeStoreCall[]>()
  })

  test('knows its operations', () => {
    store.failNext('save', { after: true, times: 2 })
    store.failNext('claim')
    store.hangNext('lease')
    store.failNext('list')
    // @ts-expect-error no such operation
    store.failNext('svae')
    // @ts-expect-error a rival is quicker than a write
    store.rivalWrites({ before: 'load' })
    // @ts-expect-error only a failure throws
    store.hangNext('save', { error: 'a text' })
  })

  test('knows what a journal may hold', () => {
    store.expectJournal(['load', 'save failed', 'delete pending', { operation: 'save', revision: '2-b' }])
    // @ts-expect-error no such operation
    store.expectJournal(['laod'])
    // @ts-expect-error no such outcome
    store.expectJournal(['load done'])
    // @ts-expect-error no such field
    store.expectJournal([{ session: 'a' }])
  })
})
