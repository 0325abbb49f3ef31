// The memory store bounds what strangers can make a process keep: 1 200 requests without a session, each with a message
// as long as the limit allows, in a process whose heap would not hold them.
import { once } from 'node:events'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { createProcesses, type WorkerProcesses } from '../worker-processes.js'
import type { MemoryReport, MemoryTask } from './worker.js'

const heap = ['--max-old-space-size=256', '--expose-gc']
const mebibyte = 1024 * 1024

/** A busy machine collects for longer. */
const timeout = 300_000

let processes: WorkerProcesses

beforeEach(async () => {
  processes = await createProcesses(new URL('./worker.ts', import.meta.url))
})

afterEach(() => processes.close())

/** What the process reports, and how it ended. */
async function answer(
  task: MemoryTask,
): Promise<{ readonly report: MemoryReport | undefined; readonly ended: unknown }> {
  let report: MemoryReport | undefined
  // A process that runs out of memory writes pages about it.
  const child = processes.start(heap, task.bounded ? 'inherit' : 'ignore')
  child.once('message', (message) => {
    report = message as MemoryReport
  })
  const exit = once(child, 'exit')
  child.send(task)
  const [ended] = await exit
  return { report, ended }
}

describe('1 200 anonymous requests with large messages, and a heap of 256 MB', () => {
  test('are answered over a store with its default maxBytes, which holds what it says', { timeout }, async () => {
    const { report, ended } = await answer({ requests: 1_200, bounded: true })
    expect([report?.answered, ended]).toEqual([1_200, 0])
    expect(report?.evicted).toBeGreaterThan(500)
    // The price of the bound: strangers drive out somebody who was there before them.
    expect(report?.isFirstKept).toBe(false)
    // 128 MiB of sessions, and the process itself.
    expect(report?.heapUsed).toBeLessThan(160 * mebibyte)
  })

  test('end a process whose store has no bound: the messages are large enough to show it', { timeout }, async () => {
    const { report, ended } = await answer({ requests: 1_200, bounded: false })
    expect(report).toBe(undefined)
    expect(ended).not.toBe(0)
  })
})
