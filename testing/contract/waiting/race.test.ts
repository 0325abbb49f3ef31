/**
 * Decides that of three who decide at once, in three processes, exactly one does, although processes are killed: a
 * manager's yes, a manager's no, and the customer's message.
 *
 * EVENT_RACES      sessions on each store. Default: 40.
 * EVENT_RACE_SEED  who is killed, and when. Printed. Default: random.
 */
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { describe, expect, test } from 'vitest'
import type { SessionDocument } from '../../../src/index.js'
import { startBackend } from '../retries/backend.js'
import { SeededRandom } from '../seeded-random.js'
import { isPostgresMissing } from '../servers/postgres-server.js'
import { isRedisMissing } from '../servers/redis-server.js'
import { isSqliteMissing } from '../stores/sqlite-package.js'
import type { StoreKind, StoreOrder } from '../storm/open-store.js'
import { createProcesses, endProcess, hasEnded, type WorkerProcesses } from '../worker-processes.js'
import { outcomes } from './race-flow.js'
import type { RaceAnswer, RaceTask } from './race-worker.js'

const races = Number(process.env.EVENT_RACES ?? 40)
const seed = Number(process.env.EVENT_RACE_SEED ?? Math.floor(Math.random() * 1_000_000))
const tasks = ['approve', 'decline', 'withdraw'] as const
const killsOneIn = 8
/** A process is killed within so many milliseconds after the race began. */
const killWithinMs = 12

const stores: readonly (readonly [StoreKind, boolean])[] = [
  ['redis', isRedisMissing],
  ['postgres', isPostgresMissing],
  ['sqlite', isSqliteMissing],
]

/** A process that is started anew after it was killed. */
class Racer {
  readonly #processes: WorkerProcesses
  readonly #store: StoreOrder
  #child: ChildProcess | undefined
  #number = 0

  constructor(processes: WorkerProcesses, store: StoreOrder) {
    this.#processes = processes
    this.#store = store
  }

  /** The answer; `undefined` if the process was killed before it came. */
  async ask(task: RaceTask): Promise<RaceAnswer | undefined> {
    const child = await this.#running()
    const number = this.#number++
    return new Promise((resolve) => {
      const listen = (answer: RaceAnswer): void => {
        if (answer.number !== number) return
        child.off('message', listen)
        child.off('exit', gone)
        resolve(answer)
      }
      const gone = (): void => resolve(undefined)
      child.on('message', listen)
      child.once('exit', gone)
      child.send({ ...task, number })
    })
  }

  async kill(): Promise<void> {
    if (this.#child !== undefined) await endProcess(this.#child)
  }

  async #running(): Promise<ChildProcess> {
    if (this.#child !== undefined && !hasEnded(this.#child)) return this.#child
    const child = this.#processes.start()
    child.send(this.#store)
    await once(child, 'message')
    // Not before: a process that is killed while it starts would never say that it has.
    this.#child = child
    return child
  }
}

/** One race, and what it left. */
async function race(racers: readonly Racer[], random: SeededRandom): Promise<readonly (RaceAnswer | undefined)[]> {
  const [first] = racers as [Racer, ...Racer[]]
  const { session = '' } = (await first.ask({ do: 'begin' })) ?? {}
  const asked = racers.map((racer, index) => racer.ask({ do: tasks[index] as 'approve', session }))
  if (random.below(killsOneIn) === 0) {
    await new Promise((resolve) => setTimeout(resolve, random.below(killWithinMs)))
    await random.pick(racers).kill()
  }
  const answers = await Promise.all(asked)
  // A killed winner may have left nothing: then somebody decides later.
  const last = await first.ask({ do: 'decline', session })
  const read = await first.ask({ do: 'read', session })
  return [...answers, last, read]
}

/** What is wrong with what a race left. */
function problemOf(answers: readonly (RaceAnswer | undefined)[]): string | undefined {
  const document = answers.at(-1)?.document as SessionDocument
  const decided = document.history.filter(({ reply }) => outcomes.includes(reply))
  const told = answers.filter((answer) => answer?.code === undefined && outcomes.includes(answer?.reply ?? ''))
  if (decided.length !== 1) return `${decided.length} outcomes in ${JSON.stringify(document.history)}`
  if (told.length > 1) return `${told.length} were told that they decided: ${JSON.stringify(answers.slice(0, -1))}`
  if (told.length === 1 && told[0]?.reply !== decided[0]?.reply) return `told ${told[0]?.reply}, not stored`
  const isLate = document.history.filter(({ reply }) => reply === 'too late').length
  // Nobody who lost has changed anything, except a message that is answered after the payment.
  if (document.turns !== 2 + isLate) return `${document.turns} turns: ${JSON.stringify(document.history)}`
  const isPaid = document.effects?.pay?.result !== undefined
  if (decided[0]?.reply === 'paid' && !isPaid) return 'paid without a payment'
  const losers = answers.slice(0, -1).filter((answer) => answer?.code !== undefined)
  const codes = ['EVENT_NOT_TAKEN', 'SESSION_CONFLICT', 'SESSION_ENDED']
  return losers.map((answer) => answer?.code ?? '').find((code) => !codes.includes(code))
}

describe.each(stores.filter(([, isMissing]) => !isMissing))('three decide at once, on %s', (kind) => {
  test('and exactly one does, whoever is killed', async () => {
    const backend = await startBackend(kind)
    const processes = await createProcesses(new URL('race-worker.ts', import.meta.url))
    try {
      const random = new SeededRandom(seed)
      const racers = tasks.map(() => new Racer(processes, backend.store))
      const wrong: string[] = []
      const winners: Record<string, number> = {}
      for (let count = 0; count < races; count++) {
        const answers = await race(racers, random)
        const problem = problemOf(answers)
        if (problem !== undefined) wrong.push(`race ${count}: ${problem}`)
        const winner =
          answers.at(-1)?.document?.history.find(({ reply }) => outcomes.includes(reply))?.reply ?? 'nobody'
        winners[winner] = (winners[winner] ?? 0) + 1
      }
      console.log(`${races} races on ${kind}, seed ${seed}: ${JSON.stringify(winners)}`)
      expect(wrong).toEqual([])
      // Otherwise it was no race.
      expect(Object.keys(winners).length).toBeGreaterThan(1)
    } finally {
      await processes.close()
      await backend.close()
    }
  })
})
