// A cluster and the conversations of one test, and their end, whatever became of the test.
import type { SessionStore } from '../../../src/index.js'
import { createRedisKeyv, KeyvSessionStore, type RedisKeyvOptions } from '../../../src/stores/keyv/index.js'
import { type RedisCluster, type RedisShard, startRedisCluster } from '../servers/redis-cluster.js'
import { recommendedClusterClient } from './clients.js'
import { type Conversation, Conversations } from './conversations.js'

/** What a test has. */
export interface ClusterOfTest {
  readonly cluster: RedisCluster
  /** Two engines over stores that wait for one replica, for the given milliseconds, each with its own client. */
  converse(client: typeof recommendedClusterClient, waitMs: number): Promise<Conversations>
  /** The conversations by the shard that keeps them, in the order of the shards. */
  byShard(conversations: Conversations): Promise<readonly (readonly Conversation[])[]>
  /** A separate store, for checks. */
  witness(): Promise<SessionStore>
}

/** Starts a cluster for `run`, and ends it. */
export async function withCluster(run: (made: ClusterOfTest) => Promise<void>): Promise<void> {
  const cluster = await startRedisCluster()
  const open: { close(): Promise<void> }[] = []
  const store = async (options: RedisKeyvOptions): Promise<KeyvSessionStore> =>
    new KeyvSessionStore({ keyv: await createRedisKeyv(undefined, options) })
  try {
    await run({
      cluster,
      async converse(client, waitMs) {
        const wait = { replicas: 1, timeoutMs: waitMs }
        const options = (): RedisKeyvOptions => ({ client: client(cluster.rootNodes), wait })
        const made = new Conversations([await store(options()), await store(options())])
        open.push(made)
        return made
      },
      async byShard(conversations) {
        const found = new Map<RedisShard, Conversation[]>(cluster.shards.map((shard) => [shard, []]))
        for (const conversation of conversations.all) {
          found.get(await cluster.shardOf(`turnkeeper::${conversation.id}`))?.push(conversation)
        }
        return [...found.values()]
      },
      async witness() {
        const made = await store({ client: recommendedClusterClient(cluster.rootNodes) })
        open.push(made)
        return made
      },
    })
  } finally {
    await Promise.allSettled(open.map((each) => each.close()))
    await cluster.close()
  }
}
