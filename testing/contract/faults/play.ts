/**
 * One simulated run: clients talk to two engines over one backend, at once and one after another, while faults occur.
 * Then the faults stop, and every session gets one more turn. A seed decides all of it.
 */

import type { DeleteResult } from '../../../src/index.js'
import { FlowEngine, type FlowServices, type RunResponseType, type SessionDocument } from '../../../src/index.js'
import { SeededRandom } from '../seeded-random.js'
import type { FlowName, Verb } from '../simulation/model-types.js'
import { settle } from '../simulation/world.js'
import { type Backend, keyvBackend, memoryBackend } from './backend.js'
import { type Pauses, pausingFlows, pausingProvider } from './flows.js'
import { type FaultRates, Life, noFaults, Stage } from './stage.js'

export const turnTimeoutMs = 20_000
export const storeTimeoutMs = 5_000

/** One request of a client. */
export interface Call {
  readonly kind: 'turn' | 'delete'
  readonly life: Life
  /** The requested session. */
  readonly asked: string | undefined
  /** The message of a turn; empty for a delete. */
  readonly message: string
  readonly launched: number
  readonly launchedAt: number
  /** Ticks at which the flow code of the turn ran. */
  readonly entered: number[]
  /** The session in which it ran. */
  ranIn?: string
  /** Infinite until it is answered. */
  replied: number
  repliedAt: number
  response?: RunResponseType
  deleted?: DeleteResult
  /** Its process has ended: it gets no answer. */
  isLost: boolean
}

interface Seat {
  life: Life
  engine: FlowEngine
}

/** The result of a run. */
export interface Played {
  readonly seed: number
  readonly store: 'memory' | 'keyv'
  readonly stage: Stage
  readonly backend: Backend
  readonly calls: readonly Call[]
  /** Every session ID that an engine made, and when. */
  readonly issued: ReadonlyMap<string, number>
  readonly rejections: readonly unknown[]
  /** Two turns of one session at once in one engine, in words. */
  readonly overlaps: readonly string[]
  /** The calls after the last fault. */
  readonly healed: readonly Call[]
  /** What a new store reads in the end. */
  readonly read: ReadonlyMap<string, SessionDocument>
  readonly locksLeft: number
}

const verbs: readonly Verb[] = ['say', 'say', 'say', 'say', 'csv', 'move', 'move', 'end', 'boom']
const flows: readonly FlowName[] = ['Notes', 'Ledger', 'Talk', 'Talk']
/** Calm, now and then, often, and a backend or a flow that hardly works. */
const rates: readonly FaultRates[] = [
  noFaults,
  { write: 0.05, read: 0.05, code: 0.02 },
  { write: 0.15, read: 0.1, code: 0.05 },
  { write: 0.15, read: 0.1, code: 0.05 },
  { write: 0.4, read: 0.1, code: 0.01 },
  { write: 0.5, read: 0.3, code: 0 },
  { write: 0.05, read: 0.4, code: 0 },
  { write: 0.1, read: 0.05, code: 0.3 },
  { write: 0.4, read: 0.05, code: 0.15 },
  // Answers that are lost, or late: a request that is sent twice meets itself.
  { write: 0.8, read: 0.8, code: 0, only: ['error after', 'stale read'] },
  { write: 0.8, read: 0.1, code: 0.1, only: ['delay'] },
  { write: 0.8, read: 0.1, code: 0.1, only: ['delay'] },
]
const waits = [10, 1_000, 3_000, 5_000]
/** Jumps of time after which nothing may be under way. */
const patience = 400

class Run {
  readonly seed: number
  readonly random: SeededRandom
  readonly stage: Stage
  readonly backend: Backend
  readonly store: 'memory' | 'keyv'
  readonly calls: Call[] = []
  readonly issued = new Map<string, number>()
  readonly overlaps: string[] = []
  readonly rejections: unknown[] = []
  readonly seats: readonly [Seat, Seat]
  /** Sessions that clients know, and their flows. */
  readonly #known: { readonly id: string; readonly flow: FlowName }[] = []
  readonly #byToken = new Map<string, Call>()
  /** How soon the next call comes while others are under way. */
  readonly #hurry: number
  /** How often time passes while something can still run. */
  readonly #pace: number
  /** Whether all requests go to one session. */
  readonly #isCrowd: boolean
  #count = 0

