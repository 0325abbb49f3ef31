/**
 * A storm: worker processes over one real Redis, faults by a schedule, then calm. In the end Redis is killed once
 * more, and a new store reads what is stored. verdict.ts decides what is wrong with it.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { SessionDocument } from '../../../src/index.js'
import { type RedisServer, startRedis } from '../servers/redis-server.js'
import { startTcpProxy, type TcpProxy } from '../servers/tcp-proxy.js'
import { until } from '../servers/until.js'
import { createProcesses, type WorkerProcesses } from '../worker-processes.js'
import { doFaults, type FaultCounts, type FaultTargets } from './do-faults.js'
import { type JournalRecords, readJournals } from './journal.js'
import { listingTroubles } from './listing-troubles.js'
import { openStore, type StoreKind } from './open-store.js'
import { stormSchedule } from './schedule.js'
import type { StormMessage, StormOrder, StormReport } from './storm-worker.js'
import { type StartedWorker, StormWorkers } from './storm-workers.js'
import { longestTurnMs, talkEngine } from './talk.js'
import { sharedNow } from './turn-record.js'

/** What a storm is made of. */
export interface StormOptions {
  readonly seed: number
  /** How long there are faults. */
  readonly seconds: number
  /** Default: the one under test. */
  readonly store?: StoreKind
  /** Conversations at the same time. Default 36. */
  readonly slots?: number
}

/** What a storm leaves. */
export interface StormRemains extends JournalRecords {
  /** What is stored, by ID. */
  readonly stored: ReadonlyMap<string, SessionDocument>
  /** What went wrong with processes and documents, in words; none is expected. */
  readonly troubles: readonly string[]
  /** How often each fault was done. */
  readonly faults: FaultCounts
  /** When the last fault was over. */
  readonly calmSince: number
}

const workerCount = 4
const defaultSlots = 36
/** How long the workers go on after the last fault, before they are asked to finish. */
const calmMs = 2_000
/** In addition to the longest turn: the last turns on each slot, and the end of the process. */
const finishWithinMs: number = longestTurnMs + 20_000

/** Runs a storm. Whatever it started has ended when this settles. */
export async function runStorm(options: StormOptions): Promise<StormRemains> {
  const redis = await startRedis({ appendOnly: 'always' })
  let proxy: TcpProxy | undefined
  let processes: WorkerProcesses | undefined
  try {
    proxy = await startTcpProxy(redis.port)
    processes = await createProcesses(new URL('storm-worker.ts', import.meta.url))
    return await new Storm(options, redis, proxy, processes).run()
  } finally {
    await processes?.close()
    await proxy?.close()
    await redis.close()
  }
}

class Storm {
  readonly #options: StormOptions
  readonly #redis: RedisServer
  readonly #proxy: TcpProxy
  readonly #workers: StormWorkers
  readonly #sessions: string[]
  readonly #troubles: string[] = []

  constructor(options: StormOptions, redis: RedisServer, proxy: TcpProxy, processes: WorkerProcesses) {
    this.#options = options
    this.#sessions = Array.from({ length: options.slots ?? defaultSlots }, () => '')
    this.#redis = redis
    this.#proxy = proxy
    this.#workers = new StormWorkers(processes, (worker) => this.#order(worker))
  }

  async run(): Promise<StormRemains> {
    const workers = this.#workers
    for (let place = 0; place < workerCount; place++) workers.start(place)
    await until(() => workers.haveServed())
    const { seed, seconds } = this.#options
    const faults = await doFaults(stormSchedule(seed, seconds, workerCount), this.#targets(), this.#troubles)
    const calmSince = sharedNow()
    await sleep(calmMs)
    await workers.finish(finishWithinMs)
    // What was acknowledged must be there after this, too.
    await this.#redis.kill()
    await this.#redis.start()
    const records = readJournals(workers.journals)
    const stored = await this.#read(records.sessions)
    return { ...records, stored, troubles: [...workers.troubles, ...this.#troubles], faults, calmSince }
  }

  #targets(): FaultTargets {
    return {
      killWorker: (place) => this.#workers.kill(place),
      cut: () => {
        this.#proxy.cut()
        this.#proxy.takeTraffic()
      },
      server: this.#redis,
    }
  }

  #order({ child, number, journal }: StartedWorker): void {
    child.on('message', ({ slot, from, to }: StormReport) => {
      // Of two that began a new session, one is first.
      if (this.#sessions[slot] === from) this.#sessions[slot] = to
      this.#workers.send({ slot, session: this.#sessions[slot] ?? '' } satisfies StormMessage)
    })
    const order: StormOrder = {
      name: `w${number}`,
      seed: this.#options.seed * 1_000 + number,
      store: { kind: this.#options.store ?? 'redis', place: `redis://127.0.0.1:${this.#proxy.port}` },
      journal,
      sessions: this.#sessions,
    }
    child.send(order, () => undefined)
  }

  async #read(sessions: readonly string[]): Promise<Map<string, SessionDocument>> {
    // Otherwise the first listing would go through everything, and make good what the sets of owners lack.
    await this.#redis.command('SET', 'turnkeeper::~owners', '1')
    const engine = talkEngine(await openStore({ kind: 'redis', place: this.#redis.url }), true)
    const stored = new Map<string, SessionDocument>()
    try {
      for (const id of sessions) {
        const document = await engine.getSession(id).catch((error: unknown) => {
          this.#troubles.push(`${id} cannot be read: ${String(error)}`)
        })
        if (document !== undefined) stored.set(id, document)
      }
      this.#troubles.push(...(await listingTroubles(engine, stored)))
    } finally {
      await engine.close()
    }
    return stored
  }
}
