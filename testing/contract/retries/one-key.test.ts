/**
 * Decides what becomes of one key that is sent ten times over two processes of which one after the other is killed: for
 * the first message of a session, and for a later one. A service counts how often the work of the turn was done.
 */
import { describe, expect, test } from 'vitest'
import { startRefundService } from '../effects/refund-service.js'
import { isPostgresMissing } from '../servers/postgres-server.js'
import { isRedisMissing } from '../servers/redis-server.js'
import { isSqliteMissing } from '../stores/sqlite-package.js'
import type { StoreKind } from '../storm/open-store.js'
import { longestTurnMs } from '../storm/talk.js'
import { createProcesses } from '../worker-processes.js'
import { startBackend } from './backend.js'
import { isOutcome, type KeyedAnswer, textOf } from './keyed-turn.js'
import { type RefundWay, refundTalkId } from './retry-flows.js'
import { requestOf, sendOnce } from './send-once.js'
import { ServedWorkers } from './served-workers.js'

/** The turns of two processes that are held when their work is done, and nothing is stored. */
class HeldTurns {
  #isOpen = false
  readonly #held: (() => void)[] = []
  readonly #onHeld = new Map<number, () => void>()

  /** Resolves when the next turn of the process at a place is held. Every turn from now on is held. */
  next(place: number): Promise<void> {
    this.#isOpen = false
    return new Promise((resolve) => this.#onHeld.set(place, resolve))
  }

  hold(place: number, goOn: () => void): void {
    this.#onHeld.get(place)?.()
    if (this.#isOpen) goOn()
    else this.#held.push(goOn)
  }

  /** Lets them all go on, and those to come. */
  open(): void {
    this.#isOpen = true
    for (const goOn of this.#held.splice(0)) goOn()
  }
}

/** Sends a request to the worker at a place until there is an outcome. */
async function sendUntilAnswered(workers: ServedWorkers, place: number, request: RequestInit): Promise<KeyedAnswer> {
  for (;;) {
    const answer = await sendOnce(await workers.addressAt(place), request, longestTurnMs)
    if (answer !== undefined && isOutcome(answer)) return answer
  }
}

/** Has the process at place 1 do other work: what it would do at once with what it got before is done by then. */
async function sendProbe(workers: ServedWorkers, held: HeldTurns): Promise<void> {
  const probed = held.next(1)
  const request = requestOf(refundTalkId, { message: 'bare probe', asked: '' }, undefined)
  void sendOnce(await workers.addressAt(1), request, longestTurnMs)
  await probed
}

/** Sends a request ten times. @param killed - Whether the process is killed that does the work, or the other one. */
async function sendTenTimes(
  workers: ServedWorkers,
  held: HeldTurns,
  request: RequestInit,
  killed: 'working' | 'other',
) {
  const send = (place: number): Promise<KeyedAnswer> => sendUntilAnswered(workers, place, request)
  const working = held.next(0)
  const atOnce = [send(0)]
  await working
  const arrived = workers.nextRequest(1)
  atOnce.push(send(0), send(1), send(1))
  await arrived
  if (killed === 'other') await sendProbe(workers, held)
  await workers.kill(killed === 'working' ? 0 : 1)
  held.open()
  const answers = await Promise.all(atOnce)
  for (const place of [0, 1]) {
    const during = [send(place), send(1 - place)]
    await workers.kill(place)
    answers.push(...(await Promise.all(during)), await send(place))
  }
  return answers
}

const rows: readonly (readonly [StoreKind, RefundWay, 'working' | 'other', boolean, number | undefined])[] = [
  ['redis', 'once', 'working', isRedisMissing, 1],
  ['postgres', 'once', 'working', isPostgresMissing, 1],
  ['sqlite', 'once', 'working', isSqliteMissing, 1],
  ['redis-with-leases', 'bare', 'other', isRedisMissing, 1],
  ['redis-with-leases-for-everybody', 'bare', 'other', isRedisMissing, undefined],
  ['redis', 'bare', 'working', isRedisMissing, undefined],
  ['sqlite', 'bare', 'working', isSqliteMissing, undefined],
]

describe('one key, sent ten times over two processes with kills between', () => {
  test.each(rows.filter(([, , , isMissing]) => !isMissing))(
    '%s, work that is %s, the %s process killed: one turn, ten equal replies',
    async (kind, way, killed, _isMissing, runs) => {
      const backend = await startBackend(kind)
      const service = await startRefundService()
      const processes = await createProcesses(new URL('retry-worker.ts', import.meta.url))
      const held = new HeldTurns()
      const onWaiting = (place: number, goOn: () => void): void => held.hold(place, goOn)
      const workers = new ServedWorkers(processes, { store: backend.store, service: service.address }, onWaiting)
      try {
        await workers.start(2)
        let session = ''
        for (const name of ['first', 'later']) {
          const request = requestOf(refundTalkId, { message: `${way} ${name}`, asked: session }, crypto.randomUUID())
          const answers = await sendTenTimes(workers, held, request, killed)
          expect(answers).toHaveLength(10)
          const [text = '', ...others] = new Set(answers.map(textOf))
          expect([text, others]).toEqual([expect.stringContaining(`Refunded under ${name}.`), []])
          expect(answers.filter(({ isReplayed }) => !isReplayed).length).toBeLessThanOrEqual(1)
          session = answers[0]?.session ?? ''
          const count = service.refunds.get(name)
          if (runs === undefined) expect(count).toBeGreaterThanOrEqual(1)
          else expect(count).toBe(runs)
        }
        await workers.finish(longestTurnMs)
        const { sessions, unhandled } = workers.records()
        const stored = [...(await workers.read(sessions)).values()]
        const histories = stored.map(({ id, history }) => [id, history.map(({ message }) => message)])
        expect(histories).toEqual([[session, [`${way} first`, `${way} later`]]])
        expect([unhandled, workers.troubles]).toEqual([[], []])
      } finally {
        await processes.close()
        await service.close()
        await backend.close()
      }
    },
  )
})
