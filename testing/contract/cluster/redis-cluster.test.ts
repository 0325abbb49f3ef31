/**
 * Decides that a Redis Cluster is a store like any other with the recommended client, that waiting for replicas reports
 * the truth about each session and holds nobody up, and that sessions move from node to node unharmed.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createRedisKeyv, KeyvSessionStore } from '../../../src/stores/keyv/index.js'
import { sessionStoreSuite } from '../../suites/stores/session-store-suite.js'
import { type RedisCluster, type RedisShard, startRedisCluster } from '../servers/redis-cluster.js'
import { freePort, isRedisMissing, type RedisServer } from '../servers/redis-server.js'
import { recommendedClusterClient } from './clients.js'
import { withCluster } from './cluster-of-test.js'
import type { Conversation } from './conversations.js'

/** No replica that is there is ever too late, however busy the machine. */
const waitMs = 2_000

describe.skipIf(isRedisMissing)('over a Redis Cluster, with the recommended client', () => {
  describe('the store', () => {
    let cluster: RedisCluster
    beforeAll(async () => {
      cluster = await startRedisCluster()
    })
    afterAll(() => cluster?.close())
    const open = async (rootNodes: { readonly url: string }[]): Promise<KeyvSessionStore> => {
      const client = recommendedClusterClient(rootNodes)
      const wait = { replicas: 1, timeoutMs: waitMs }
      return new KeyvSessionStore({ keyv: await createRedisKeyv(undefined, { client, wait }) })
    }
    sessionStoreSuite(test, () => open(cluster.rootNodes), {
      claims: true,
      lists: true,
      async corrupt(sessionId) {
        const key = `turnkeeper::${sessionId}`
        const { master } = await cluster.shardOf(key)
        await master.command('HSET', key, 'head', '{"cut":')
      },
      createUnreachable: async () => open([{ url: `redis://127.0.0.1:${await freePort()}` }]),
    })
  })

  test('a turn that reaches no replica counts and is reported; those of other masters are not', () =>
    withCluster(async ({ cluster, converse, byShard }) => {
      const conversations = await converse(recommendedClusterClient, waitMs)
      await conversations.begin(60)
      expect(conversations.reports).toEqual([])
      const [lonely, ...others] = await byShard(conversations)
      const [{ master, replica }] = cluster.shards as [RedisShard]
      const sayAll = (all: readonly Conversation[] = []): Promise<boolean[]> =>
        Promise.all(all.map((conversation) => conversations.say(conversation)))
      const waitsBefore = await waitsOf(master)

      replica.pause()
      const said = await sayAll([...(lonely ?? []), ...others.flat()])
      expect(said.every(Boolean)).toBe(true)
      const reported = conversations.reports.map(
        ({ sessionId, replicas, wanted }) => `${sessionId} ${replicas} ${wanted}`,
      )
      expect(reported.sort()).toEqual((lonely ?? []).map(({ id }) => `${id} 0 1`).sort())
      // One WAIT serves many: else each would hold up all that come after it.
      expect((await waitsOf(master)) - waitsBefore).toBeLessThan(reported.length)

      replica.resume()
      await sayAll(lonely)
      expect(conversations.reports).toHaveLength(reported.length)
    }))

  test('a session whose slot moves goes on before, meanwhile and afterwards', () =>
    withCluster(async ({ cluster, converse, byShard, witness }) => {
      const conversations = await converse(recommendedClusterClient, waitMs)
      await conversations.begin(30)
      const conversation = (await byShard(conversations))[0]?.[0] as Conversation
      const [{ master: source }, { master: target }] = cluster.shards as [RedisShard, RedisShard]
      const slot = (await source.command('CLUSTER', 'KEYSLOT', `turnkeeper::${conversation.id}`)).slice(1).trim()
      const [sourceId, targetId] = [await idOf(source), await idOf(target)]
      await target.command('CLUSTER', 'SETSLOT', slot, 'IMPORTING', sourceId)
      await source.command('CLUSTER', 'SETSLOT', slot, 'MIGRATING', targetId)
      expect(await conversations.say(conversation)).toBe(true)
      expect(conversations.reports).toEqual([])

      const key = `turnkeeper::${conversation.id}`
      expect(await source.command('MIGRATE', '127.0.0.1', String(target.port), key, '0', '5000')).toBe('+OK\r\n')
      expect(await conversations.say(conversation)).toBe(true)
      // Nobody knows of how many replicas: the node to ask is not yet the slot's.
      const unknown = { sessionId: conversation.id, replicas: 0, wanted: 1 }
      expect(conversations.reports).toMatchObject([unknown])

      for (const node of [target, source]) await node.command('CLUSTER', 'SETSLOT', slot, 'NODE', targetId)
      expect(await conversations.say(conversation)).toBe(true)
      expect(await conversations.say(conversation)).toBe(true)
      expect(conversations.reports).toHaveLength(1)
      expect(await conversations.tally(await witness())).toMatchObject({ lost: 0, doubled: 0, strayed: 0, failed: 0 })
    }))
})

/** How many WAITs a server has answered. */
async function waitsOf(server: RedisServer): Promise<number> {
  const stats = await server.command('INFO', 'commandstats')
  return Number(/cmdstat_wait:calls=(\d+)/.exec(stats)?.[1] ?? 0)
}

async function idOf(server: RedisServer): Promise<string> {
  return (await server.command('CLUSTER', 'MYID')).split('\r\n')[1] as string
}
