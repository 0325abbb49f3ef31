import { expect, test } from 'vitest'
import { RedisOwners } from './redis-owners.js'

test('the owner of a session that expires is requested once per lifetime, not at every turn', async () => {
  const owners = new RedisOwners({ run: async () => 'done' } as never)
  let asked = 0
  const owner = async () => {
    asked++
    return { ownerKey: 'o', createdAt: '2026-01-01T00:00:00.000Z' }
  }
  const swap = { key: 'k', expectedRevision: '1', ttlMs: 60_000, owner }
  for (let turn = 0; turn < 5; turn++) await owners.note(swap as never)
  expect(asked).toBe(1)
})
