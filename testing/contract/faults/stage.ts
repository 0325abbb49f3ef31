/**
 * Schedules the engines of one simulated run. Everything that an engine waits for passes through here, one step at a
 * time, in an order that the seed decides, and a fault may be injected into it. It does not know about sessions, and
 * checks nothing.
 */

import type { Clock } from '../../../src/index.js'
import { VirtualClock } from '../../index.js'
import type { SeededRandom } from '../seeded-random.js'

/** What may happen at an `await`. */
export type FaultKind = 'error before' | 'error after' | 'delay' | 'hang' | 'process gone' | 'stale read'

/** The faults, by the place where they happen. `late`: it takes effect, but only after a long time. */
type Fault =
  | 'error before'
  | 'error after'
  | 'late'
  | 'slow answer'
  | 'hang before'
  | 'hang after'
  | 'gone before'
  | 'gone after'
  | 'gone, late'
  | 'stale read'

const kindOf: Readonly<Record<Fault, FaultKind>> = {
  'error before': 'error before',
  'error after': 'error after',
  late: 'delay',
  'slow answer': 'delay',
  'hang before': 'hang',
  'hang after': 'hang',
  'gone before': 'process gone',
  'gone after': 'process gone',
  'gone, late': 'process gone',
  'stale read': 'stale read',
}

const ofWrites: readonly Fault[] = [
  'error before',
  'error after',
  'error after',
  'late',
  'slow answer',
  'hang before',
  'hang after',
  'gone before',
  'gone after',
  'gone, late',
]
/** Often: mostly there is nothing older to read. */
const stale: readonly Fault[] = ['stale read', 'stale read', 'stale read', 'stale read']
const ofReads: readonly Fault[] = ['error before', 'error before', 'late', 'hang before', 'gone before', ...stale]
const ofCode: readonly Fault[] = ['error before', 'error after', 'late', 'hang before', 'gone before']

/** Milliseconds of a delay: shorter than every deadline, around them, and longer than all of them. */
const delays = [20, 2_000, 5_000, 8_000, 16_000, 30_000, 70_000]

/** One process: an engine, as long as it lives. */
export class Life {
  readonly seat: 0 | 1
  readonly clock: Clock
  isGone = false

  constructor(seat: 0 | 1, clock: Clock) {
    this.seat = seat
    this.clock = {
      now: () => clock.now(),
      monotonic: () => clock.monotonic?.() ?? clock.now(),
      setTimer: (callback, ms) =>
        clock.setTimer(() => {
          if (!this.isGone) callback()
        }, ms),
    }
  }
}

/** What a step does: it changes the data, reads it, or is code of the application. */
export type StepKind = 'write' | 'read' | 'code'

/** The share of steps that have a fault, by what they do, and which faults: all, if none are named. */
export interface FaultRates extends Readonly<Record<StepKind, number>> {
  readonly only?: readonly FaultKind[]
}

export const noFaults: FaultRates = { write: 0, read: 0, code: 0 }

/** Something that an engine waits for. */
export interface Step<T> {
  readonly life: Life
  readonly label: string
  readonly kind: StepKind
  readonly run: () => T | Promise<T>
  /** A read that answers with what was stored before, if there is such a version. */
  readonly stale?: () => (() => Promise<T>) | undefined
}

interface Moment {
  readonly life: Life
  readonly label: string
  readonly go: () => void
}

/** The stage of one run. */
export class Stage {
  readonly clock: VirtualClock = new VirtualClock()
  readonly random: SeededRandom
  readonly faults: Map<FaultKind, number> = new Map()
  /** What happened, in words; kept on request. */
  readonly trace: string[] = []
  faultRates: FaultRates = noFaults
  /** Called when a process is gone. */
  onGone: (life: Life) => void = () => undefined
  readonly #traces: boolean
  #pending: Moment[] = []

  constructor(random: SeededRandom, traces: boolean) {
    this.random = random
    this.#traces = traces
  }

  /** Moments that wait to come. */
  get pending(): number {
    return this.#pending.length
  }

