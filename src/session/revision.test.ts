import fc from 'fast-check'
import { expect, test } from 'vitest'
import { nextRevision } from './revision.js'

test.each<[string | undefined, string, string]>([
  [undefined, 'a1b2', '1-a1b2'],
  ['1-a1b2', 'c3d4', '2-c3d4'],
  ['9-x', 'y', '10-y'],
  ['41-with-dashes', 'and-more', '42-and-more'],
  ['7', 'y', '8-y'],
  ['an opaque token of another writer', 'y', '1-y'],
  ['', 'y', '1-y'],
])('after %j with %j comes %j', (previous, random, next) => {
  expect(nextRevision(previous, random)).toBe(next)
})

test('counts up by one, whatever the random parts are', () => {
  fc.assert(
    fc.property(fc.array(fc.string()), (randoms) => {
      let revision: string | undefined
      randoms.forEach((random, index) => {
        revision = nextRevision(revision, random)
        expect(revision).toBe(`${index + 1}-${random}`)
      })
    }),
  )
})

test('two writers with different random parts never make the same token', () => {
  fc.assert(
    fc.property(fc.option(fc.string(), { nil: undefined }), fc.string(), fc.string(), (previous, one, other) => {
      fc.pre(one !== other)
      expect(nextRevision(previous, one)).not.toBe(nextRevision(previous, other))
    }),
  )
})
