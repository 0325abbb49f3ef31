/**
 * Decides that a session can go on for as long as its user likes, on the default limits and on every backend: no turn fails, what
 * is stored stays below `maxSessionBytes`, what was cut is neither kept nor read, and a late turn takes no longer than an early one.
 *
 * LONG_SESSION_TURNS  how many plain turns. Default: 5 000; the full check is 50 000.
 */
import { isDeepStrictEqual } from 'node:util'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { isPostgresMissing } from '../servers/postgres-server.js'
import { isRedisMissing } from '../servers/redis-server.js'
import { isSqliteMissing, loadSqlitePackage } from '../stores/sqlite-package.js'
import { type Backend, memoryBackend, postgresBackend, redisBackend, sqliteBackend } from './backends.js'
import { LongSession } from './long-session.js'
import { Rooms, rooms, Talk } from './talk.js'

vi.mock('@keyv/sqlite', () => loadSqlitePackage())

const plainTurns = Number(process.env.LONG_SESSION_TURNS ?? 5_000)
/** Ends a run that hangs; no run is timed by it. */
const longestMs: number = 300_000 + plainTurns * 60
/** The default of `maxSessionBytes`. */
const mostBytes: number = 4 * 1024 * 1024
const photos = 100
/** A photo with its fields around it just fits into the default of `maxAttachmentBytes`. */
const photoBytes: number = 1024 * 1024 - 64
/** At the beginning of its data: which one it is. */
const photoDigits = 8
const largeTurns = 500
const largeText: string = 'large '.repeat(8 * 1024).slice(0, 8 * 1024)
/** A head, and no list: what a turn reads from the backend when nobody else writes to its session. */
const mostBytesRead = 16 * 1024
const most = 1.5

describe.each([
  { name: 'memory', isMissing: false, start: memoryBackend },
  { name: 'Redis (needs redis-server)', isMissing: isRedisMissing, start: redisBackend },
  { name: 'Postgres (needs its server)', isMissing: isPostgresMissing, start: postgresBackend },
  {
    name: 'SQLite (needs npm ci --prefix testing/contract/sqlite)',
    isMissing: isSqliteMissing,
    start: sqliteBackend,
  },
])('$name', ({ name, isMissing, start }) => {
  describe.skipIf(isMissing)('long sessions', () => {
    let backend: Backend
    beforeAll(async () => {
      backend = await start()
      await warmUp(backend)
    })
    afterAll(() => backend?.close())

    test(
      `${photos} photos of 1 MB: the model gets that of the turn, and those of the two turns before`,
      async () => {
        await playSession(
          { name, what: `${photos} photos`, backend, flowName: Talk.id, compared: 20 },
          async (session) => {
            for (let count = 1; count <= photos; count++) {
              await session.say(`photo ${count}`, { attachments: [photo(count)] })
              await session.look()
            }
            const seen = session.received.flatMap(({ parts }) => parts).filter((part) => part.type === 'image')
            expect(seen.map(({ data }) => Number(data?.slice(0, photoDigits)))).toEqual([
              photos - 2,
              photos - 1,
              photos,
            ])
            expect(session.trimmed.attachments).toBe(photos - 2)
          },
        )
      },
      longestMs,
    )

    test(
      `${plainTurns} plain turns`,
      async () => {
        await playSession(
          { name, what: `${plainTurns} plain turns`, backend, flowName: Talk.id, compared: 100 },
          async (session) => {
            for (let count = 1; count <= plainTurns; count++) {
              await session.say(`this is what the user says in turn ${count}`)
              if (count % 250 === 0) await session.look()
            }
            const document = await session.look()
            expect([document.turns, document.history.at(-1)?.turn]).toEqual([plainTurns, plainTurns])
            expect(session.trimmed.history).toBe(plainTurns - document.history.length)
          },
        )
      },
      longestMs,
    )

    test(
      `${rooms} memories of 256 KiB`,
      async () => {
        await playSession(
          { name, what: `${rooms * 50} turns in ${rooms} memories`, backend, flowName: Rooms.id, compared: 100 },
          async (session) => {
            for (let count = 1; count <= rooms * 50; count++) {
              await session.say(`${count} ${largeText}`)
              if (count % rooms === 0) await session.look()
            }
            expect(session.trimmed.memory).toBeGreaterThan(0)
          },
        )
      },
      longestMs,
    )

    test(
      `${largeTurns} turns of 8 KB`,
      async () => {
        await playSession(
          { name, what: `${largeTurns} turns of 8 KB`, backend, flowName: Talk.id, compared: 100 },
          async (session) => {
            for (let count = 1; count <= largeTurns; count++) {
              await session.say(`${count} ${largeText}`)
              if (count % 50 === 0) await session.look()
            }
          },
        )
      },
      longestMs,
    )
  })
})

/** What the code has not run before takes longer, and must not count as an early turn. */
async function warmUp(backend: Backend): Promise<void> {
  const session = await LongSession.begin(backend, Talk.id)
  for (let count = 1; count <= 300; count++) await session.say(`warm ${count}`)
  for (let count = 1; count <= 3; count++) await session.say('photo', { attachments: [photo(count)] })
  await session.end()
}

function photo(count: number): { type: 'image'; mediaType: string; data: string } {
  const data = String(count).padStart(photoDigits, '0').padEnd(photoBytes, 'turnkeeper+/AZaz09')
  return { type: 'image', mediaType: 'image/jpeg', data }
}

interface Play {
  readonly name: string
  readonly what: string
  readonly backend: Backend
  readonly flowName: string
  /** How many of the last turns are compared with as many of the first ones. */
  readonly compared: number
}

/** Plays a session, checks what holds for every long one, and prints its figures. */
async function playSession(play: Play, take: (session: LongSession) => Promise<void>): Promise<void> {
  const session = await LongSession.begin(play.backend, play.flowName)
  let left: number
  try {
    await take(session)
    await check(play, session)
  } finally {
    left = await session.end()
  }
  expect(left, 'bytes left behind by a session that was deleted').toBe(0)
}

async function check({ name, what, compared }: Play, session: LongSession): Promise<void> {
  const stored = await session.look()
  const { document, bytesRead } = await session.readElsewhere()
  const { peaks, commands, trimmed } = session
  const { total, median, lastMs } = session.slowdown(compared)
  const figures = { peaks, bytesReadElsewhere: bytesRead, trimmed }
  console.log(
    `${what} on ${name.split(' ')[0]}: ${JSON.stringify(figures)}, ${[...commands].join(' | ')}; ` +
      `last ${compared} turns over the first: ${total.toFixed(2)}, median ${median.toFixed(2)} (${lastMs.toFixed(2)} ms)`,
  )
  // Another process has another memory.
  if (name !== 'memory') expect(isDeepStrictEqual(document, stored)).toBe(true)
  for (const bytes of [peaks.document, peaks.texts, bytesRead]) expect(bytes).toBeLessThan(mostBytes)
  // What a server allocates for a text may be larger by a quarter.
  expect(peaks.memory).toBeLessThan(mostBytes * 1.25)
  expect(peaks.read, 'bytes that a turn read').toBeLessThan(mostBytesRead)
  if (commands.size > 0) expect([...commands]).toEqual(['HGET EVALSHA'])
  expect(median).toBeLessThan(most)
}
