// Decides that the verdict on a listing finds what it must find.
import { expect, test } from 'vitest'
import { FlowEngine, MemorySessionStore } from '../../../src/index.js'
import { listingTroubles } from './listing-troubles.js'
import { sessionOf } from './stored-session.js'

test('finds what is stored and not listed, and what is listed and gone', async () => {
  const sessionStore = new MemorySessionStore()
  const engine = new FlowEngine({ sessionStore })
  const [kept, lost, gone] = ['kept', 'lost', 'gone'].map((id) => sessionOf(['a'], id, { owner: 'slot-1' }))
  if (kept === undefined || lost === undefined || gone === undefined) throw new Error('No sessions.')
  await sessionStore.create(kept)
  await sessionStore.create(gone)
  const stored = (...documents: (typeof kept)[]) => new Map(documents.map((document) => [document.id, document]))
  expect(await listingTroubles(engine, stored(kept, gone))).toEqual([])
  expect(await listingTroubles(engine, stored(kept, lost))).toEqual([
    'lost is stored, and not in the listing of all',
    'gone is in the listing of all, and not stored',
    'lost is stored, and not in the listing of slot-1',
    'gone is in the listing of slot-1, and not stored',
  ])
})
