/** The job over one table, on a real Postgres that has the sessions, too. */
import { Pool } from 'pg'
import { FlowEngine } from 'turnkeeper'
import { createPostgresKeyv, KeyvSessionStore } from 'turnkeeper/keyv'
import { VirtualClock } from 'turnkeeper/testing'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  isPostgresMissing,
  type PostgresServer,
  startPostgres,
} from '../../testing/contract/servers/postgres-server.js'
import { WakeTable } from './cron.js'
import { Reminder, reminded } from './reminder.js'

describe.skipIf(isPostgresMissing)('a cron job over one table of Postgres', () => {
  let server: PostgresServer
  let pool: Pool
  let wakes: WakeTable
  let clock: VirtualClock
  /** Two processes. */
  let engines: FlowEngine[]

  beforeAll(async () => {
    server = await startPostgres()
    pool = new Pool({ connectionString: server.url })
    wakes = new WakeTable((text, values) => pool.query({ text, values }).then(({ rows }) => rows))
    await wakes.create()
    clock = new VirtualClock()
    engines = []
    for (const _ of ['one', 'two']) {
      const sessionStore = new KeyvSessionStore({ keyv: await createPostgresKeyv(server.url) })
      engines.push(new FlowEngine({ flows: [Reminder], sessionStore, clock, schedule: wakes.schedule }))
    }
  })

  afterAll(async () => {
    for (const engine of engines ?? []) await engine.close()
    await pool?.end()
    await server?.close()
  })

  async function begin(): Promise<string> {
    const { response } = await (engines[0] as FlowEngine).execute({ flowName: 'Reminder', userMessage: '' })
    return response.session
  }

  async function saidIn(sessionId: string): Promise<string[] | undefined> {
    return (await engines[0]?.getSession(sessionId))?.history.map(({ reply }) => reply)
  }

  const [one, two] = [() => engines[0] as FlowEngine, () => engines[1] as FlowEngine]

  test('wakes in another process what is due, and leaves no row', async () => {
    const session = await begin()
    expect(await wakes.wakeDue(two(), clock.now())).toBe(0)
    await clock.advance(60_000)
    expect(await wakes.wakeDue(two(), clock.now())).toBe(1)
    expect(await saidIn(session)).toEqual(reminded)
    expect((await pool.query({ text: 'SELECT * FROM wake' })).rows).toEqual([])
  })

  test('two jobs at once remind once', async () => {
    const session = await begin()
    await clock.advance(60_000)
    await Promise.all([wakes.wakeDue(one(), clock.now()), wakes.wakeDue(two(), clock.now())])
    expect(await saidIn(session)).toEqual(reminded)
  })

  test('a wake that fails is tried again later, behind the others', async () => {
    const session = await begin()
    await clock.advance(60_000)
    const closed = new FlowEngine({
      flows: [],
      sessionStore: new KeyvSessionStore({ keyv: await createPostgresKeyv(server.url) }),
      clock,
    })
    expect(await wakes.wakeDue(closed, clock.now())).toBe(0)
    await closed.close()
    expect(await wakes.wakeDue(one(), clock.now())).toBe(0)
    await clock.advance(300_000)
    expect(await wakes.wakeDue(one(), clock.now())).toBe(1)
    expect(await saidIn(session)).toEqual(reminded)
  })
})
