/**
 * Decides that sessions live through the loss of the master that Sentinel watches: with `wait` no acknowledged turn is
 * lost, and service returns when the replica has taken over.
 */
import { describe, expect, test } from 'vitest'
import { createRedisKeyv, KeyvSessionStore, type RedisKeyvOptions } from '../../../src/stores/keyv/index.js'
import { isInSync } from '../servers/redis-cluster.js'
import { startRedisSentinel } from '../servers/redis-sentinel.js'
import { isRedisMissing } from '../servers/redis-server.js'
import { until } from '../servers/until.js'
import { bundledSentinelClient, recommendedSentinelClient } from './clients.js'
import { type Conversation, Conversations } from './conversations.js'

const sessions = 100
const recoveryWithinMs = 15_000

describe.skipIf(isRedisMissing)('a Redis with Sentinel that loses its master', () => {
  test.each([
    ['6', recommendedSentinelClient],
    ['5', bundledSentinelClient],
  ])('with a client of version %s: no acknowledged turn is lost, and all sessions go on', async (version, clientOf) => {
    const group = await startRedisSentinel()
    let conversations: Conversations | undefined
    let witness: KeyvSessionStore | undefined
    const open = async (options: RedisKeyvOptions): Promise<KeyvSessionStore> =>
      new KeyvSessionStore({ keyv: await createRedisKeyv(group.replica.url, options) })
    try {
      const options = (): RedisKeyvOptions => ({ client: clientOf(group), wait: { replicas: 1, timeoutMs: 100 } })
      conversations = new Conversations([await open(options()), await open(options())])
      await conversations.begin(sessions)
      const loss = await conversations.loseServer({
        concerned: conversations.all,
        lose: () => group.master.kill(),
        timeoutMs: recoveryWithinMs * 2,
      })
      witness = await open({})
      const tally = await conversations.tally(witness)
      console.log(`Sentinel, client ${version}:`, JSON.stringify({ ...tally, ...loss }))
      expect(tally).toMatchObject({ sessions, lost: 0, doubled: 0, strayed: 0 })
      expect(loss.allMs).toBeLessThan(recoveryWithinMs)
      expect(loss.reports).toBeGreaterThan(0)

      const all = conversations
      const [conversation] = all.all as [Conversation]
      expect(await all.isReported(conversation)).toBe(true)
      await group.master.start()
      await until(() => isInSync({ master: group.replica, replica: group.master }))
      // One that has just come back may need longer for its first turns than a turn waits for it.
      await until(async () => !(await all.isReported(conversation)))
    } finally {
      await Promise.allSettled([conversations?.close(), witness?.close()])
      await group.close()
    }
  })
})
