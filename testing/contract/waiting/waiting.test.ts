// Events, timers and wakes: the engine does what a model of a few lines does, whatever happens in which order.
// WAITING_RUNS  how many. Default: 300. WAITING_SEED  begins with this seed.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  type ExecuteResult,
  FlowEngine,
  type FlowServices,
  MemorySessionStore,
  type SessionDocument,
} from '../../../src/index.js'
import { VirtualClock } from '../../index.js'
import { playAtRandom } from '../random-plays.js'
import { delays, type Gate, Waiting } from './flow.js'
import { type ModelEvent, type Outcome, WaitingModel } from './model.js'

const numRuns = Number(process.env.WAITING_RUNS ?? 300)
const seed = Number(process.env.WAITING_SEED ?? Math.floor(Math.random() * 2 ** 31))
const toRepeat = `to repeat it: WAITING_SEED=${seed} WAITING_RUNS=${numRuns}`
const hour = 3_600_000

type Action =
  | { readonly kind: 'say'; readonly seat: number; readonly text: string }
  | { readonly kind: 'event'; readonly seat: number; readonly event: ModelEvent }
  | { readonly kind: 'wake'; readonly seat: number }
  /** Both engines at once. */
  | { readonly kind: 'wakes' }
  /** A message that is held up, and behind it an event, and another message. */
  | {
      readonly kind: 'queue'
      readonly seat: number
      readonly texts: readonly [string, string]
      readonly event: ModelEvent
    }
  | { readonly kind: 'time'; readonly ms: number }
  | { readonly kind: 'restart'; readonly seat: number }

const seat = fc.nat(1)
const text = fc.constantFrom('hi', 'hi', 'hi', 'ask', 'ask', 'rest', 'fail', 'hi', 'hi', 'end')
const keys = ['a-key-of-16-characters', 'another-key-of-16-characters']
const event: fc.Arbitrary<ModelEvent> = fc
  .record({
    name: fc.constantFrom('decision', 'decision', 'remind', 'nag', 'expired', 'ping', 'quiet', 'unheard-of'),
    payload: fc.constantFrom(undefined, { approved: true }, { approved: false }, { approved: 'yes' }),
    by: fc.constantFrom(undefined, 'Ada'),
    key: fc.constantFrom(undefined, undefined, ...keys),
  })
  // Without the fields that are undefined. One key is always sent with the same event.
  .map(({ key, ...drawn }) => JSON.parse(JSON.stringify(key === keys[0] ? { name: 'ping', key } : { ...drawn, key })))
// Odd, so that no two timers are due at one moment.
const ms = fc.constantFrom(-hour, 17, hour + 17, 25 * hour + 29, delays.quiet - 500, 100 * hour + 53, 300 * hour + 101)
const action: fc.Arbitrary<Action> = fc.oneof(
  { weight: 7, arbitrary: fc.record({ kind: fc.constant('say' as const), seat, text }) },
  { weight: 6, arbitrary: fc.record({ kind: fc.constant('event' as const), seat, event }) },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('wake' as const), seat }) },
  { weight: 2, arbitrary: fc.constant({ kind: 'wakes' as const }) },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant('queue' as const), seat, texts: fc.tuple(text, text), event }),
  },
  { weight: 6, arbitrary: fc.record({ kind: fc.constant('time' as const), ms }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('restart' as const), seat }) },
)

/** Two engines over one store, and the model. */
class Play {
  readonly model = new WaitingModel()
  readonly #clock = new VirtualClock()
  readonly #backing = new Map<string, SessionDocument>()
  readonly #gate: Gate = { wait: Promise.resolve() }
  readonly #scheduled = new Set<string>()
  #ids = { session: 0, other: 0 }
  readonly #engines = [this.#engine(), this.#engine()]
  readonly #count: (what: string) => void

  constructor(count: (what: string) => void) {
    this.#count = count
  }