  constructor(seed: number, traces: boolean) {
    this.seed = seed
    this.random = new SeededRandom(seed)
    this.stage = new Stage(this.random, traces)
    this.store = this.random.chance(0.4) ? 'memory' : 'keyv'
    const cacheBytes = this.random.pick([undefined, undefined, 0, 1_500])
    this.backend = this.store === 'memory' ? memoryBackend(this.stage) : keyvBackend(this.stage, cacheBytes)
    this.#hurry = this.random.pick([0, 0.1, 0.3, 0.6])
    this.#pace = this.random.pick([0.01, 0.03, 0.15])
    this.#isCrowd = this.random.chance(0.4)
    this.seats = [this.#seat(0), this.#seat(1)]
    this.stage.onGone = (life) => {
      for (const call of this.calls)
        if (call.life === life && call.replied === Number.POSITIVE_INFINITY) call.isLost = true
    }
  }

  /** Everything, with faults; mostly in a session that was made before the first fault. */
  async playFaults(): Promise<void> {
    let actions = 4 + this.random.below(7)
    if (this.random.chance(0.8)) {
      this.#turn(0, undefined, 'say')
      await this.drain()
    }
    this.stage.faultRates = this.random.pick(rates)
    while (actions > 0 || this.stage.pending > 0) {
      if (actions > 0 && (this.stage.pending === 0 || this.random.chance(this.#hurry))) {
        actions--
        this.#act()
      } else if (this.random.chance(this.#pace)) this.stage.jump(this.random.pick(waits))
      else this.stage.goOn()
      await settle()
      if (this.stage.pending === 0 && this.random.chance(0.7)) await this.drain()
    }
    await this.drain()
  }

  /** Lets everything under way end; time passes only when nothing else can happen. */
  async drain(): Promise<void> {
    for (let jumps = 0; jumps < patience; ) {
      await settle()
      if (this.stage.pending > 0) this.stage.goOn()
      else if (this.stage.clock.pending > 0) {
        this.stage.jump(2_500)
        jumps++
      } else return
    }
  }

  /** One more turn in each stored session, through an engine that has seen the faults or a new one. */
  async playHealed(): Promise<readonly Call[]> {
    this.stage.faultRates = noFaults
    const before = this.calls.length
    for (const id of [...this.backend.stored.keys()].map((key) => key.slice(key.lastIndexOf(':') + 1))) {
      const flow = this.#known.find((known) => known.id === id)?.flow
      if (flow === undefined) continue
      const index = this.random.pick([0, 1] as const)
      if (this.random.chance(0.3)) this.#replace(index)
      this.#turn(index, { id, flow }, 'say')
      await this.drain()
    }
    return this.calls.slice(before)
  }

  async readAll(): Promise<Map<string, SessionDocument>> {
    const store = this.backend.plainStore()
    const read = new Map<string, SessionDocument>()
    for (const key of this.backend.stored.keys()) {
      const id = key.slice(key.lastIndexOf(':') + 1)
      try {
        const document = await store.load(id)
        if (document !== undefined) read.set(id, document)
      } catch (error) {
        this.rejections.push(error)
      }
    }
    return read
  }

  #act(): void {
    const index = this.random.pick([0, 1] as const)
    if (this.seats[index].life.isGone && this.random.chance(0.8)) this.#replace(index)
    const target = this.#target()
    if (target !== undefined && this.random.chance(this.#isCrowd ? 0.04 : 0.12)) this.#delete(index, target.id)
    else this.#turn(index, target, this.#isCrowd && this.random.chance(0.8) ? 'say' : this.random.pick(verbs))
  }

  /** Mostly the session that is new, because most is under way there. Nothing: a session is to be begun. */
  #target(): { readonly id: string; readonly flow: FlowName } | undefined {
    if (this.#known.length === 0 || (!this.#isCrowd && this.random.chance(0.1))) return undefined
    return this.random.chance(0.7) ? this.#known.at(-1) : this.random.pick(this.#known)
  }

  #replace(index: 0 | 1): void {
    Object.assign(this.seats[index], this.#seat(index))
  }

  #turn(index: 0 | 1, target: { readonly id: string; readonly flow: FlowName } | undefined, verb: Verb): void {
    if (this.seats[index].life.isGone) this.#replace(index)
    const { life, engine } = this.seats[index]
    const flow = target?.flow ?? this.random.pick(flows)
    const token = `t${++this.#count}`
    const message = `${verb} ${token}`
    const call = this.#call('turn', life, target?.id, message)
    this.#byToken.set(token, call)
    const input = { flowName: flow, userMessage: message, ...(target === undefined ? {} : { sessionId: target.id }) }
    const way = this.random.below(3)
    const answer = (
      way === 0
        ? engine.run(input)
        : way === 1
          ? engine.runFlow(flow, message, target?.id)
          : engine.execute(input).then(({ response }) => response)
    ).then((response) => {
      call.response = response
      const { session } = response
      if (session !== '' && !this.#known.some(({ id }) => id === session)) this.#known.push({ id: session, flow })
    })
    this.#await(call, answer)
  }

  #delete(index: 0 | 1, id: string): void {
    if (this.seats[index].life.isGone) this.#replace(index)
    const { life, engine } = this.seats[index]
    const call = this.#call('delete', life, id, '')
    this.#await(
      call,
      engine.deleteSession(id).then((result) => {
        call.deleted = result
      }),
    )
  }

  #call(kind: Call['kind'], life: Life, asked: string | undefined, message: string): Call {
    this.stage.note('client:', kind, message, 'of', asked ?? 'a new session', 'on engine', life.seat)
    const call: Call = {
      kind,
      life,
      asked,
      message,
      launched: this.backend.timeline.tick(),
      launchedAt: this.stage.clock.now(),
      entered: [],
      replied: Number.POSITIVE_INFINITY,
      repliedAt: Number.POSITIVE_INFINITY,
      isLost: false,
    }
    this.calls.push(call)
    return call
  }

  #await(call: Call, answer: Promise<void>): void {
    const replied = (): void => {
      call.replied = this.backend.timeline.tick()
      call.repliedAt = this.stage.clock.now()
      this.stage.note('answer to', call.kind, call.message, call.response ?? call.deleted)
    }
    answer.then(replied, (error: unknown) => {
      replied()
      this.rejections.push(error)
    })
  }

  #seat(seat: 0 | 1): Seat {
    const life = new Life(seat, this.stage.clock)
    const pauses: Pauses = {
      pause: (label) =>
        this.stage.pass({ life, label: `engine ${seat}: ${label}`, kind: 'code', run: () => undefined }),
      during: (token, sessionId) => {
        const call = this.#byToken.get(token)
        call?.entered.push(this.backend.timeline.tick())
        if (call !== undefined) call.ranIn = sessionId
        return pauses.pause(`the flow code of ${token}`)
      },
    }
    const store = this.backend.storeOf(life)
    const engine = new FlowEngine({
      flows: pausingFlows,
      providers: [pausingProvider(pauses)],
      sessionStore: store,
      services: pauses as unknown as FlowServices,
      clock: life.clock,
      generateId: (kind) => {
        const id = `${kind}${++this.#count}`
        if (kind === 'session') this.issued.set(id, this.backend.timeline.tick())
        return id
      },
      limits: { turnTimeoutMs, storeTimeoutMs },
      // The console asks the machine for the time.
      logger: { debug() {}, info() {}, warn() {}, error() {} },
    })
    this.#watchTurns(engine)
    return { life, engine }
  }

  /** Between the start and the end of a turn no other one may start in its session. */
  #watchTurns(engine: FlowEngine): void {
    const running = new Map<string, string>()
    // A turn that does not continue the requested session releases it, and has a new session.
    engine.on('session:restored', ({ sessionId, turnId }) => {
      const other = running.get(sessionId)
      if (other !== undefined) this.overlaps.push(`${turnId} began in ${sessionId} before ${other} had ended`)
      running.set(sessionId, turnId)
    })
    engine.on('turn:end', ({ turnId }) => {
      for (const [sessionId, other] of running) if (other === turnId) running.delete(sessionId)
    })
  }
}

/** Plays the run of a seed. */
export async function play(seed: number, traces: boolean): Promise<Played> {
  const run = new Run(seed, traces)
  await run.playFaults()
  const { stage, backend, store, calls, issued, rejections, overlaps } = run
  const healed = await run.playHealed()
  const read = await run.readAll()
  const locksLeft = run.seats.reduce(
    (sum, { life, engine }) => sum + (life.isGone ? 0 : engine.getFlowSession().locked),
    0,
  )
  return { seed, store, stage, backend, calls, issued, rejections, overlaps, healed, read, locksLeft }
}
