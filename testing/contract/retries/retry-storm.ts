/**
 * A storm of repeats: worker processes over one store, clients that repeat every message blindly under its key until it
 * is answered, and faults by a schedule, then calm. In the end a new process reads what is stored. retry-verdict.ts
 * decides what is wrong with it.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { SessionDocument } from '../../../src/index.js'
import { SeededRandom } from '../seeded-random.js'
import { doFaults, type FaultCounts } from '../storm/do-faults.js'
import type { JournalRecords } from '../storm/journal.js'
import type { StoreKind } from '../storm/open-store.js'
import { type FaultRates, stormSchedule } from '../storm/schedule.js'
import { longestTurnMs } from '../storm/talk.js'
import { createProcesses, type WorkerProcesses } from '../worker-processes.js'
import { type Backend, startBackend } from './backend.js'
import type { KeyedTurn } from './keyed-turn.js'
import { RetryingClient } from './retrying-client.js'
import { ServedWorkers } from './served-workers.js'

/** What a storm of repeats is made of. */
export interface RetryStormOptions {
  readonly store: StoreKind
  readonly seed: number
  /** How long there are faults. */
  readonly seconds: number
  /** Default: yes. */
  readonly sendsKeys?: boolean
}

/** What it leaves. */
export interface RetryStormRemains extends Pick<JournalRecords, 'sessions' | 'unhandled'> {
  readonly turns: readonly KeyedTurn[]
  /** What is stored, by ID. */
  readonly stored: ReadonlyMap<string, SessionDocument>
  readonly troubles: readonly string[]
  readonly faults: FaultCounts
}

const workerCount = 3
const clientCount = 32
/** Few of the server: while it is down there is nothing to repeat but failures. */
const rates: FaultRates = { workerKills: 0.8, cuts: 4, serverFaults: 0.15 }
/** How long the clients go on after the last fault. */
const calmMs = 500

/** Runs a storm. Whatever it started has ended when this settles. */
export async function runRetryStorm(options: RetryStormOptions): Promise<RetryStormRemains> {
  let backend: Backend | undefined
  let processes: WorkerProcesses | undefined
  try {
    backend = await startBackend(options.store)
    processes = await createProcesses(new URL('retry-worker.ts', import.meta.url))
    return await storm(options, backend, processes)
  } finally {
    await processes?.close()
    await backend?.close()
  }
}

async function storm(
  { seed, seconds, sendsKeys = true }: RetryStormOptions,
  { store, server, cut }: Backend,
  processes: WorkerProcesses,
): Promise<RetryStormRemains> {
  const workers = new ServedWorkers(processes, { store })
  await workers.start(workerCount)
  const random = new SeededRandom(seed)
  const clients = Array.from({ length: clientCount }, (_, number) => {
    const chooseWorker = (own: SeededRandom): Promise<string> => workers.someAddress(own)
    return new RetryingClient({ number, seed: seed * 1_000 + number, sendsKeys, chooseWorker })
  })
  const talks = Promise.all(clients.map((client) => client.talk()))
  const troubles: string[] = []
  const targets = {
    killWorker: (place: number) => workers.kill(place),
    // Half of the cuts are between a client and a worker, and half between the workers and their store.
    cut: () => (server === undefined || random.chance(0.5) ? workers.cut(random.below(workerCount)) : cut()),
    server,
  }
  const faults = await doFaults(stormSchedule(seed, seconds, workerCount, rates), targets, troubles)
  await sleep(calmMs)
  for (const client of clients) client.finish()
  await talks
  await workers.finish(longestTurnMs)
  // What was answered must be there after this, too.
  await server?.kill()
  await server?.start()
  const { sessions, unhandled } = workers.records()
  const stored = await workers.read(sessions)
  const turns = clients.flatMap((client) => client.turns)
  return { turns, sessions, unhandled, stored, troubles: [...workers.troubles, ...troubles], faults }
}
