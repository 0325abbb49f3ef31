/// <reference types="node" />
// A real Redis with Sentinel for tests: one master, one replica in sync, and three Sentinels that agree on them.
import { isInSync } from './redis-cluster.js'
import { type RedisServer, startRedis } from './redis-server.js'
import { until } from './until.js'

/** A group that a test holds in its hands. */
export interface RedisSentinelGroup {
  /** The name of the master, for clients. */
  readonly name: string
  readonly master: RedisServer
  readonly replica: RedisServer
  /** The addresses of the Sentinels. */
  readonly sentinelRootNodes: { readonly host: string; readonly port: number }[]
  /** Ends every server by its own process, and removes their folders. */
  close(): Promise<void>
}

const name = 'sessions'
const sentinelCount = 3
const settings = { 'repl-diskless-sync': 'yes', 'repl-diskless-sync-delay': '0' }

/** After so long a silence a Sentinel takes the master for lost; two of three must. */
const sentinelSettings = { quorum: 2, 'down-after-milliseconds': 1_500, 'failover-timeout': 6_000 }

/** Starts a group. */
export async function startRedisSentinel(): Promise<RedisSentinelGroup> {
  const servers: RedisServer[] = []
  const started = async (server: Promise<RedisServer>): Promise<RedisServer> => {
    servers.push(await server)
    return server
  }
  const close = async (): Promise<void> => void (await Promise.all(servers.map((server) => server.close())))
  try {
    const master = await started(startRedis({ settings }))
    const replica = await started(startRedis({ settings }))
    await replica.command('REPLICAOF', '127.0.0.1', String(master.port))
    await until(() => isInSync({ master, replica }))
    const sentinels: RedisServer[] = []
    for (let count = 0; count < sentinelCount; count++) {
      sentinels.push(await started(startRedis({ sentinelFor: master.port })))
    }
    for (const sentinel of sentinels) {
      for (const [setting, value] of Object.entries(sentinelSettings)) {
        await sentinel.command('SENTINEL', 'SET', name, setting, String(value))
      }
    }
    for (const sentinel of sentinels) await until(() => knowsAll(sentinel))
    const sentinelRootNodes = sentinels.map(({ port }) => ({ host: '127.0.0.1', port }))
    return { name, master, replica, sentinelRootNodes, close }
  } catch (error) {
    await close()
    throw error
  }
}

/** Whether a Sentinel has found the replica, and the other Sentinels. */
async function knowsAll(sentinel: RedisServer): Promise<boolean> {
  const quorum = await sentinel.command('SENTINEL', 'CKQUORUM', name)
  const replicas = await sentinel.command('SENTINEL', 'REPLICAS', name)
  return quorum.startsWith(`+OK ${sentinelCount} usable`) && replicas.startsWith('*1\r\n')
}
