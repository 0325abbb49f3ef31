import { describe, expect, test } from 'vitest'
import { bench, documentOf, errorOf, storeTimeout } from '../../testing/contract/session-bench.js'
import { VirtualClock } from '../../testing/virtual-clock/virtual-clock.js'
import { MemorySessionStore } from '../stores/memory/memory-store.js'
import { LockHolder } from './lock/lock-line.js'
import { StoreAccess, type StoreOperation } from './store-access.js'

/** A bench whose access reports its operations. */
async function watched({ isWatched = true, onReport = (): void => undefined } = {}) {
  const place = await bench('1-a')
  const reported: StoreOperation[] = []
  const watch = {
    isWatched: () => isWatched,
    report(operation: StoreOperation) {
      reported.push(operation)
      onReport()
    },
  }
  const access = new StoreAccess({ store: place.store, clock: place.clock, storeTimeoutMs: storeTimeout, watch })
  return { ...place, access, reported }
}

const holder = new LockHolder(() => ({ counted: true, turnId: 'turn-2' }))
const ofSession = { sessionId: 's-1', turnId: undefined, durationMs: 0, error: undefined }

describe('the watcher of a store gets', () => {
  test('each operation, with its session and its turn', async () => {
    const { access, reported } = await watched()
    await access.loadUnchecked('s-1', undefined, 'turn-2')
    await access.write(documentOf('s-1', '2-b'), '1-a', { holder })
    await access.write(documentOf('s-2', '1-a'), undefined)
    await access.remove('s-1', '2-b')
    await access.claim('k', 's-3', 1_000)
    expect(reported).toEqual([
      { ...ofSession, operation: 'load', turnId: 'turn-2' },
      { ...ofSession, operation: 'save', turnId: 'turn-2' },
      { ...ofSession, operation: 'create', sessionId: 's-2' },
      { ...ofSession, operation: 'delete' },
      { ...ofSession, operation: 'claim', sessionId: 's-3' },
    ])
  })

  test('a listing, which has no session', async () => {
    const reported: StoreOperation[] = []
    const watch = { isWatched: () => true, report: (operation: StoreOperation) => void reported.push(operation) }
    const store = new MemorySessionStore()
    const access = new StoreAccess({ store, clock: new VirtualClock(), storeTimeoutMs: storeTimeout, watch })
    await access.list({ limit: 1 })
    expect(reported).toEqual([{ ...ofSession, operation: 'list', sessionId: '' }])
  })

  test('the duration; for a write with its read-backs', async () => {
    const { access, reported, store, clock } = await watched()
    store.failNext('save', { latencyMs: 300 })
    store.delayNext('load', 200)
    const writing = access.write(documentOf('s-1', '2-b'), '1-a')
    await clock.advance(500)
    await writing
    expect(reported).toEqual([{ ...ofSession, operation: 'save', durationMs: 500 }])
  })

  test('the same error as the caller', async () => {
    const { access, reported, store } = await watched()
    store.failNext('load')
    const error = await errorOf(access.loadUnchecked('s-1'))
    expect(reported).toEqual([{ ...ofSession, operation: 'load', error }])
  })

  test('nothing without a listener', async () => {
    const { access, reported } = await watched({ isWatched: false })
    await access.loadUnchecked('s-1')
    await access.write(documentOf('s-1', '2-b'), '1-a', { holder })
    expect(reported).toEqual([])
  })
})

test('a watcher that throws changes no outcome', async () => {
  const { access, store, inner } = await watched({
    onReport: () => {
      throw new Error('broken dashboard')
    },
  })
  await access.write(documentOf('s-1', '2-b'), '1-a')
  expect(await inner.load('s-1')).toMatchObject({ revision: '2-b' })
  store.failNext('load')
  expect((await errorOf(access.loadUnchecked('s-1'))).code).toBe('SESSION_STORE_ERROR')
})
