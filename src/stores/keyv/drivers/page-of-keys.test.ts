import { expect, test } from 'vitest'
import type { SessionListing } from '../driver/session-driver.js'
import { pageOf } from './page-of-keys.js'

test('an unreadable session is counted once over all pages, and for no owner', async () => {
  const read: SessionListing['read'] = async (key) =>
    key.startsWith('x') ? 'unreadable' : { key, ownerKey: 'o', createdAt: '', summary: {} as never }
  const keys = ['a', 'b', 'c', 'x1', 'x2', 'y', 'z']
  const counts: Record<string, number> = {}
  for (const ownerKey of [undefined, 'o']) {
    let cursor: string | undefined
    let unreadable = 0
    do {
      const listing = { prefix: '', ownerKey, limit: 2, cursor, read }
      const page = await pageOf(keys, listing, () => ({ revision: '', head: '' }))
      unreadable += page.unreadable ?? 0
      cursor = page.cursor
    } while (cursor !== undefined)
    counts[String(ownerKey)] = unreadable
  }
  expect(counts).toEqual({ undefined: 2, o: 0 })
})
