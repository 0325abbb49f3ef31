/// <reference types="node" />
// A real Redis Cluster for tests: three masters and three replicas, started one by one and introduced to each other by
// plain commands. It is ready when every replica is in sync and every node reports that the cluster works.
import { freePort, type RedisServer, startRedis } from './redis-server.js'
import { until } from './until.js'

/** A master and the replica that takes over from it. */
export interface RedisShard {
  readonly master: RedisServer
  readonly replica: RedisServer
}

/** A cluster that a test holds in its hands. */
export interface RedisCluster {
  readonly shards: readonly RedisShard[]
  /** The addresses of all nodes, for a client to begin with. */
  readonly rootNodes: { readonly url: string }[]
  /** The shard that keeps a key, as the slots were dealt out in the beginning. */
  shardOf(key: string): Promise<RedisShard>
  /** Ends every node by its own process, and removes their folders. */
  close(): Promise<void>
}

const shardCount = 3
const slotCount = 16_384

/**
 * After so long a silence a master counts as lost. Short, but not so short that a busy machine looks like a dead one.
 */
const nodeTimeoutMs = 2_000

/** Starts a cluster. */
export async function startRedisCluster(): Promise<RedisCluster> {
  const nodes: RedisServer[] = []
  const close = async (): Promise<void> => void (await Promise.all(nodes.map((node) => node.close())))
  try {
    for (let count = 0; count < shardCount * 2; count++) nodes.push(await startNode())
    await introduce(nodes)
    const masters = nodes.slice(0, shardCount)
    const shards = masters.map((master, index) => ({ master, replica: nodes[shardCount + index] as RedisServer }))
    for (const [index, { master, replica }] of shards.entries()) {
      await master.command('CLUSTER', 'ADDSLOTSRANGE', String(firstSlot(index)), String(firstSlot(index + 1) - 1))
      await until(async () => (await replica.command('CLUSTER', 'REPLICATE', await idOf(master))).startsWith('+OK'))
    }
    for (const shard of shards) await until(() => isInSync(shard))
    for (const node of nodes) await until(async () => (await node.command('CLUSTER', 'INFO')).includes('state:ok'))
    return {
      shards,
      rootNodes: nodes.map(({ url }) => ({ url })),
      async shardOf(key) {
        const reply = await (nodes.at(-1) as RedisServer).command('CLUSTER', 'KEYSLOT', key)
        const slot = Number(reply.slice(1))
        return shards.find((_, index) => slot < firstSlot(index + 1)) as RedisShard
      },
      close,
    }
  } catch (error) {
    await close()
    throw error
  }
}

/** Whether a replica has caught up with its master, and its master knows that: from then on a WAIT counts it. */
export async function isInSync({ master, replica }: RedisShard): Promise<boolean> {
  const [own, masters] = [await replica.command('INFO', 'replication'), await master.command('INFO', 'replication')]
  return own.includes('master_link_status:up') && /state=online,offset=[1-9]/.test(masters)
}

async function startNode(): Promise<RedisServer> {
  const settings = {
    'cluster-enabled': 'yes',
    // Not the port and 10 000 more: that may be no port at all.
    'cluster-port': String(await freePort()),
    'cluster-node-timeout': String(nodeTimeoutMs),
    'repl-diskless-sync': 'yes',
    'repl-diskless-sync-delay': '0',
  }
  return startRedis({ settings })
}

async function introduce(nodes: readonly RedisServer[]): Promise<void> {
  const [first, ...others] = nodes
  const port = (await (first as RedisServer).command('CONFIG', 'GET', 'cluster-port')).split('\r\n')[4] as string
  for (const [index, node] of others.entries()) {
    // Each node gets its own epoch, so that no two claim the same slot.
    await node.command('CLUSTER', 'SET-CONFIG-EPOCH', String(index + 2))
    await node.command('CLUSTER', 'MEET', '127.0.0.1', String((first as RedisServer).port), port)
  }
  for (const node of nodes) {
    await until(async () => (await node.command('CLUSTER', 'INFO')).includes(`known_nodes:${nodes.length}\r`))
  }
}

async function idOf(node: RedisServer): Promise<string> {
  return (await node.command('CLUSTER', 'MYID')).split('\r\n')[1] as string
}

function firstSlot(shard: number): number {
  return Math.ceil((slotCount * shard) / shardCount)
}
