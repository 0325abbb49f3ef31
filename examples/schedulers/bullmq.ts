/**
 * Wakes sessions by delayed jobs of BullMQ. Redis must keep the jobs over a restart: docs/operations.md.
 *
 *     const wakes = createWakes(connection)
 *     const engine = new FlowEngine({ flows, sessionStore, schedule: wakes.schedule })
 *     const worker = wakes.work(engine) // in at least one process
 */
import { type ConnectionOptions, Queue, Worker } from 'bullmq'
import type { FlowEngine } from 'turnkeeper'

interface Wake {
  readonly sessionId: string
  readonly at: string
}

/** Makes the queue of this process, and its worker. Close both with the process. */
export function createWakes(connection: ConnectionOptions, name = 'turnkeeper-wakes') {
  const queue = new Queue<{ sessionId: string }>(name, {
    connection,
    defaultJobOptions: {
      // A wake fails if a turn of its session does, for example while a service is down.
      attempts: 8,
      backoff: { type: 'exponential', delay: 5_000 },
      removeOnComplete: true,
    },
  })

  return {
    queue,
    /** The engine option `schedule`. */
    async schedule({ sessionId, at }: Wake): Promise<void> {
      await queue.add('wake', { sessionId }, { delay: Math.max(0, Date.parse(at) - Date.now()) })
    },
    /** Wakes sessions in this process. */
    work: (engine: FlowEngine) =>
      new Worker<{ sessionId: string }>(
        name,
        async ({ data }) => {
          const { results } = await engine.wake(data)
          for (const { error } of results) if (error !== undefined) throw error
        },
        { connection },
      ),
  }
}
