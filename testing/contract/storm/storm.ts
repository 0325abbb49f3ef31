/**
 * A storm: worker processes over one real Redis, faults by a schedule, then calm. In the end Redis is killed once
 * more, and a new store reads what is stored. verdict.ts decides what is wrong with it.
 */
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { SessionDocument } from '../../../src/index.js'
import { type RedisServer, startRedis } from '../servers/redis-server.js'
import { startTcpProxy, type TcpProxy } from '../servers/tcp-proxy.js'
import { until } from '../servers/until.js'
import { createProcesses, endProcess, hasEnded, type WorkerProcesses } from '../worker-processes.js'
import { type JournalRecords, readJournals } from './journal.js'
import { openStore, type StoreKind } from './open-store.js'
import { type Fault, stormSchedule } from './schedule.js'
import type { StormMessage, StormOrder, StormReport } from './storm-worker.js'
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
  readonly faults: Readonly<Record<Fault['kind'], number>>
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
  readonly #processes: WorkerProcesses
  readonly #workers: ChildProcess[] = []
  readonly #killed = new Set<ChildProcess>()
  readonly #journals: string[] = []
  readonly #sessions: string[]
  readonly #troubles: string[] = []
  readonly #faults: Record<Fault['kind'], number> = { 'kill-worker': 0, cut: 0, 'pause-redis': 0, 'kill-redis': 0 }

  constructor(options: StormOptions, redis: RedisServer, proxy: TcpProxy, processes: WorkerProcesses) {
    this.#options = options
    this.#sessions = Array.from({ length: options.slots ?? defaultSlots }, () => '')
    this.#redis = redis
    this.#proxy = proxy
    this.#processes = processes
  }

  async run(): Promise<StormRemains> {
    for (let place = 0; place < workerCount; place++) this.#startWorker(place)
    await until(() => this.#journals.every((journal, place) => hasServed(journal) || this.#isGone(place)))
    await this.#doFaults()
    const calmSince = sharedNow()
    await sleep(calmMs)
    await this.#finish()
    // What was acknowledged must be there after this, too.
    await this.#redis.kill()
    await this.#redis.start()
    const records = readJournals(this.#journals)
    const stored = await this.#read(records.sessions)
    return { ...records, stored, troubles: this.#troubles, faults: this.#faults, calmSince }
  }

  #startWorker(place: number): void {
    const child = this.#processes.start()
    const number = this.#journals.length
    const journal = join(this.#processes.folder, `worker-${number}.jsonl`)
    // It may be killed before it opens it.
    writeFileSync(journal, '')
    this.#journals.push(journal)
    this.#workers[place] = child
    child.once('exit', (code, signal) => {
      if (code !== 0 && !this.#killed.has(child)) this.#troubles.push(`worker ${number} ended with ${code ?? signal}`)
    })
    child.on('message', ({ slot, from, to }: StormReport) => {
      // Of two that began a new session, one is first.
      if (this.#sessions[slot] === from) this.#sessions[slot] = to
      this.#sendAll({ slot, session: this.#sessions[slot] ?? '' })
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

  #isGone(place: number): boolean {
    const worker = this.#workers[place]
    return worker === undefined || hasEnded(worker)
  }

  #sendAll(message: StormMessage): void {
    for (const worker of this.#workers) if (worker.connected) worker.send(message, () => undefined)
  }

  /** Faults of workers and connections strike while Redis is paused or down, too; Redis has one trouble at a time. */
  async #doFaults(): Promise<void> {
    const { seed, seconds } = this.#options
    const startedAt = sharedNow()
    const underWay: Promise<void>[] = []
    let redisIsFree = Promise.resolve()
    for (const fault of stormSchedule(seed, seconds, workerCount)) {
      await sleep(Math.max(0, startedAt + fault.at - sharedNow()))
      if (fault.kind === 'pause-redis' || fault.kind === 'kill-redis') {
        redisIsFree = redisIsFree.then(() => this.#attempt(fault))
      } else underWay.push(this.#attempt(fault))
      this.#proxy.takeTraffic()
    }
    await Promise.all([redisIsFree, ...underWay])
  }

  async #attempt(fault: Fault): Promise<void> {
    try {
      await this.#do(fault)
    } catch (error) {
      this.#troubles.push(`${fault.kind} failed: ${String(error)}`)
    }
  }

  async #do(fault: Fault): Promise<void> {
    this.#faults[fault.kind]++
    switch (fault.kind) {
      case 'cut':
        return this.#proxy.cut()
      case 'kill-worker': {
        const worker = this.#workers[fault.worker]
        if (worker === undefined) return
        this.#killed.add(worker)
        await endProcess(worker)
        // Somebody else may have ended and replaced it in the meantime.
        if (worker === this.#workers[fault.worker]) this.#startWorker(fault.worker)
        return
      }
      case 'pause-redis':
        this.#redis.pause()
        await sleep(fault.forMs / 2)
        if (fault.cutsInBetween) this.#proxy.cut()
        await sleep(fault.forMs / 2)
        return this.#redis.resume()
      case 'kill-redis':
        await this.#redis.kill()
        await sleep(fault.downMs)
        return this.#redis.start()
    }
  }

  /** Waits until the workers have ended by themselves. */
  async #finish(): Promise<void> {
    const ends = this.#workers.map((worker) => (hasEnded(worker) ? undefined : once(worker, 'exit')))
    this.#sendAll('finish')
    const late = new AbortController()
    const all = Promise.all(ends).finally(() => late.abort())
    await Promise.race([all, sleep(finishWithinMs, undefined, { signal: late.signal }).catch(() => undefined)])
    for (const [place, worker] of this.#workers.entries()) {
      if (!hasEnded(worker)) this.#troubles.push(`the worker at place ${place} did not end within ${finishWithinMs} ms`)
    }
  }

  async #read(sessions: readonly string[]): Promise<Map<string, SessionDocument>> {
    const engine = talkEngine(await openStore({ kind: 'redis', place: this.#redis.url }), true)
    const stored = new Map<string, SessionDocument>()
    try {
      for (const id of sessions) {
        const document = await engine.getSession(id).catch((error: unknown) => {
          this.#troubles.push(`${id} cannot be read: ${String(error)}`)
        })
        if (document !== undefined) stored.set(id, document)
      }
    } finally {
      await engine.close()
    }
    return stored
  }
}

/** Whether a worker has had a turn acknowledged: before that a fault disturbs nothing, and a busy machine takes seconds. */
function hasServed(journal: string): boolean {
  return readJournals([journal]).turns.some(({ answer }) => answer?.outcome === 'acknowledged')
}
