/**
 * A process that counts up in one session, in a race with others: it reads, and swaps in the next number together with
 * a chunk of that number, until it has won so many swaps. Started by race-processes.ts.
 */
import { once } from 'node:events'
import { createPostgresKeyv } from '../../../src/stores/keyv/drivers/postgres/create-postgres-keyv.js'
import { createPostgresDriver } from '../../../src/stores/keyv/drivers/postgres/postgres-driver.js'
import type { SqlAdapter, SqlSessionDriver } from '../../../src/stores/keyv/drivers/sql-adapter.js'
import { createSqliteKeyv } from '../../../src/stores/keyv/drivers/sqlite/create-sqlite-keyv.js'
import { createSqliteDriver } from '../../../src/stores/keyv/drivers/sqlite/sqlite-driver.js'

/** What a process receives. */
export interface RaceOrder {
  readonly kind: 'sqlite' | 'postgres'
  /** A path, or an address. */
  readonly place: string
  readonly table: string
  readonly key: string
  readonly wins: number
}

async function openDriver({ kind, place, table }: RaceOrder): Promise<SqlSessionDriver> {
  if (kind === 'postgres') {
    const keyv = await createPostgresKeyv(place, { table, maxConnections: 4 })
    return createPostgresDriver(keyv.store as SqlAdapter)
  }
  const keyv = await createSqliteKeyv(place, { table, busyTimeoutMs: 30_000 })
  return createSqliteDriver(keyv.store as SqlAdapter)
}

async function countUp(driver: SqlSessionDriver, { key, wins }: RaceOrder): Promise<number> {
  let conflicts = 0
  for (let won = 0; won < wins; ) {
    const stored = await driver.read(key, [])
    const next = Number(stored?.head ?? 0) + 1
    const outcome = await driver.swap({
      key,
      expectedRevision: stored?.revision,
      revision: `${next}-${process.pid}`,
      head: `${next}`,
      chunks: [[`turn#${next}`, `${process.pid}`]],
      removed: [],
      replacesChunks: false,
      ttlMs: undefined,
    })
    if (outcome === 'done') won++
    else conflicts++
  }
  return conflicts
}

process.once('message', (order: RaceOrder) => {
  run(order)
    .then((conflicts) => process.send?.({ conflicts }))
    .catch((error: unknown) => process.send?.({ error: String(error) }))
    .finally(() => process.disconnect())
})

async function run(order: RaceOrder): Promise<number> {
  const driver = await openDriver(order)
  await driver.read(order.key, [])
  // Everybody is ready before anybody begins.
  const begun = once(process, 'message')
  process.send?.({ ready: true })
  await begun
  const conflicts = await countUp(driver, order)
  await driver.close()
  return conflicts
}
