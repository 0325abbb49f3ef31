import { describe, expect, test } from 'vitest'
import { bench, errorOf, storeTimeout } from '../../testing/contract/session-bench.js'
import { TextStore } from '../../testing/contract/text-store.js'
import { systemClock } from '../config/clock.js'
import type { SessionStore } from './session-store.js'
import { StoreAccess } from './store-access.js'

describe('claim', () => {
  test('returns the ID that the store keeps', async () => {
    const { access, store } = await bench()
    expect(access.canClaim).toBe(true)
    expect(await access.claim('k', 's-1', 1_000)).toBe('s-1')
    expect(await access.claim('k', 's-2', 1_000)).toBe('s-1')
    store.expectJournal([{ operation: 'claim', key: 'k', sessionId: 's-1' }, 'claim'])
  })

  test('is absent if the store lacks it, and the engine can check', () => {
    const store: SessionStore = Object.assign(new TextStore(new Map()), { claim: undefined })
    expect(new StoreAccess({ store, clock: systemClock, storeTimeoutMs: 100 }).canClaim).toBe(false)
  })

  test('a failure is a store error, with its cause', async () => {
    const { access, store } = await bench()
    const cause = new Error('connect ECONNREFUSED')
    for (const atOnce of [false, true]) {
      store.failNext('claim', { error: cause, atOnce })
      const error = await errorOf(access.claim('k', 's-1', 1_000))
      expect(error).toMatchObject({
        code: 'SESSION_STORE_ERROR',
        operation: 'claim',
        sessionId: 's-1',
        message: "Session store failed to claim session 's-1'.",
      })
      expect(error.cause).toBe(cause)
    }
    // It can be repeated, even if it took effect.
    store.failNext('claim', { after: true })
    await errorOf(access.claim('k', 's-1', 1_000))
    expect(await access.claim('k', 's-1', 1_000)).toBe('s-1')
  })

  test("a call that hangs ends at the operation's deadline", async () => {
    const { access, store, clock } = await bench()
    store.hangNext('claim')
    const failing = errorOf(access.claim('k', 's-1', 1_000))
    await clock.advance(storeTimeout)
    expect(await failing).toMatchObject({ code: 'SESSION_STORE_ERROR', operation: 'claim' })
  })

  test.each([[undefined], [null], [7], [''], ['two words'], ['a,b'], ['x'.repeat(257)], [{}]])(
    'a store that answers %j has failed',
    async (answer) => {
      const { access, store } = await bench()
      store.inject({ operation: 'claim', effect: 'answer', answer })
      const error = await errorOf(access.claim('k', 's-1', 1_000))
      expect(error).toMatchObject({ code: 'SESSION_STORE_ERROR', operation: 'claim', sessionId: 's-1' })
      expect(String(error.cause)).toContain('something other than a session ID')
    },
  )
})
