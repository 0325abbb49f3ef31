/**
 * Decides that sessions live through the loss of a master of a Redis Cluster: with `wait` and the recommended client no
 * acknowledged turn is lost, and service returns in time.
 */
import { describe, expect, test } from 'vitest'
import { isInSync, type RedisShard } from '../servers/redis-cluster.js'
import { isRedisMissing } from '../servers/redis-server.js'
import { until } from '../servers/until.js'
import { bundledClusterClient, recommendedClusterClient } from './clients.js'
import { withCluster } from './cluster-of-test.js'
import type { Conversation } from './conversations.js'

const sessions = 300

/** What is promised of the recommended client. */
const recoveryWithinMs = 15_000

/** Most turns here reach no replica: they must not wait long for it. */
const waitMs = 100

describe.skipIf(isRedisMissing)('a Redis Cluster that loses a master', () => {
  test('with the recommended client: no acknowledged turn is lost, and its sessions go on in time', () =>
    withCluster(async ({ cluster, converse, byShard, witness }) => {
      const conversations = await converse(recommendedClusterClient, waitMs)
      await conversations.begin(sessions)
      const shards = await byShard(conversations)
      const perMaster = shards.map(({ length }) => length)
      expect(Math.min(...perMaster)).toBeGreaterThan(sessions / 6)

      const [shard] = cluster.shards as [RedisShard]
      const { master, replica } = shard
      expect(await isInSync(shard)).toBe(true)
      const loss = await conversations.loseServer({
        concerned: shards[0] ?? [],
        lose: () => master.kill(),
        timeoutMs: recoveryWithinMs * 2,
      })
      const tally = await conversations.tally(await witness())
      console.log('Cluster, client 6:', JSON.stringify({ ...tally, perMaster, ...loss }))
      expect(tally).toMatchObject({ sessions, lost: 0, doubled: 0, strayed: 0 })
      expect([...conversations.failures.keys()]).toEqual(['SESSION_STORE_ERROR'])
      expect(loss.allMs).toBeLessThan(recoveryWithinMs)

      // Who took over has no replica until the lost one is back.
      expect(loss.reports).toBeGreaterThan(0)
      const [conversation] = shards[0] as [Conversation]
      expect(await conversations.isReported(conversation)).toBe(true)
      await master.start()
      await until(() => isInSync({ master: replica, replica: master }))
      // One that has just come back may need longer for its first turns than a turn waits for it.
      await until(async () => !(await conversations.isReported(conversation)))
    }))

  test('what it costs was reported: the turns that reached no replica, and no session', () =>
    withCluster(async ({ cluster, converse, byShard, witness }) => {
      const conversations = await converse(recommendedClusterClient, waitMs)
      await conversations.begin(60)
      const [concerned = []] = await byShard(conversations)
      const [conversation] = concerned as [Conversation]
      const [{ master, replica }] = cluster.shards as [RedisShard]
      const reportsBefore = conversations.reports.length
      replica.pause()
      // What is on its way to the replica already would reach it yet.
      await master.command('CLIENT', 'KILL', 'TYPE', 'replica')
      expect((await Promise.all(concerned.map((each) => conversations.say(each)))).every(Boolean)).toBe(true)
      await master.kill()
      replica.resume()
      await until(() => conversations.say(conversation))
      const reported = new Set(conversations.reports.slice(reportsBefore).map(({ sessionId }) => sessionId))
      expect([...reported].sort()).toEqual(concerned.map(({ id }) => id).sort())
      const tally = await conversations.tally(await witness())
      expect(tally).toMatchObject({ sessions: 60, lost: concerned.length, doubled: 0, strayed: 0 })
    }))

  test('with the client that @keyv/redis brings along: no acknowledged turn is lost, whether it recovers or not', () =>
    withCluster(async ({ cluster, converse, byShard, witness }) => {
      const conversations = await converse(bundledClusterClient, waitMs)
      await conversations.begin(sessions)
      const loss = await conversations.loseServer({
        concerned: (await byShard(conversations))[0] ?? [],
        lose: async () => cluster.shards[0]?.master.kill(),
        timeoutMs: Number(process.env.RECOVERY_TIMEOUT_MS ?? 8_000),
      })
      const tally = await conversations.tally(await witness())
      console.log('Cluster, client 5:', JSON.stringify({ ...tally, ...loss }))
      expect(tally).toMatchObject({ sessions, lost: 0, doubled: 0, strayed: 0 })
    }))
})
