/**
 * The Redis driver over the connection of `@keyv/redis`: one server, Sentinel or a Cluster.
 * redis-session-driver.ts decides what is sent.
 */
import type { Keyv } from 'keyv'
import type { SessionDriver } from '../../driver/session-driver.js'
import { leaseOf } from '../lease-settings.js'
import { PolledLeases } from '../polled-leases.js'
import type { RedisAdapter } from './connection/redis-client.js'
import { RedisConnection } from './connection/redis-connection.js'
import { redisLeaseCommands } from './redis-leases.js'
import type { RedisNodes } from './redis-listing.js'
import { RedisReplication } from './redis-replication.js'
import { createRedisSessionDriver } from './redis-session-driver.js'
import { redisSettingsOf } from './redis-settings.js'

/** The driver for the `@keyv/redis` adapter, over any client that the adapter accepts. Connects on first use. */
export function createRedisDriver(keyv: Keyv): SessionDriver {
  const { wait, replyWithinMs } = redisSettingsOf(keyv)
  const lease = leaseOf(keyv)
  const connection = new RedisConnection(keyv.store as RedisAdapter, replyWithinMs)

  async function nodes(): Promise<RedisNodes> {
    const { topology, masters } = await connection.masters()
    return { topology, nodes: masters.map((client) => (words) => connection.sendOn({ client, number: 0 }, words)) }
  }

  return createRedisSessionDriver({
    connection,
    nodes,
    ttlMs: () => keyv.ttl || undefined,
    ...(wait === undefined ? {} : { replication: (swapOnce) => new RedisReplication(connection, wait, swapOnce) }),
    ...(lease === undefined
      ? {}
      : { leases: (commands) => new PolledLeases(redisLeaseCommands(commands), lease.ttlMs) }),
  })
}
