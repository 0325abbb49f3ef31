import { expect, test } from 'vitest'
import { FakeDriver } from '../../../testing/contract/stores/fake-driver.js'
import { newSession } from '../../../testing/suites/stores/bench/documents.js'
import { ChunkedSessionStore } from './chunked-session-store.js'
import type { ServerlessStoreOptions } from './serverless-options.js'
import { chunkedStoreOptions } from './serverless-store.js'

/** The time to live that the driver gets, and the one that a save gets. */
async function timesToLive(options: ServerlessStoreOptions): Promise<(number | undefined)[]> {
  const driver = new FakeDriver()
  const times: (number | undefined)[] = []
  const createDriver = (ttlMs: number | undefined): FakeDriver => {
    times.push(ttlMs)
    return driver
  }
  const backend = { caller: 'Store', closedMessage: 'Closed.', createDriver }
  const store = new ChunkedSessionStore(chunkedStoreOptions(backend, options))
  await store.create(newSession('a'))
  return [...times, ...driver.swaps.map(({ ttlMs }) => ttlMs)]
}

test('a time to live is rounded up to whole milliseconds, because backends accept no fractions', async () => {
  expect(await timesToLive({ ttlMs: 0.4 })).toEqual([1, 1])
  expect(await timesToLive({ ttlMs: 1000 })).toEqual([1000, 1000])
})

test('Infinity means no time to live', async () => {
  expect(await timesToLive({})).toEqual([undefined, undefined])
  expect(await timesToLive({ ttlMs: Number.POSITIVE_INFINITY })).toEqual([undefined, undefined])
})
