/** Tests the Upstash store without a server; testing/contract/stores/upstash.test.ts tests it with one. */
import { expect, test } from 'vitest'
import { createUpstashStore, type UpstashRedisLike } from './index.js'

const redis: UpstashRedisLike = { evalsha: async () => null, eval: async () => null }

test('the store has only the operations that Upstash supports', () => {
  const store = createUpstashStore(redis)
  const operations = ['load', 'create', 'save', 'delete', 'claim', 'list', 'close']
  expect(operations.filter((name) => !(name in store))).toEqual([])
  const others = ['lease', 'hold', 'onEvicted', 'onUnderReplicated', 'purgeExpired']
  expect(others.filter((name) => name in store)).toEqual([])
})

test.each([5, '', null])('the namespace %j is refused', (namespace) => {
  const make = (): unknown => createUpstashStore(redis, { namespace: namespace as string })
  expect(make).toThrow('createUpstashStore: namespace must be a non-empty string.')
})
