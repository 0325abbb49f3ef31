import { Keyv } from 'keyv'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { FakeDriver } from '../../../testing/contract/stores/fake-driver.js'
import { newSession, turnOn } from '../../../testing/contract/stores/turns.js'
import { KeyvSessionStore } from './keyv-session-store.js'

const hourMs = 3_600_000

/** A store over a driver that ignores `expiresBy`, as an application's driver may. */
function storeOver(driver: FakeDriver, absoluteTtlMs?: number): KeyvSessionStore {
  return new KeyvSessionStore({ keyv: new Keyv(), driver, ...(absoluteTtlMs === undefined ? {} : { absoluteTtlMs }) })
}

/** A session created now. */
function created() {
  const { document } = turnOn(newSession('s'), '1-a')
  return { ...document, createdAt: new Date().toISOString() }
}

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['Date'] })
})
afterEach(() => {
  vi.useRealTimers()
})

test('a store says how long it keeps a session: the shorter of its two times', () => {
  const keyv = new Keyv({ ttl: 2 * hourMs })
  const store = new KeyvSessionStore({ keyv, driver: new FakeDriver(), absoluteTtlMs: 3 * hourMs })
  expect(store.guarantees.ttlMs).toBe(2 * hourMs)
  keyv.ttl = 4 * hourMs
  expect(store.guarantees.ttlMs).toBe(3 * hourMs)
  expect(storeOver(new FakeDriver()).guarantees.ttlMs).toBeUndefined()
})

describe('absoluteTtlMs', () => {
  test('passes the latest time of expiry to the driver, the same at each save', async () => {
    const driver = new FakeDriver()
    const store = storeOver(driver, hourMs)
    const document = created()
    await store.create(document)
    vi.advanceTimersByTime(hourMs / 2)
    const next = turnOn(document, '2-b')
    await store.save(next.document, '1-a', next.hint)
    const end = Date.parse(document.createdAt) + hourMs
    expect(driver.swaps.map(({ expiresBy }) => expiresBy)).toEqual([end, end])
  })

  test('without it the driver gets no such time', async () => {
    const driver = new FakeDriver()
    await storeOver(driver).create(created())
    expect(driver.swaps.map(({ expiresBy }) => expiresBy)).toEqual([undefined])
  })

  test('removes an expired session that is still stored when it is loaded, with no extra call before', async () => {
    const driver = new FakeDriver()
    const document = created()
    await storeOver(driver).create(document)
    const [warm, cold] = [storeOver(driver, hourMs), storeOver(driver, hourMs)]
    vi.advanceTimersByTime(hourMs - 1)
    expect(await warm.load('s')).toEqual(document)
    driver.takeCalls()
    expect(await warm.load('s')).toEqual(document)
    expect(driver.takeCalls()).toEqual(['read history#1 memory:Ask#1'])
    vi.advanceTimersByTime(1)
    expect(await warm.load('s')).toBeUndefined()
    expect(driver.takeCalls()).toEqual(['read history#1 memory:Ask#1', 'remove'])
    expect(driver.records.size).toBe(0)
    expect(await cold.load('s')).toBeUndefined()
    expect(driver.takeCalls()).toEqual(['readAll'])
    // Like that of any session that was removed, its ID is not used again.
    await expect(warm.create(created())).rejects.toMatchObject({ code: 'SESSION_CONFLICT' })
  })

  test('does not remove a session that replaced it meanwhile', async () => {
    const driver = new FakeDriver()
    await storeOver(driver).create(created())
    vi.advanceTimersByTime(hourMs)
    const next = { ...turnOn(newSession('s'), '9-z').document, createdAt: new Date().toISOString() }
    const remove = driver.remove.bind(driver)
    vi.spyOn(driver, 'remove').mockImplementationOnce(async (key, revision) => {
      driver.records.clear()
      await storeOver(driver).create(next)
      return remove(key, revision)
    })
    expect(await storeOver(driver, hourMs).load('s')).toEqual(next)
  })

  test('a turn that began before the end and is saved after it is a conflict: nothing is written', async () => {
    const driver = new FakeDriver()
    const store = storeOver(driver, hourMs)
    const document = created()
    await store.create(document)
    vi.advanceTimersByTime(hourMs)
    driver.takeCalls()
    const { document: late, hint } = turnOn(document, '2-b')
    await expect(store.save(late, '1-a', hint)).rejects.toMatchObject({ code: 'SESSION_CONFLICT' })
    await expect(store.create(late)).rejects.toMatchObject({ code: 'SESSION_CONFLICT' })
    expect(driver.takeCalls()).toEqual([])
  })

  test('does not expire a session whose document has no creation time', async () => {
    const driver = new FakeDriver()
    const document = { ...created(), createdAt: 'yesterday' }
    await storeOver(driver, hourMs).create(document)
    expect(await storeOver(driver, hourMs).load('s')).toEqual(document)
    expect(driver.swaps[0]?.expiresBy).toBeUndefined()
  })

  test.each([
    [0, '0'],
    [-1, '-1'],
    [Number.NaN, 'NaN'],
    ['5' as never, "the text '5'"],
  ])('refuses %j', (absoluteTtlMs, shown) => {
    expect(() => storeOver(new FakeDriver(), absoluteTtlMs)).toThrow(
      `KeyvSessionStore: absoluteTtlMs must be a number above 0, or Infinity for no bound; got ${shown}.`,
    )
  })
})
