// WRITE_GOLDEN=1  writes the file of the layout that this release stores, if it is not there.
import { Keyv } from 'keyv'
import { describe, expect, test } from 'vitest'
import { MemorySessionStore } from '../../../../src/index.js'
import { createMapDriver } from '../../../../src/stores/keyv/drivers/map-driver.js'
import { createProcessDriver } from '../../../../src/stores/keyv/drivers/process-driver.js'
import { storedLayoutVersion } from '../../../../src/stores/keyv/layout/head.js'
import { FakeDriver } from '../fake-driver.js'
import { PlainAdapter } from '../plain-adapter.js'
import { turnOn } from '../turns.js'
import { goldenCases } from './golden-cases.js'
import { goldenId, layoutOf, readGolden, writeGolden } from './golden-session.js'

if (process.env.WRITE_GOLDEN === '1') test('writes the file that is not there', writeGolden)

test('the layout that this release writes has a file', () => {
  expect(layoutOf(readGolden(storedLayoutVersion))).toBe(storedLayoutVersion)
})

describe.each(
  Object.entries({
    'a driver of the application': new FakeDriver(),
    "Keyv's Map": createMapDriver(new Map()),
    'an adapter without a compare-and-swap': createProcessDriver(new Keyv(new PlainAdapter())),
  }),
)('over %s', (_what, driver) => {
  goldenCases(() => driver)
})

test.each([2])('the memory store takes a document of layout %i', async (layout) => {
  const { document } = readGolden(layout)
  const store = new MemorySessionStore()
  await store.create(document)
  expect(await store.load(goldenId)).toEqual(document)
  const turn = turnOn(document, '10-next')
  await store.save(turn.document, turn.expectedRevision, turn.hint)
  expect(await store.load(goldenId)).toEqual(turn.document)
})
