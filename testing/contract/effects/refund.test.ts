// A process is killed between a refund and its commit, or inside the call of the refund service; then the user repeats
// the message, and another process answers. The service counts one refund.
import type { ChildProcess } from 'node:child_process'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { isRedisMissing, type RedisServer, startRedis } from '../servers/redis-server.js'
import { isSqliteMissing } from '../stores/sqlite-package.js'
import type { StoreOrder } from '../storm/open-store.js'
import { createProcesses, endProcess, type WorkerProcesses } from '../worker-processes.js'
import { type RefundService, startRefundService } from './refund-service.js'
import type { RefundMessage, RefundReport } from './refund-worker.js'

let processes: WorkerProcesses
let service: RefundService

beforeAll(async () => {
  processes = await createProcesses(new URL('refund-worker.ts', import.meta.url))
})
afterAll(() => processes.close())
beforeEach(async () => {
  service = await startRefundService()
})
afterEach(() => service.close())

/** A process that is ready, and everything it reports. */
async function startWorker(store: StoreOrder) {
  const child: ChildProcess = processes.start()
  const reports: RefundReport[] = []
  let onReport: (() => void) | undefined
  child.on('message', (report: RefundReport) => {
    reports.push(report)
    onReport?.()
  })
  const until = async <Kind extends RefundReport['kind']>(kind: Kind) => {
    for (;;) {
      const found = reports.find((report) => report.kind === kind)
      if (found !== undefined) return found as Extract<RefundReport, { kind: Kind }>
      await new Promise<void>((resolve) => {
        onReport = resolve
      })
    }
  }
  child.send({ store, service: service.address })
  await until('ready')
  return {
    child,
    until,
    reports,
    async say(text: string, session?: string) {
      reports.length = 0
      child.send({ text, ...(session === undefined ? {} : { session }) } satisfies RefundMessage)
    },
  }
}

/** A conversation whose process is killed in its second turn, and the answer of another one to the same message. */
async function killedAndRepeated(store: StoreOrder, inside: boolean) {
  const first = await startWorker(store)
  await first.say('Hello')
  const { session } = await first.until('answered')
  const requested = service.nextRequest()
  await first.say('Refund it, and wait.', session)
  await (inside ? requested : first.until('refunded'))
  await endProcess(first.child)
  service.conduct = 'answers'
  const second = await startWorker(store)
  await second.say('Refund it.', session)
  const answered = await second.until('answered')
  const wasUncertain = second.reports.some(({ kind }) => kind === 'uncertain')
  await endProcess(second.child)
  expect(answered.session).toBe(session)
  return { text: answered.text, events: answered.events, wasUncertain }
}

let redis: RedisServer | undefined

const stores = [
  [
    'SQLite',
    isSqliteMissing,
    async (): Promise<StoreOrder> => ({ kind: 'sqlite', place: join(processes.folder, 'sessions.sqlite') }),
  ],
  [
    'Redis',
    isRedisMissing,
    async (): Promise<StoreOrder> => {
      redis ??= await startRedis()
      return { kind: 'redis', place: redis.url }
    },
  ],
] as const

afterAll(() => redis?.close())

describe.each(stores)('a refund with a process that is killed, on %s', (_name, isMissing, open) => {
  test.skipIf(isMissing)(
    'after the refund and before the commit: it is done once, and the repeat is certain',
    async () => {
      const { text, wasUncertain, events } = await killedAndRepeated(await open(), false)
      const [[key, count] = []] = service.refunds
      expect([service.refunds.size, count, text]).toEqual([1, 1, `Refunded under ${key}.`])
      expect([wasUncertain, events]).toEqual([false, []])
    },
  )

  test.skipIf(isMissing)(
    'inside the call, which took effect: the repeat knows that it is uncertain, and asks',
    async () => {
      service.conduct = 'refunds and does not answer'
      const { text, wasUncertain, events } = await killedAndRepeated(await open(), true)
      const [[key, count] = []] = service.refunds
      expect([service.refunds.size, count, text]).toEqual([1, 1, `Refunded under ${key}.`])
      expect([wasUncertain, events]).toEqual([true, ['refund:7 begun 2 times']])
    },
  )

  test.skipIf(isMissing)(
    'inside the call, which was lost: the repeat asks, and refunds under the same key',
    async () => {
      service.conduct = 'loses the request'
      const { text, wasUncertain } = await killedAndRepeated(await open(), true)
      const [[key, count] = []] = service.refunds
      expect([service.refunds.size, count, text, wasUncertain]).toEqual([1, 1, `Refunded under ${key}.`, true])
    },
  )
})