  #engine(): FlowEngine {
    return new FlowEngine({
      flows: [Waiting],
      clock: this.#clock,
      sessionStore: new MemorySessionStore({ backing: this.#backing, clock: this.#clock }),
      services: this.#gate as FlowServices,
      onTurnError: 'rollback',
      logger: { debug() {}, info() {}, warn() {}, error() {} },
      schedule: ({ at }) => void this.#scheduled.add(at),
      generateId: (kind) => (kind === 'session' ? `session-${++this.#ids.session}` : `${kind}-${++this.#ids.other}`),
    })
  }

  get #id(): string {
    return this.model.session?.id ?? ''
  }

  async act(action: Action): Promise<void> {
    const before = JSON.stringify([...this.#backing])
    const turns = this.model.session?.history.length
    const now = this.#clock.now()
    switch (action.kind) {
      case 'say':
        expect(await this.#say(action.seat, action.text)).toEqual(this.#counted(this.model.say(action.text, now)))
        break
      case 'event': {
        const got = await this.#send(action.seat, action.event, this.#id || 'unknown')
        const expected = this.#counted(this.model.send(action.event, now))
        expect(got).toEqual(expected)
        const isUntouched = expected.replayed === true || (expected.code ?? 'FLOW_ERROR') !== 'FLOW_ERROR'
        if (isUntouched) expect(JSON.stringify([...this.#backing])).toBe(before)
        break
      }
      case 'wake': {
        const { results, next } = await this.#of(action.seat).wake({ sessionId: this.#id || 'unknown' })
        const expected = this.model.wake(now)
        expect(results.map(outcomeOf)).toEqual(expected)
        this.#count(`${expected.length === 0 ? 'an early' : 'a'} wake`)
        if (expected.length === 0) expect(JSON.stringify([...this.#backing])).toBe(before)
        this.#checkNext(next)
        break
      }
      case 'wakes': {
        const woken = await Promise.all(
          this.#engines.map((engine) => engine.wake({ sessionId: this.#id || 'unknown' })),
        )
        const expected = this.model.wake(now).filter(({ code }) => code === undefined)
        const got = woken.flatMap(({ results }) => results.map(outcomeOf)).filter(({ code }) => code !== 'FLOW_ERROR')
        expect(sorted(got)).toEqual(sorted(expected))
        if (expected.length > 0) this.#count('two wakes at once')
        break
      }
      case 'queue':
        await this.#queue(action)
        break
      case 'time':
        if (action.ms < 0) this.#clock.shiftWallTime(action.ms)
        else await this.#clock.advance(action.ms)
        break
      case 'restart':
        await this.#of(action.seat).close()
        this.#engines[action.seat] = this.#engine()
    }
    this.#compare()
    if (this.model.session?.history.length !== turns) this.#checkWake()
  }

  async #queue({ seat: at, texts: [first, last], event: sent }: Extract<Action, { kind: 'queue' }>): Promise<void> {
    if (this.model.session === undefined || this.model.session.completed) return
    const now = this.#clock.now()
    let release = (): void => undefined
    this.#gate.wait = new Promise((resolve) => {
      release = resolve
    })
    const running: Promise<Outcome>[] = []
    for (const begin of [() => this.#say(at, first), () => this.#send(at, sent, this.#id), () => this.#say(at, last)]) {
      running.push(begin())
      await this.#clock.settle()
    }
    release()
    const got = await Promise.all(running)
    expect(got).toEqual([this.model.say(first, now), this.model.send(sent, now), this.model.say(last, now)])
    this.#count('an event behind a message')
  }

  async #say(at: number, userMessage: string): Promise<Outcome> {
    const sessionId = this.#id
    return outcomeOf(
      await this.#of(at).execute({ flowName: 'Waiting', userMessage, ...(sessionId === '' ? {} : { sessionId }) }),
    )
  }

  async #send(at: number, { name, key, ...sent }: ModelEvent, sessionId: string): Promise<Outcome> {
    const idempotencyKey = key === undefined ? {} : { idempotencyKey: key }
    return outcomeOf(await this.#of(at).sendEvent({ sessionId, event: name, ...sent, ...idempotencyKey } as never))
  }

  #of(at: number): FlowEngine {
    return this.#engines[at] as FlowEngine
  }

  #counted(outcome: Outcome): Outcome {
    this.#count(outcome.replayed === true ? 'replayed' : (outcome.code ?? 'ok'))
    return outcome
  }

  /** The stored session is the model's. */
  #compare(): void {
    const { session } = this.model
    if (session === undefined) {
      expect(this.#backing.size).toBe(0)
      return
    }
    const { flow, history, runStatus, version } = this.#backing.get(session.id) as SessionDocument
    const { frames = [] } = flow
    const timers = frames.flatMap((frame) => frame.timers ?? []).map(({ name, at }) => [name, Date.parse(at)])
    expect({
      completed: runStatus === 'completed',
      step: flow.currentStep,
      timers: sorted(timers),
      history: history.map(
        (entry) => `${entry.event ? `Event: ${lineOf(entry.event)}` : `User: ${entry.message}`} -> ${entry.reply}`,
      ),
      version,
    }).toEqual({
      completed: session.completed,
      step: session.step,
      timers: sorted([...session.timers]),
      history: session.history,
      version: !session.completed && (session.step === 'Ask' || session.timers.size > 0) ? 3 : 2,
    })
  }

  /** After a commit: a wake is scheduled, and not too late for the soonest timer. */
  #checkWake(): void {
    const { id = '', timers = new Map<string, number>() } = this.model.session ?? {}
    const { wakeAt } = this.#backing.get(id)?.flow ?? {}
    if (timers.size === 0) {
      expect(wakeAt).toBeUndefined()
      return
    }
    const now = this.#clock.now()
    expect(this.#scheduled).toContain(wakeAt)
    expect(Date.parse(wakeAt ?? '')).toBeGreaterThan(now)
    const least = now + 4 * this.#of(0).limits.storeTimeoutMs
    expect(Date.parse(wakeAt ?? '')).toBeLessThanOrEqual(Math.max(least, Math.min(...timers.values())))
  }

  /** After a wake: the next one is scheduled, at least a second later. */
  #checkNext(next: string | undefined): void {
    const now = this.#clock.now()
    const ahead = [...(this.model.session?.timers.values() ?? [])].filter((at) => at > now)
    const at = ahead.length === 0 ? undefined : Math.max(now + 1000, Math.min(...ahead))
    expect(next && Date.parse(next)).toBe(at)
  }
}

function lineOf({ name, payload, by }: NonNullable<SessionDocument['history'][number]['event']>): string {
  return `${name}${payload === undefined ? '' : ` ${JSON.stringify(payload)}`}${by === undefined ? '' : ` by ${by}`}`
}

function outcomeOf({ response, error, replayed }: ExecuteResult): Outcome {
  if (error !== undefined) return { code: error.code }
  return { text: response.message, ...(replayed === true ? { replayed } : {}) }
}

function sorted<T>(list: readonly T[]): readonly T[] {
  return [...list].sort((one, other) => (JSON.stringify(one) < JSON.stringify(other) ? -1 : 1))
}

test(`the engine and the model agree in ${numRuns} runs`, { timeout: 300_000 }, async () => {
  const options = { numRuns, seed, maxLength: 30, toRepeat }
  const counts = await playAtRandom('waiting', action, (count) => new Play(count), options)
  const all = [
    'EVENT_NOT_TAKEN',
    'FLOW_ERROR',
    'IDEMPOTENCY_MISMATCH',
    'INVALID_INPUT',
    'a wake',
    'an early wake',
    'an event behind a message',
    'ok',
    'replayed',
    'two wakes at once',
  ]
  if (numRuns >= 300) expect([...counts.keys()].sort(), toRepeat).toEqual(all)
})
