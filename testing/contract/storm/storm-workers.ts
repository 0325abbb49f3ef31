/** The worker processes of a storm. Each has a place and a journal; one that is killed is replaced at its place. */
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { endProcess, hasEnded, type WorkerProcesses } from '../worker-processes.js'
import { readJournals } from './journal.js'

/** A worker that was just started. */
export interface StartedWorker {
  readonly child: ChildProcess
  readonly place: number
  /** Of all workers of the storm, from 0. */
  readonly number: number
  /** The path of its journal. */
  readonly journal: string
}

/** The workers of one storm. */
export class StormWorkers {
  /** The paths of the journals of all workers, by their numbers. */
  readonly journals: string[] = []
  /** What went wrong, in words. */
  readonly troubles: string[] = []
  readonly #processes: WorkerProcesses
  readonly #onStart: (worker: StartedWorker) => void
  readonly #places: ChildProcess[] = []
  readonly #killed = new Set<ChildProcess>()

  /** @param onStart - Sends a worker its order. */
  constructor(processes: WorkerProcesses, onStart: (worker: StartedWorker) => void) {
    this.#processes = processes
    this.#onStart = onStart
  }

  /** Starts a worker at a place. */
  start(place: number): void {
    const child = this.#processes.start()
    const number = this.journals.length
    const journal = join(this.#processes.folder, `worker-${number}.jsonl`)
    // It may be killed before it opens it.
    writeFileSync(journal, '')
    this.journals.push(journal)
    this.#places[place] = child
    child.once('exit', (code, signal) => {
      if (code !== 0 && !this.#killed.has(child)) this.troubles.push(`worker ${number} ended with ${code ?? signal}`)
    })
    this.#onStart({ child, place, number, journal })
  }

  /** Kills the worker at a place, and starts another there. */
  async kill(place: number): Promise<void> {
    const child = this.#places[place]
    if (child === undefined) return
    this.#killed.add(child)
    await endProcess(child)
    // Another fault may have replaced it in the meantime.
    if (child === this.#places[place]) this.start(place)
  }

  /** Sends a message to every worker. */
  send(message: object | string): void {
    for (const child of this.#places) if (child.connected) child.send(message, () => undefined)
  }

  /**
   * Whether every worker has had a turn acknowledged, or is gone: before that a fault disturbs nothing, and a
   * busy machine takes seconds.
   */
  haveServed(): boolean {
    return this.#places.every((child, place) => hasEnded(child) || hasServed(this.journals[place] ?? ''))
  }

  /** Asks the workers to finish, and waits until they have ended by themselves. */
  async finish(withinMs: number): Promise<void> {
    const ends = this.#places.map((child) => (hasEnded(child) ? undefined : once(child, 'exit')))
    this.send('finish')
    const late = new AbortController()
    const all = Promise.all(ends).finally(() => late.abort())
    await Promise.race([all, sleep(withinMs, undefined, { signal: late.signal }).catch(() => undefined)])
    for (const [place, child] of this.#places.entries()) {
      if (!hasEnded(child)) this.troubles.push(`the worker at place ${place} did not end within ${withinMs} ms`)
    }
  }
}

function hasServed(journal: string): boolean {
  return readJournals([journal]).turns.some(({ answer }) => answer?.outcome === 'acknowledged')
}
