import fc from 'fast-check'
import { expect, test } from 'vitest'
import { conditions, observe, type Request, type Scene } from '../../../testing/contract/two-owners.js'

const times = fc.constantFrom(0, 3, 7, 10, 12, 17, 20, 35)

const request: fc.Arbitrary<Request> = fc.record({
  by: fc.constantFrom('bob', 'mallory', undefined),
  kind: fc.constantFrom('run', 'run', 'stream', 'other flow', 'bad input', 'delete', 'cancel', 'get'),
  isKeyed: fc.boolean(),
  atMs: times,
})

const scenes: fc.Arbitrary<Scene> = fc
  .record({
    store: fc.constantFrom('memory', 'map', 'map without a cache'),
    condition: fc.constantFrom(...conditions),
    busy: fc.constantFrom('queue', 'reject', 'interrupt'),
    unknownSession: fc.constantFrom('new', 'reject'),
    initMs: fc.constantFrom(0, 7, 40),
    ownersTurns: fc.array(fc.record({ isKeyed: fc.boolean(), atMs: times }), { maxLength: 3 }),
    requests: fc.array(request, { minLength: 1, maxLength: 5 }),
  })
  // A session whose owner cannot be read belongs to those without an owner: see docs/decisions/owners.md.
  .filter(({ condition, requests }) => condition !== 'unreadable' || requests.every(({ by }) => by !== undefined))

test('nothing but session:foreign differs between a session of another owner and an ID that nobody has', async () => {
  await fc.assert(
    fc.asyncProperty(scenes, async (scene) => {
      const [foreign, unknown] = [await observe(scene, true), await observe(scene, false)]
      expect(foreign.seen).toEqual(unknown.seen)
      // If the owner of a session cannot be read, even the real owner is treated as a stranger.
      expect(unknown.foreign.filter(({ askedBy }) => askedBy !== 'ada')).toEqual([])
      expect(foreign.seen).toMatchObject({ locked: 0 })
    }),
    { numRuns: 100 },
  )
})
