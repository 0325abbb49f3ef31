// The clients that the tests compare: the recommended ones, of `@redis/client` 6 and set up as the docs say, and those
// that `@keyv/redis` brings along, of version 5.
import { createCluster as createBundledCluster, createSentinel as createBundledSentinel } from '@keyv/redis'
import { createCluster, createSentinel } from 'redis-client-6'
import type { RedisKeyvOptions } from '../../../src/stores/keyv/index.js'
import type { RedisSentinelGroup } from '../servers/redis-sentinel.js'

type Client = NonNullable<RedisKeyvOptions['client']>

interface RootNode {
  readonly url: string
}

/** Trouble shows at once, a silent node is found out, and no request waits for a dead one. */
const settings = {
  disableOfflineQueue: true,
  pingInterval: 1_000,
  socket: { connectTimeout: 2_000, socketTimeout: 3_000 },
}

/** It asks for the new master as soon as a node has been away for a moment. */
export function recommendedClusterClient(rootNodes: RootNode[]): Client {
  return createCluster({ rootNodes, defaults: settings, topologyRefreshOnReconnectionAttemptStrategy: 500 })
}

export function bundledClusterClient(rootNodes: RootNode[]): Client {
  return createBundledCluster({ rootNodes, defaults: settings })
}

export function recommendedSentinelClient({ name, sentinelRootNodes }: RedisSentinelGroup): Client {
  return createSentinel({ name, sentinelRootNodes, nodeClientOptions: settings, scanInterval: 1_000 })
}

export function bundledSentinelClient({ name, sentinelRootNodes }: RedisSentinelGroup): Client {
  return createBundledSentinel({ name, sentinelRootNodes, nodeClientOptions: settings, scanInterval: 1_000 })
}
