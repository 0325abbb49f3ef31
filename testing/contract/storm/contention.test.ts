/**
 * Decides that processes which take their turns on one session at once lose none and double none, on each backend.
 *
 * CONTENTION_TURNS  how many turns each process takes. Default: 250; the full check is 2 000.
 * CONTENTION_SEED   how long they wait after a conflict. Printed. Default: random.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { isPostgresMissing, startPostgres } from '../servers/postgres-server.js'
import { isRedisMissing, startRedis } from '../servers/redis-server.js'
import { isSqliteMissing } from '../stores/sqlite-package.js'
import { runContention } from './contention.js'
import type { StoreOrder } from './open-store.js'
import { countOf, judge } from './verdict.js'

const processes = 4
const shortTurns = 250
const turnsEach = Number(process.env.CONTENTION_TURNS ?? shortTurns)
const seed = Number(process.env.CONTENTION_SEED ?? Math.floor(Math.random() * 1_000_000))
/** Ends a run that hangs; no run is timed. */
const longestMs: number = 120_000 + processes * turnsEach * 100
const name = `${processes} processes with ${turnsEach} turns each on one session: each turn is stored exactly once`

async function checkContention(store: StoreOrder): Promise<void> {
  const { turns, conflicts, document, seconds } = await runContention(store, seed, processes, turnsEach)
  const verdict = judge(turns, new Map(document === undefined ? [] : [[document.id, document]]))
  const rate = Math.round(turns.length / seconds)
  console.log(
    `Contention on ${store.kind}, seed ${seed}: ${processes} x ${turnsEach} turns in ${seconds.toFixed(1)} s ` +
      `(${rate} a second), ${conflicts} conflicts, ${verdict.stored} stored, ${verdict.cut} of them cut from the history, ${countOf(verdict, 'lost')} lost, ` +
      `${countOf(verdict, 'doubled')} doubled, ${verdict.violations.length} violations`,
  )
  expect(verdict.violations).toEqual([])
  expect([verdict.acknowledged, verdict.stored]).toEqual([processes * turnsEach, processes * turnsEach])
  expect(verdict.cut).toBeGreaterThan(0)
}

describe('contention', () => {
  test.skipIf(isRedisMissing)(
    `Redis (needs redis-server): ${name}`,
    async () => {
      const redis = await startRedis({ appendOnly: 'always' })
      try {
        await checkContention({ kind: 'redis', place: redis.url })
      } finally {
        await redis.close()
      }
    },
    longestMs,
  )

  test.skipIf(isPostgresMissing)(
    `Postgres (needs its server): ${name}`,
    async () => {
      const postgres = await startPostgres()
      try {
        await checkContention({ kind: 'postgres', place: postgres.url })
      } finally {
        await postgres.close()
      }
    },
    longestMs,
  )

  test.skipIf(isSqliteMissing)(
    `SQLite (needs npm ci --prefix testing/contract/sqlite): ${name}`,
    async () => {
      const folder = await mkdtemp(join(tmpdir(), 'turnkeeper-contention-'))
      try {
        await checkContention({ kind: 'sqlite', place: join(folder, 'sessions.sqlite') })
      } finally {
        await rm(folder, { recursive: true, force: true })
      }
    },
    longestMs,
  )
})
