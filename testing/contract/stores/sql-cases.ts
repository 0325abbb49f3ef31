/**
 * What the two SQL drivers share beyond every driver, as tests over a real database: their tables, `purgeExpired`,
 * races of processes, and their end.
 */
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import type { SessionListing, SessionSwap } from '../../../src/stores/keyv/driver/session-driver.js'
import type { SqlSessionDriver } from '../../../src/stores/keyv/drivers/sql-adapter.js'
import { swapOf } from './driver-cases.js'
import { raceProcesses } from './race-processes.js'

/** What the cases need of a database. */
export interface SqlBackend {
  readonly kind: 'sqlite' | 'postgres'
  /** A driver over a new connection. */
  open(table: string): Promise<SqlSessionDriver>
  /** The address at which other processes find the same data. */
  place(): string
  /** How many rows a table holds, past the driver. */
  countRows(table: string): Promise<number>
}

/** Registers the cases. */
export function sqlCases(backend: SqlBackend): void {
  let tables = 0
  const newTable = (): string => `t${process.pid}_${++tables}`

  async function withDrivers(count: number, use: (drivers: SqlSessionDriver[], table: string) => Promise<void>) {
    const table = newTable()
    const drivers: SqlSessionDriver[] = []
    try {
      while (drivers.length < count) drivers.push(await backend.open(table))
      await use(drivers, table)
    } finally {
      for (const driver of drivers) await driver.close()
    }
  }

  test('ten drivers make the tables at the same moment', async () => {
    for (let round = 0; round < 3; round++) {
      await withDrivers(10, async (drivers) => {
        const outcomes = await Promise.all(drivers.map((driver, index) => driver.swap(swapOf(`${index}`, {}))))
        expect(outcomes).toEqual(drivers.map(() => 'done'))
        expect(await drivers[0]?.read('9', [])).toMatchObject({ revision: 'r1' })
      })
    }
  })

  test('two processes that count up in one session lose nothing and double nothing', async () => {
    await withDrivers(1, async ([driver], table) => {
      const wins = 200
      const order = { kind: backend.kind, place: backend.place(), table, key: 'counter', wins }
      const reports = await raceProcesses(2, order)
      const stored = await driver?.readAll('counter')
      expect(stored?.head).toBe(`${2 * wins}`)
      const winners = Array.from({ length: 2 * wins }, (_, index) => stored?.chunks.get(`turn#${index + 1}`))
      for (const { pid } of reports) expect(winners.filter((winner) => winner === `${pid}`)).toHaveLength(wins)
      expect(await backend.countRows(`${table}_chunk`)).toBe(2 * wins)
      console.log(`${backend.kind}: ${reports.map(({ conflicts }) => conflicts).join(' and ')} conflicts`)
    })
  })

  test('purgeExpired removes what has expired, with its chunks, and nothing else', async () => {
    await withDrivers(2, async ([one, two], table) => {
      if (one === undefined || two === undefined) throw new Error('No drivers.')
      expect(await one.purgeExpired()).toBe(0)
      const chunks = [
        ['a', '1'],
        ['b', '2'],
      ] as const
      // More than are removed at once.
      const short = Array.from({ length: 1_100 }, (_, index) => swapOf(`short-${index}`, { ttlMs: 1, chunks }))
      for (const swap of short) await one.swap(swap)
      await one.swap(swapOf('long', { ttlMs: 3_600_000, chunks }))
      await one.swap(swapOf('endless', { chunks }))
      await sleep(5)
      expect(await backend.countRows(`${table}_session`)).toBe(1_102)
      const [left, right] = await Promise.all([one.purgeExpired(), two.purgeExpired()])
      expect(left + right + (await one.purgeExpired())).toBe(1_100)
      expect(await backend.countRows(`${table}_session`)).toBe(2)
      expect(await backend.countRows(`${table}_chunk`)).toBe(4)
      expect((await two.readAll('long'))?.chunks.size).toBe(2)
      expect((await two.readAll('endless'))?.chunks.size).toBe(2)
    })
  })

  test('ten drivers that have made no tables yet claim at the same moment, and one of them wins', async () => {
    for (let round = 0; round < 3; round++) {
      await withDrivers(10, async (drivers, table) => {
        const kept = await Promise.all(drivers.map((driver, index) => driver.claim('key', `${index}`, 60_000)))
        expect(new Set(kept).size).toBe(1)
        expect(await backend.countRows(`${table}_claim`)).toBe(1)
      })
    }
  })

  test('purgeExpired removes the claims that have expired, and counts none of them', async () => {
    await withDrivers(2, async ([one, two], table) => {
      for (let index = 0; index < 600; index++) await one?.claim(`short-${index}`, 'a', 1)
      await one?.claim('long', 'a', 3_600_000)
      await one?.swap(swapOf('session', { ttlMs: 1 }))
      await sleep(5)
      expect(await backend.countRows(`${table}_claim`)).toBe(601)
      expect(await two?.purgeExpired()).toBe(1)
      expect(await backend.countRows(`${table}_claim`)).toBe(1)
      expect(await two?.claim('long', 'b', 1)).toBe('a')
      expect(await two?.claim('short-0', 'b', 3_600_000)).toBe('b')
    })
  })

  test('of twenty claims in place of one that expired exactly one wins', async () => {
    await withDrivers(2, async (drivers) => {
      for (let round = 0; round < 5; round++) {
        const key = randomUUID()
        await drivers[0]?.claim(key, 'expired', 1)
        await sleep(5)
        const kept = await Promise.all(
          Array.from({ length: 20 }, (_, index) => drivers[index % 2]?.claim(key, `${index}`, 60_000)),
        )
        expect(new Set(kept).size).toBe(1)
        expect(kept[0]).not.toBe('expired')
      }
    })
  })

  test('no chunk stays behind: not of removed sessions, nor of expired, replaced or refused ones', async () => {
    await withDrivers(2, async ([one, two], table) => {
      const chunks = [
        ['a', '1'],
        ['b', '2'],
      ] as const
      const racing = Array.from({ length: 50 }, async () => {
        const key = randomUUID()
        await one?.swap(swapOf(key, { chunks }))
        await Promise.all([
          one?.swap(swapOf(key, { expectedRevision: 'r1', revision: 'r2', chunks: [['c', '3']] })),
          two?.swap(swapOf(key, { expectedRevision: 'r1', revision: 'r3', chunks, replacesChunks: true })),
          two?.remove(key),
        ])
        await one?.remove(key)
      })
      await Promise.all(racing)
      await one?.swap(swapOf('expired', { ttlMs: 1, chunks }))
      await sleep(5)
      await two?.swap(swapOf('expired', { revision: 'r2' }))
      // Each session that was removed left its mark.
      expect(await backend.countRows(`${table}_session`)).toBe(51)
      expect(await backend.countRows(`${table}_chunk`)).toBe(0)
    })
  })

  /** What each head says: an owner and a time. */
  const read: SessionListing['read'] = async (key, { head }) => {
    const [ownerKey, createdAt] = head.split(' ')
    if (ownerKey === undefined || createdAt === undefined) return undefined
    const times = { createdAt, savedAt: createdAt }
    const summary = { id: key, flowName: 'F', step: 'S', runStatus: 'running', ...times, turns: 1 } as const
    return { key, summary, ownerKey, createdAt }
  }
  const at = '2026-01-01'
  const ownedSwap = (key: string, owner: string): SessionSwap =>
    swapOf(key, { head: `${owner} ${at}`, owner: async () => ({ ownerKey: owner, createdAt: at }) })

  async function keysOf(driver: SqlSessionDriver | undefined, ownerKey?: string, limit = 100): Promise<string[]> {
    const keys: string[] = []
    let cursor: string | undefined
    do {
      const page = await driver?.list({ prefix: '', ownerKey, limit, cursor, read })
      keys.push(...(page?.sessions ?? []).map(({ key }) => key))
      cursor = page?.cursor
    } while (cursor !== undefined)
    return keys
  }

  test('lists sessions in the order in which they were created, each on one page', async () => {
    await withDrivers(1, async ([driver]) => {
      for (let index = 0; index < 25; index++) await driver?.swap(ownedSwap(`k${index}`, `o${index % 2}`))
      const keys = Array.from({ length: 25 }, (_, index) => `k${index}`)
      for (const limit of [1, 7, 25, 100]) expect(await keysOf(driver, undefined, limit)).toEqual(keys)
      expect(await keysOf(driver, 'o1', 5)).toEqual(keys.filter((_, index) => index % 2 === 1))
      expect(await keysOf(driver, 'o')).toEqual([])
    })
  })

  test('a session that has expired is in no listing', async () => {
    await withDrivers(1, async ([driver]) => {
      await driver?.swap({ ...ownedSwap('gone', 'o'), ttlMs: 1 })
      await driver?.swap(ownedSwap('stays', 'o'))
      await sleep(5)
      expect(await keysOf(driver)).toEqual(['stays'])
      expect(await keysOf(driver, 'o')).toEqual(['stays'])
    })
  })

  test('after close() every call rejects, those that wait too, and a second close() is the first', async () => {
    await withDrivers(1, async ([driver]) => {
      if (driver === undefined) throw new Error('No driver.')
      await driver.swap(swapOf('key', {}))
      const waiting = Array.from({ length: 50 }, (_, index) => driver.swap(swapOf(`waiting-${index}`, {})))
      const closed = driver.close()
      const outcomes = await Promise.allSettled(waiting)
      for (const outcome of outcomes) if (outcome.status === 'fulfilled') expect(outcome.value).toBe('done')
      await closed
      await driver.close()
      const calls = [
        () => driver.read('key', []),
        () => driver.read('key', ['a']),
        () => driver.readAll('key'),
        () => driver.swap(swapOf('key', {})),
        () => driver.remove('key'),
        () => driver.purgeExpired(),
        () => driver.claim('key', 'a', 1),
      ]
      for (const call of calls) await expect(call()).rejects.toThrow('driver is closed')
    })
  })

  test('a driver that was never used closes, and one whose tables are made at this moment', async () => {
    await withDrivers(2, async ([unused, used]) => {
      await unused?.close()
      const [outcome] = await Promise.allSettled([used?.swap(swapOf('key', {})), used?.close()])
      if (outcome.status === 'rejected') expect(String(outcome.reason)).toMatch(/closed|pool/)
    })
  })
}
