/** Does the faults of a schedule, to whatever a storm is over. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Fault } from './schedule.js'
import { sharedNow } from './turn-record.js'

/** What the faults strike. */
export interface FaultTargets {
  /** Kills the worker at a place, and replaces it. */
  killWorker(place: number): Promise<void>
  /** Cuts connections. */
  cut(): void
  /** The server of the store; absent if the store is a file. */
  readonly server: FaultyServer | undefined
}

/** A server that can be paused and killed. */
export interface FaultyServer {
  pause(): void
  resume(): void
  kill(): Promise<void>
  start(): Promise<void>
}

/** How often each fault was done. */
export type FaultCounts = Readonly<Record<Fault['kind'], number>>

/**
 * Does the faults, each at its time. Those of workers and connections strike while the server is paused or down, too;
 * the server has one trouble at a time.
 *
 * @param troubles - Receives what went wrong, in words.
 */
export async function doFaults(
  faults: readonly Fault[],
  targets: FaultTargets,
  troubles: string[],
): Promise<FaultCounts> {
  const counts: Record<Fault['kind'], number> = { 'kill-worker': 0, cut: 0, 'pause-server': 0, 'kill-server': 0 }
  const attempt = async (fault: Fault): Promise<void> => {
    counts[fault.kind]++
    try {
      await doFault(fault, targets)
    } catch (error) {
      troubles.push(`${fault.kind} failed: ${String(error)}`)
    }
  }
  const startedAt = sharedNow()
  const underWay: Promise<void>[] = []
  let serverIsFree = Promise.resolve()
  for (const fault of faults) {
    const isOfServer = fault.kind === 'pause-server' || fault.kind === 'kill-server'
    if (isOfServer && targets.server === undefined) continue
    await sleep(Math.max(0, startedAt + fault.at - sharedNow()))
    if (isOfServer) serverIsFree = serverIsFree.then(() => attempt(fault))
    else underWay.push(attempt(fault))
  }
  await Promise.all([serverIsFree, ...underWay])
  return counts
}

async function doFault(fault: Fault, { server, killWorker, cut }: FaultTargets): Promise<void> {
  switch (fault.kind) {
    case 'cut':
      return cut()
    case 'kill-worker':
      return killWorker(fault.worker)
    case 'pause-server':
      server?.pause()
      await sleep(fault.forMs / 2)
      if (fault.cutsInBetween) cut()
      await sleep(fault.forMs / 2)
      return server?.resume()
    case 'kill-server':
      await server?.kill()
      await sleep(fault.downMs)
      return server?.start()
  }
}
