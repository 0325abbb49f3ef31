// Durations go by monotonic time. Whatever the wall clock is set to, and whenever, a turn has the same outcome.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type RecordedEvent, recordEvents } from '../../../testing/contract/event-recorder.js'
import { calls, says } from '../../../testing/contract/model-harness.js'
import { FakeSessionStore, VirtualClock } from '../../../testing/index.js'
import {
  Flow,
  type FlowConstructor,
  FlowEngine,
  MemorySessionStore,
  type ModelProviderAdapter,
  type ModelRequest,
  type ModelResponse,
  Step,
  tool,
} from '../../index.js'

const hour = 3_600_000
const epoch = Date.UTC(2026, 0, 1)

/**
 * A machine whose wall clock is set to another time whenever it is read. Without shifts it has one time for both: if a
 * duration mixed them, it would be another one here.
 */
class Machine extends VirtualClock {
  readonly #shifts: readonly number[]
  #reads = 0

  constructor(shifts: readonly number[]) {
    super(epoch)
    this.#shifts = shifts
  }

  /** Milliseconds since it was made. */
  get passed(): number {
    return super.monotonic()
  }

  override now(): number {
    this.shiftWallTime(this.#shifts[this.#reads++ % this.#shifts.length] ?? 0)
    return super.now()
  }

  override monotonic(): number {
    return this.#shifts.length === 0 ? this.now() : this.passed
  }
}

/** What one attempt at the model comes to. */
const said = ['text', 'busy', 'busy for 2 s', 'busy to a date', 'slow', 'silent', 'look', 'look slowly'] as const
/** What happens to the store in one turn. */
const faults = [
  'none',
  'none',
  'none',
  'save fails',
  'save fails after it happened',
  'save hangs',
  'load is slow',
] as const

interface Plan {
  readonly said: readonly (typeof said)[number][]
  readonly faults: readonly (typeof faults)[number][]
  /** Milliseconds between the turns. */
  readonly gaps: readonly number[]
}

const plans: fc.Arbitrary<Plan> = fc.record({
  said: fc.array(fc.constantFrom(...said), { minLength: 1, maxLength: 8 }),
  faults: fc.array(fc.constantFrom(...faults), { minLength: 4, maxLength: 4 }),
  gaps: fc.array(fc.constantFrom(0, 500, 5_000, 40_000), { minLength: 4, maxLength: 4 }),
})

function wait(clock: Machine, ms: number): Promise<void> {
  return new Promise((resolve) => void clock.setTimer(resolve, ms))
}

function busy(responseHeaders: Readonly<Record<string, string>> = {}): Error {
  return Object.assign(new Error('busy'), { statusCode: 503, responseHeaders })
}

/** A model that does what the plan says, over and over. Its service has a clock of its own. */
function modelOf(clock: Machine, plan: Plan): ModelProviderAdapter {
  let count = 0
  const serviceTime = (aheadMs = 0): string => new Date(epoch + clock.passed + aheadMs).toUTCString()
  const generate = async (request: ModelRequest): Promise<ModelResponse> => {
    switch (plan.said[count++ % plan.said.length]) {
      case 'busy':
        throw busy()
      case 'busy for 2 s':
        throw busy({ 'retry-after': '2' })
      case 'busy to a date':
        throw busy({ date: serviceTime(), 'retry-after': serviceTime(3_000) })
      case 'slow':
        await wait(clock, 4_000)
        break
      case 'silent':
        await new Promise(() => undefined)
        break
      case 'look':
        return (await calls('look')(request)) as ModelResponse
      case 'look slowly':
        return (await calls('look', { slowly: true })(request)) as ModelResponse
      default:
    }
    return (await says('Hello.', { inputTokens: 1, outputTokens: 1 })(request)) as ModelResponse
  }
  return { provider: 'own', resolve: ({ name }) => ({ provider: 'own', name, generate }) }
}

function flowOver(clock: Machine): FlowConstructor {
  class Talk extends Step {
    static override readonly id = 'Talk'
    override tools() {
      const look = async (args: unknown): Promise<string> => {
        await wait(clock, (args as { slowly?: boolean }).slowly === true ? 8_000 : 300)
        return 'Seen.'
      }
      return [tool({ name: 'look', description: 'Looks.', execute: look })]
    }
  }
  return class extends Flow {
    static override readonly id = 'Chat'
    override model() {
      return { provider: 'own', name: 'small' }
    }
    override steps() {
      return [Talk]
    }
  }
}

function setFault(store: FakeSessionStore, fault: Plan['faults'][number] | undefined): void {
  if (fault === 'save fails') store.failNext('save')
  if (fault === 'save fails after it happened') store.failNext('save', { after: true })
  if (fault === 'save hangs') store.hangNext('save')
  if (fault === 'load is slow') store.delayNext('load', 900)
}

/** An event without the time of day at which it was emitted. */
function timeless([name, payload]: RecordedEvent): RecordedEvent {
  const { at: _at, ...rest } = payload
  return [name, rest]
}

/** Plays the plan, and returns all that a caller, a listener and the next turn can see but the time of day. */
async function play(plan: Plan, shifts: readonly number[]) {
  const clock = new Machine(shifts)
  const store = new FakeSessionStore({ inner: new MemorySessionStore({ clock, ttlMs: 30_000 }), clock })
  const ids = { count: 0 }
  const engine = new FlowEngine({
    flows: [flowOver(clock)],
    providers: [modelOf(clock, plan)],
    clock,
    sessionStore: store,
    random: () => 0.5,
    generateId: (kind) => `${kind}-${++ids.count}-${'x'.repeat(16)}`,
    limits: {
      turnTimeoutMs: 20_000,
      toolTimeoutMs: 5_000,
      modelTimeoutMs: 6_000,
      maxModelCallsPerTurn: 4,
      storeTimeoutMs: 1_000,
    },
    modelRetry: { maxAttempts: 3, baseDelayMs: 1_000 },
    circuitBreaker: { failureThreshold: 4, resetTimeoutMs: 10_000 },
    budgets: { session: { wallTimeMs: 45_000 } },
  })
  const events = recordEvents(engine)
  const seen: unknown[] = []
  let sessionId: string | undefined
  for (const [turn, fault] of plan.faults.entries()) {
    setFault(store, fault)
    const input = {
      flowName: 'Chat',
      userMessage: `message ${turn}`,
      ...(sessionId === undefined ? {} : { sessionId }),
    }
    const { response, error } = await clock.runUntil(engine.execute(input))
    sessionId = response.session === '' ? undefined : response.session
    const document = sessionId === undefined ? undefined : await clock.runUntil(engine.getSession(sessionId))
    seen.push(response, error?.code, document?.usage, document?.runStatus, clock.passed)
    await clock.advance(plan.gaps[turn] ?? 0)
  }
  // Tools that were no longer waited for.
  await clock.advance(10_000)
  expect(clock.pending).toBe(0)
  return { seen, events: events.map(timeless) }
}

test('a wall clock that is set back or forward at every reading changes no outcome', async () => {
  const shifts = fc.array(fc.constantFrom(-24 * hour, -hour, -1, 0, 1, hour, 24 * hour), { minLength: 1, maxLength: 7 })
  await fc.assert(
    fc.asyncProperty(plans, shifts, async (plan, each) => {
      expect(await play(plan, each)).toEqual(await play(plan, []))
    }),
    { numRuns: 60 },
  )
})
