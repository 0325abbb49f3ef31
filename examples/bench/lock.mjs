/**
 * The lock under load: 100 000 turns that queue for one session, and a million sessions that are locked once each. All
 * of the first must run in order; the second must leave nothing behind.
 */
import { Flow, FlowEngine, LogicStep, MemorySessionStore, reply } from 'turnkeeper'
import { bench, heapInUse } from './harness.mjs'

const queuedTurns = 100_000
const sessions = 1_000_000
/** Sessions under way at a time. */
const atOnce = 100

class Echo extends LogicStep {
  static id = 'Echo'
  run(turn) {
    return reply(turn.message)
  }
}

class EchoFlow extends Flow {
  static id = 'EchoFlow'
  steps() {
    return [Echo]
  }
}

bench({
  url: import.meta.url,
  title: `lock: ${queuedTurns} turns queued on one session, and ${sessions} sessions once each`,
  runs: 1,
  async once() {
    return { ...(await queue()), ...(await spread()) }
  },
  rows: [
    { label: 'turns queued on one session', figure: 'seconds', unit: 's' },
    { label: 'turns that failed', figure: 'failed', unit: '', target: 0 },
    { label: 'turns out of order, as answered', figure: 'outOfOrder', unit: '', target: 0 },
    { label: 'turns out of order, as stored', figure: 'storedOutOfOrder', unit: '', target: 0 },
    { label: 'locks left by the queue', figure: 'locksLeft', unit: '', target: 0 },
    { label: 'sessions once each', figure: 'spreadSeconds', unit: 's' },
    { label: 'locks left by the sessions', figure: 'spreadLocksLeft', unit: '', target: 0 },
    { label: 'heap growth of the sessions', figure: 'grownMB', unit: 'MB', target: 5 },
  ],
})

async function queue() {
  const unlimited = Number.POSITIVE_INFINITY
  const limits = {
    maxConcurrentTurns: unlimited,
    maxQueuedTurnsPerSession: unlimited,
    turnTimeoutMs: unlimited,
    maxSessionBytes: unlimited,
  }
  const store = new MemorySessionStore()
  const engine = new FlowEngine({ flows: [EchoFlow], sessionStore: store, limits })
  const { session: sessionId } = await engine.run({ flowName: 'EchoFlow', userMessage: '0' })
  const start = performance.now()
  let failed = 0
  let outOfOrder = 0
  let last = 0
  await Promise.all(
    Array.from({ length: queuedTurns }, async (_, index) => {
      const response = await engine.run({ flowName: 'EchoFlow', userMessage: String(index + 1), sessionId })
      if (!response.success) failed++
      else if (Number(response.message) !== ++last) outOfOrder++
    }),
  )
  const seconds = (performance.now() - start) / 1000
  const { history } = await engine.getSession(sessionId)
  const storedOutOfOrder = history.filter(
    (entry, index) => entry.message !== String(index) || entry.turn !== index + 1,
  ).length
  const locksLeft = engine.getFlowSession().locked
  await engine.close()
  return {
    seconds,
    failed,
    outOfOrder,
    storedOutOfOrder: storedOutOfOrder + Math.abs(history.length - 1 - queuedTurns),
    locksLeft,
  }
}

async function spread() {
  const engine = new FlowEngine({ flows: [EchoFlow], sessionStore: new MemorySessionStore({ maxSessions: 100 }) })
  // An unknown ID is locked too; the new session gets another ID.
  const once = (index) => engine.run({ flowName: 'EchoFlow', userMessage: 'Hello', sessionId: `unknown-${index}` })
  const some = (from, count) => Promise.all(Array.from({ length: count }, (_, index) => once(from + index)))
  for (let count = 0; count < 100; count++) await some(-atOnce * (count + 1), atOnce)
  const before = await heapInUse()
  const start = performance.now()
  for (let count = 0; count < sessions; count += atOnce) await some(count, atOnce)
  const spreadSeconds = (performance.now() - start) / 1000
  const grownMB = ((await heapInUse()) - before) / 1_000_000
  const spreadLocksLeft = engine.getFlowSession().locked
  await engine.close()
  return { spreadSeconds, grownMB, spreadLocksLeft }
}
