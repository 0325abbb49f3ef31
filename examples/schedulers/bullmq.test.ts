/** The delayed jobs, on a real Redis that has the sessions, too. */
import { FlowEngine } from 'turnkeeper'
import { createRedisKeyv, KeyvSessionStore } from 'turnkeeper/keyv'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { isRedisMissing, type RedisServer, startRedis } from '../../testing/contract/servers/redis-server.js'
import { createWakes } from './bullmq.js'
import { Reminder, reminded } from './reminder.js'

describe.skipIf(isRedisMissing)('delayed jobs of BullMQ', () => {
  let redis: RedisServer
  const closing: (() => Promise<unknown>)[] = []

  beforeAll(async () => {
    redis = await startRedis({ appendOnly: 'always', settings: { 'maxmemory-policy': 'noeviction' } })
  })

  afterAll(async () => {
    for (const close of closing.reverse()) await close()
    await redis?.close()
  })

  /** A process, with the queue of a name. */
  async function start(name: string, flows = [Reminder]) {
    const wakes = createWakes({ host: '127.0.0.1', port: redis.port }, name)
    const sessionStore = new KeyvSessionStore({ keyv: await createRedisKeyv(redis.url) })
    // The first wake comes after four times this.
    const limits = { storeTimeoutMs: 500 }
    const engine = new FlowEngine({ flows, sessionStore, schedule: wakes.schedule, limits })
    closing.push(
      () => wakes.queue.close(),
      () => engine.close(),
    )
    return { wakes, engine }
  }

  async function work({ wakes, engine }: Awaited<ReturnType<typeof start>>) {
    const worker = wakes.work(engine)
    closing.push(() => worker.close())
    return worker
  }

  async function begin({ engine }: Awaited<ReturnType<typeof start>>): Promise<string> {
    return (await engine.execute({ flowName: 'Reminder', userMessage: '' })).response.session
  }

  async function saidIn({ engine }: Awaited<ReturnType<typeof start>>, session: string) {
    return (await engine.getSession(session))?.history.map(({ reply }) => reply)
  }

  test('wake a session in another process, and leave no job', async () => {
    const [one, two] = [await start('whole'), await start('whole')]
    const worker = await work(two)
    const completed = new Promise((resolve) => worker.once('completed', resolve))
    const session = await begin(one)
    await completed
    expect(await saidIn(one, session)).toEqual(reminded)
    expect(await one.wakes.queue.getJobCounts()).toMatchObject({ completed: 0, delayed: 0, failed: 0 })
  })

  test('come again if the wake failed', async () => {
    const [one, two] = [await start('failing'), await start('failing', [])]
    const session = await begin(one)
    const worker = await work(two)
    const failed = new Promise<{ id?: string | undefined }>((resolve) =>
      worker.once('failed', (job) => resolve(job ?? {})),
    )
    const { id = '' } = await failed
    const job = await one.wakes.queue.getJob(id)
    expect([await job?.getState(), job?.attemptsMade]).toEqual(['delayed', 1])
    await worker.close()
    const better = await work(one)
    const completed = new Promise((resolve) => better.once('completed', resolve))
    await job?.promote()
    await completed
    expect(await saidIn(one, session)).toEqual(reminded)
  })
})
