/** Worker processes that serve one store over HTTP, each behind a proxy that can cut the connections of its clients. */
import { once } from 'node:events'
import type { SessionDocument } from '../../../src/index.js'
import type { SeededRandom } from '../seeded-random.js'
import { startTcpProxy, type TcpProxy } from '../servers/tcp-proxy.js'
import { until } from '../servers/until.js'
import { type JournalRecords, readJournals } from '../storm/journal.js'
import { type StartedWorker, StormWorkers } from '../storm/storm-workers.js'
import { endProcess, type WorkerProcesses } from '../worker-processes.js'
import type { RetryMessage, RetryOrder, RetryReport } from './retry-worker.js'

/** See above. */
export class ServedWorkers {
  readonly #processes: WorkerProcesses
  readonly #workers: StormWorkers
  readonly #proxies = new Set<TcpProxy>()
  /** The URL by the worker's index; absent until it listens. */
  readonly #byPlace = new Map<number, TcpProxy>()
  readonly #order: Omit<RetryOrder, 'name' | 'journal'>
  readonly #onWaiting: (place: number, goOn: () => void) => void

  /** @param onWaiting - Called when a turn waits for `goOn`. Default: none does. */
  constructor(
    processes: WorkerProcesses,
    order: Omit<RetryOrder, 'name' | 'journal'>,
    onWaiting: (place: number, goOn: () => void) => void = () => undefined,
  ) {
    this.#processes = processes
    this.#order = order
    this.#onWaiting = onWaiting
    this.#workers = new StormWorkers(processes, (worker) => this.#begin(worker))
  }

  /** Starts so many; resolves when all of them listen. */
  async start(count: number): Promise<void> {
    for (let place = 0; place < count; place++) this.#workers.start(place)
    await until(() => this.#byPlace.size === count)
  }

  /** What went wrong with them, in words. */
  get troubles(): readonly string[] {
    return this.#workers.troubles
  }

  /** What they wrote. */
  records(): JournalRecords {
    return readJournals(this.#workers.journals)
  }

  /** The address to which clients send messages for any worker that seems to listen. */
  someAddress(random: SeededRandom): Promise<string> {
    return this.#address(() => (this.#byPlace.size === 0 ? undefined : random.pick([...this.#byPlace.values()])))
  }

  /** The address of the worker at a place. Waits until it listens. */
  addressAt(place: number): Promise<string> {
    return this.#address(() => this.#byPlace.get(place))
  }

  /** Kills a worker. Another takes its place. */
  kill(place: number): Promise<void> {
    this.#byPlace.delete(place)
    return this.#workers.kill(place)
  }

  /** Cuts the connections of the clients of a worker. */
  cut(place: number): void {
    this.#byPlace.get(place)?.cut()
  }

  /** Resolves when a worker gets the next bytes from a client. */
  async nextRequest(place: number): Promise<void> {
    this.#byPlace.get(place)?.takeTraffic()
    await until(() => (this.#byPlace.get(place)?.takeTraffic().bytes ?? 0) > 0)
  }

  /** Ends the workers in order. */
  async finish(withinMs: number): Promise<void> {
    await this.#workers.finish(withinMs)
    await Promise.all([...this.#proxies].map((proxy) => proxy.close()))
  }

  /** What is stored under these IDs, as a new process reads it. */
  async read(ids: readonly string[]): Promise<Map<string, SessionDocument>> {
    const child = this.#processes.start()
    const order: RetryOrder = { ...this.#order, name: 'reader', journal: `${this.#processes.folder}/reader.jsonl` }
    child.send(order)
    await once(child, 'message')
    child.send({ read: ids } satisfies RetryMessage)
    const [{ documents, error }] = (await once(child, 'message')) as [RetryReport]
    await endProcess(child)
    if (documents === undefined) throw new Error(`The sessions cannot be read: ${error}`)
    return new Map(documents.map((document) => [document.id, document]))
  }

  async #address(find: () => TcpProxy | undefined): Promise<string> {
    let found: TcpProxy | undefined
    await until(() => {
      found = find()
      return found !== undefined
    })
    return `http://127.0.0.1:${found?.port}/ai/run`
  }

  #begin({ child, place, number, journal }: StartedWorker): void {
    child.send({ ...this.#order, name: `w${number}`, journal } satisfies RetryOrder, () => undefined)
    const goOn = (): void => void child.send('go on' satisfies RetryMessage, () => undefined)
    child.on('message', async ({ port, isWaiting }: RetryReport) => {
      if (isWaiting) this.#onWaiting(place, goOn)
      if (port === undefined) return
      const proxy = await startTcpProxy(port, false)
      this.#proxies.add(proxy)
      if (child.connected) this.#byPlace.set(place, proxy)
    })
  }
}
