import { describe, expect, test } from 'vitest'
import { documentOf, errorOf, storeTimeout } from '../../testing/contract/session-bench.js'
import { VirtualClock } from '../../testing/virtual-clock/virtual-clock.js'
import { InvalidInputError } from '../errors/engine-errors.js'
import { SessionConflictError } from '../errors/session-errors.js'
import { MemorySessionStore } from '../stores/memory/memory-store.js'
import { StoreAccess } from './store-access.js'

/** An access to a store with this `list`. */
function listing(list: (() => Promise<unknown>) | undefined) {
  const store = Object.assign(new MemorySessionStore(), { list })
  const clock = new VirtualClock()
  return { clock, access: new StoreAccess({ store: store as never, clock, storeTimeoutMs: storeTimeout }) }
}

const query = { limit: 10 }

describe('list', () => {
  test("returns the store's page", async () => {
    const store = new MemorySessionStore()
    const access = new StoreAccess({ store, clock: new VirtualClock(), storeTimeoutMs: storeTimeout })
    await store.create(documentOf('s-1', '1-a'))
    await store.create(documentOf('s-2', '1-a', { owner: 'user-8' }))
    expect(access.canList).toBe(true)
    expect(await access.list({ ...query, owner: 'user-8' })).toMatchObject({ sessions: [{ id: 's-2' }] })
  })

  test('is absent if the store lacks it, and the engine can check', () => {
    expect(listing(undefined).access.canList).toBe(false)
  })

  test.each([
    ['an outage', new Error('connect ECONNREFUSED')],
    ['a conflict, which a listing has none of', new SessionConflictError({ sessionId: 's-1' })],
    ['what only looks like an error of the engine', { code: 'INVALID_INPUT' }],
  ])('a failure is one of the store, with its cause: %s', async (_name, cause) => {
    const { access } = listing(() => Promise.reject(cause))
    const error = await errorOf(access.list(query))
    expect(error).toMatchObject({ code: 'SESSION_STORE_ERROR', operation: 'list' })
    expect(error.cause).toBe(cause)
  })

  test("a cursor of another store is the caller's error", async () => {
    const refused = new InvalidInputError({ message: 'The cursor does not belong to this store.' })
    const { access } = listing(() => Promise.reject(refused))
    expect(await errorOf(access.list(query))).toBe(refused)
  })

  test.each([[undefined], [[]], [{ sessions: [{ id: 's-1' }] }], [{ sessions: [], cursor: '' }]])(
    'a store that answers %j has failed',
    async (page) => {
      const error = await errorOf(listing(async () => page).access.list(query))
      expect(error).toMatchObject({ code: 'SESSION_STORE_ERROR', operation: 'list' })
      expect(String(error.cause)).toContain('something other than sessions and a cursor')
    },
  )

  test("a call that hangs ends at the operation's deadline", async () => {
    const { access, clock } = listing(() => new Promise(() => undefined))
    const failing = errorOf(access.list(query))
    await clock.advance(storeTimeout)
    expect((await failing).cause).toMatchObject({ limit: 'storeTimeoutMs' })
    expect(clock.pending).toBe(0)
  })
})