  note(...words: readonly unknown[]): void {
    if (!this.#traces) return
    this.trace.push(words.map((word) => (typeof word === 'object' ? JSON.stringify(word) : String(word))).join(' '))
  }

  /** Runs one of the waiting moments. */
  goOn(): void {
    const index = this.random.below(this.#pending.length)
    const [moment] = this.#pending.splice(index, 1)
    this.note(moment?.label)
    moment?.go()
  }

  jump(ms: number): void {
    this.note(ms, 'ms pass')
    this.clock.jump(ms)
  }

  /** Does one step of a process, or what a fault makes of it. */
  async pass<T>(step: Step<T>): Promise<T> {
    const { life, label, run } = step
    if (life.isGone) return never()
    const fault = this.#draw(step.kind)
    await this.#moment(life, label)
    const struck = this.#strikeBefore(step, fault)
    if (struck !== undefined) return struck
    if (fault === 'late') await this.#delay()
    const answer = settled(fault === 'stale read' ? this.#stale(step) : run)
    if (fault === 'hang after' || fault === 'gone after' || fault === 'error after') {
      await Promise.resolve(answer).catch(ignore)
      return this.#strikeAfter(step, fault)
    }
    if (fault === 'slow answer') await this.#delay()
    try {
      return await answer
    } finally {
      await this.#moment(life, `${label}: answered`)
    }
  }

  /** A fault that keeps the step from being done in time. */
  #strikeBefore<T>({ life, label, run }: Step<T>, fault: Fault | undefined): Promise<never> | undefined {
    switch (fault) {
      case 'error before':
        throw new Error(`Injected before: ${label}.`)
      case 'hang before':
        return never()
      case 'gone before':
        return this.#kill(life)
      case 'gone, late':
        this.#delay().then(run).catch(ignore)
        return this.#kill(life)
      default:
        return undefined
    }
  }

  /** A fault that keeps the answer from the process, after the step was done. */
  #strikeAfter<T>({ life, label }: Step<T>, fault: 'hang after' | 'gone after' | 'error after'): Promise<never> {
    if (fault === 'hang after') return never()
    if (fault === 'gone after') return this.#kill(life)
    throw new Error(`Injected after: ${label}.`)
  }

  #draw(kind: StepKind): Fault | undefined {
    if (!this.random.chance(this.faultRates[kind])) return undefined
    const fault = this.random.pick(kind === 'write' ? ofWrites : kind === 'read' ? ofReads : ofCode)
    if (this.faultRates.only?.includes(kindOf[fault]) === false) return undefined
    // A process that dies takes everything with it: not too often, or nothing else is seen.
    if (kindOf[fault] === 'process gone' && this.random.chance(0.7)) return undefined
    this.note('  to be struck:', fault)
    if (fault !== 'stale read') this.#count(fault)
    return fault
  }

  #stale<T>({ stale, run }: Step<T>): Step<T>['run'] {
    const old = stale?.()
    if (old === undefined) return run
    this.#count('stale read')
    this.note('  stale')
    return old
  }

  #count(fault: Fault): void {
    this.faults.set(kindOf[fault], (this.faults.get(kindOf[fault]) ?? 0) + 1)
  }

  #moment(life: Life, label: string): Promise<void> {
    return new Promise((go) => {
      if (!life.isGone) this.#pending.push({ life, label, go })
    })
  }

  /** The time that a message is under way, even if its sender has ended. */
  #delay(): Promise<void> {
    const ms = this.random.pick(delays)
    return new Promise((resolve) => {
      this.clock.setTimer(resolve, ms)
    })
  }

  #kill(life: Life): Promise<never> {
    this.note('process', life.seat, 'is gone')
    life.isGone = true
    this.#pending = this.#pending.filter((moment) => moment.life !== life)
    this.onGone(life)
    return never()
  }
}

/** Never answers. */
function never(): Promise<never> {
  return new Promise(() => undefined)
}

function ignore(): void {
  // No code waits for it any more.
}

/** The answer of `run`, which begins at once; its failure is handled later. */
function settled<T>(run: () => T | Promise<T>): Promise<T> {
  const answer = new Promise<T>((resolve) => {
    resolve(run())
  })
  answer.catch(ignore)
  return answer
}
