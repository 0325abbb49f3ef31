/** The stores that the workers of a storm or a contention use, by name: what an order can carry to another process. */
import { Redis } from '@upstash/redis'
import { createUpstashStore } from '../../../adapters/upstash/index.js'
import type { SessionStore } from '../../../src/index.js'
import type { SessionDriver } from '../../../src/stores/keyv/driver/session-driver.js'
import { createPostgresKeyv } from '../../../src/stores/keyv/drivers/postgres/create-postgres-keyv.js'
import { createRedisKeyv } from '../../../src/stores/keyv/drivers/redis/create-redis-keyv.js'
import { createRedisDriver } from '../../../src/stores/keyv/drivers/redis/redis-driver.js'
import { createSqliteKeyv } from '../../../src/stores/keyv/drivers/sqlite/create-sqlite-keyv.js'
import { KeyvSessionStore } from '../../../src/stores/keyv/keyv-session-store.js'

/** Which store. */
export type StoreKind =
  | 'redis'
  | 'redis-with-leases'
  | 'postgres'
  | 'sqlite'
  | 'upstash'
  /** Broken on purpose: two turns may have the lease of a session at once. */
  | 'redis-with-leases-for-everybody'
  /** Broken on purpose: it shows that the loss is seen. */
  | 'redis-where-the-last-write-wins'

/** The location of a store: an address, for Upstash with a token after a blank, or the path of a file. */
export interface StoreOrder {
  readonly kind: StoreKind
  readonly place: string
}

/** Milliseconds without a reply; below the engines' `storeTimeoutMs`. */
const replyTimeoutMs = 1_500
/** Longer than any statement takes while others hold the file. */
const busyTimeoutMs = 10_000

/** Until the lease of a process that was killed is free. */
const leaseTtlMs = 3_000

/** Opens a store of this process. */
export async function openStore({ kind, place }: StoreOrder): Promise<SessionStore> {
  switch (kind) {
    case 'postgres':
      return new KeyvSessionStore({ keyv: await createPostgresKeyv(place, { maxConnections: 4 }) })
    case 'sqlite':
      return new KeyvSessionStore({ keyv: await createSqliteKeyv(place, { busyTimeoutMs }) })
    case 'upstash': {
      const [url = '', token = ''] = place.split(' ')
      return createUpstashStore(new Redis({ url, token, retry: { retries: 0 } }))
    }
    case 'redis':
      return new KeyvSessionStore({ keyv: await createRedisKeyv(place, { replyTimeoutMs }) })
    case 'redis-with-leases':
      return new KeyvSessionStore({
        keyv: await createRedisKeyv(place, { replyTimeoutMs, lease: { ttlMs: leaseTtlMs } }),
      })
    case 'redis-with-leases-for-everybody': {
      const keyv = await createRedisKeyv(place, { replyTimeoutMs })
      return new KeyvSessionStore({ keyv, driver: leasesForEverybody(createRedisDriver(keyv)) })
    }
    case 'redis-where-the-last-write-wins': {
      const keyv = await createRedisKeyv(place, { replyTimeoutMs })
      return new KeyvSessionStore({ keyv, driver: lastWriteWins(createRedisDriver(keyv)) })
    }
  }
}

/** A driver whose leases are always free. */
function leasesForEverybody(driver: SessionDriver): SessionDriver {
  return { ...driver, lease: async () => async () => undefined }
}

/** A driver that expects whatever is stored. */
function lastWriteWins(driver: SessionDriver): SessionDriver {
  return {
    ...driver,
    async swap(swap) {
      const stored = await driver.read(swap.key, [])
      return driver.swap({ ...swap, expectedRevision: stored?.revision })
    },
  }
}
