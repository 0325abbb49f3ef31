// Stored sessions of every layout, loaded and gone on with through one driver.
import { Keyv } from 'keyv'
import { describe, expect, test } from 'vitest'
import type { SessionDriver, StoredSession } from '../../../../src/stores/keyv/driver/session-driver.js'
import { KeyvSessionStore } from '../../../../src/stores/keyv/keyv-session-store.js'
import { swapOf } from '../driver-cases.js'
import { turnOn } from '../turns.js'
import { goldenId, layoutOf, readGolden } from './golden-session.js'

/** The key that a Keyv without settings gives it. */
const key = `keyv:${goldenId}`

/** Registers the cases. `driver` is that under test, at the time of the test. */
export function goldenCases(driver: () => SessionDriver): void {
  const open = (): KeyvSessionStore => new KeyvSessionStore({ keyv: new Keyv(), driver: driver() })
  const stored = async (): Promise<StoredSession> => (await driver().readAll(key)) as StoredSession

  describe.each([2])('a stored session of layout %i', (layout) => {
    test('is loaded whole, and is of this layout after its next turn, without a chunk that stays written again', async () => {
      const { revision, head, chunks, document } = readGolden(layout)
      await driver().swap(swapOf(key, { revision, head, chunks: Object.entries(chunks) }))
      const store = open()
      const loaded = await store.load(goldenId)
      expect(loaded).toEqual(document)
      const turn = turnOn(loaded as typeof document, '10-next')
      await store.save(turn.document, turn.expectedRevision, turn.hint)
      const after = await stored()
      expect(layoutOf(after)).toBe(2)
      expect([...after.chunks]).toEqual(expect.arrayContaining(Object.entries(chunks)))
      for (const handle of [store, open()]) expect(await handle.load(goldenId)).toEqual(turn.document)
    })
  })
}
