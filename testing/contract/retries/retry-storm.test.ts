/**
 * Decides that blind repeats are safe: whatever happens to the processes, the connections and the store, a message with
 * a key is in one session once, and every reply to it is the same, byte for byte.
 *
 * RETRY_STORM_SECONDS  how long there are faults, on each store. Default: 6.
 * STORM_SEED           which faults, and when. Printed. Default: random.
 */
import { describe, expect, test } from 'vitest'
import { isPostgresMissing } from '../servers/postgres-server.js'
import { isRedisMissing } from '../servers/redis-server.js'
import { isSqliteMissing } from '../stores/sqlite-package.js'
import type { StoreKind } from '../storm/open-store.js'
import { type RetryStormOptions, runRetryStorm } from './retry-storm.js'
import { judgeRetries, type RetryVerdict } from './retry-verdict.js'

const seconds = Number(process.env.RETRY_STORM_SECONDS ?? 6)
const seed = Number(process.env.STORM_SEED ?? Math.floor(Math.random() * 1_000_000))
/** Ends a run that hangs; no run is timed. */
const longestMs: number = seconds * 2_000 + 180_000
const shown = 20

async function weather(options: Omit<RetryStormOptions, 'seed'>): Promise<RetryVerdict & { readonly wrong: string[] }> {
  const { turns, stored, troubles, unhandled, faults } = await runRetryStorm({ ...options, seed })
  const verdict = judgeRetries(turns, stored)
  const wrong = [
    ...verdict.violations.map(({ kind, text }) => `${kind}: ${text}`),
    ...troubles,
    ...unhandled.map((text) => `unhandled: ${text}`),
  ]
  const figures = {
    ...verdict.figures,
    'worker kills': faults['kill-worker'],
    cuts: faults.cut,
    pauses: faults['pause-server'],
    'server kills': faults['kill-server'],
    unhandled: unhandled.length,
  }
  const keys = options.sendsKeys === false ? 'without keys' : 'with keys'
  const text = Object.entries(figures).map(([name, value]) => `${value} ${name}`)
  console.log(`Repeats ${keys} on ${options.store}, ${options.seconds} s, seed ${seed}: ${text.join(', ')}`)
  return { ...verdict, wrong }
}

const stores: readonly (readonly [StoreKind, boolean])[] = [
  ['redis', isRedisMissing],
  ['postgres', isPostgresMissing],
  ['sqlite', isSqliteMissing],
]

describe('blind repeats with keys, workers killed, connections cut, servers paused and killed', () => {
  test.each(stores.filter(([, isMissing]) => !isMissing))(
    '%s: each message is stored once, in one session, and each reply to it is the same',
    async (store) => {
      const { wrong, figures, acknowledged } = await weather({ store, seconds })
      expect(wrong.slice(0, shown)).toEqual([])
      // Otherwise the run shows nothing.
      expect(acknowledged).toBeGreaterThan(2 * seconds)
      expect(figures.replays).toBeGreaterThan(seconds)
      // Others take too long for messages to meet.
      if (store === 'redis') expect(Math.min(figures.interrupted ?? 0, figures.summarized ?? 0)).toBeGreaterThan(0)
    },
    longestMs,
  )

  test.skipIf(isRedisMissing).each<StoreKind>(['redis-with-leases', 'redis-with-leases-for-everybody'])(
    '%s (needs redis-server): leases change nothing of it, also where they are broken',
    async (store) => {
      const { wrong, figures } = await weather({ store, seconds: Math.min(seconds, 5) })
      expect(wrong.slice(0, shown)).toEqual([])
      expect(figures.replays).toBeGreaterThan(0)
    },
    longestMs,
  )

  test.skipIf(isRedisMissing)(
    'without keys (needs redis-server) the same repeats double messages, and that is seen',
    async () => {
      const { violations } = await weather({ store: 'redis', seconds: 1, sendsKeys: false })
      const kinds = new Set(violations.map(({ kind }) => kind))
      expect([...kinds]).toEqual(expect.arrayContaining(['doubled', 'unequal']))
    },
    longestMs,
  )
})
