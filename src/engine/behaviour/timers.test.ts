/** Time: when the clock sends an event, and who wakes the session for it. */
import { afterEach, describe, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { expectNothingLeft, gate, harness } from '../../../testing/contract/engine-harness.js'
import { VirtualClock } from '../../../testing/index.js'
import {
  event,
  Flow,
  FlowEngine,
  type FlowEvent,
  finish,
  go,
  LogicStep,
  MemorySessionStore,
  reply,
  type SessionDocument,
  type StepConstructor,
  type Transition,
  type Turn,
} from '../../index.js'

afterEach(expectNothingLeft)

const minute = 60_000
const day = 24 * 60 * minute
/** Nothing is woken before: four times the limit for a store operation. */
const leastMs = 4 * 5_000

class Wait extends LogicStep {
  static override readonly id: string = 'Wait'
  override events(): readonly FlowEvent[] {
    return [
      event({ name: 'remind', after: day, execute: () => reply('Do not forget.') }),
      event({ name: 'expired', after: 7 * day, execute: () => finish('Nobody decided.') }),
      event({ name: 'decide', execute: () => go(Done) }),
    ]
  }
  override run(turn: Turn) {
    return turn.message === 'leave' ? go(Done) : reply(turn.entered ? 'Waiting.' : 'Still waiting.')
  }
}

class Later2 extends Wait {
  static override readonly id = 'Later2'
}

class Done extends LogicStep {
  static override readonly id = 'Done'
  override run(turn: Turn) {
    return turn.message === 'back' ? go(Wait) : reply('Done.')
  }
}

function flowOf(steps: readonly StepConstructor[], events: () => readonly FlowEvent[] = () => []) {
  return class Talk extends Flow {
    static override readonly id = 'Talk'
    override steps() {
      return steps
    }
    override events() {
      return events()
    }
  }
}

/** A session in its first step, with a scheduler that only notes the times. */
async function started(options: Parameters<typeof harness>[0] & { flow?: ReturnType<typeof flowOf> } = {}) {
  const { flow = flowOf([Wait, Done]), ...others } = options
  const scheduled: number[] = []
  const made = harness({
    flows: [flow],
    schedule: ({ at }) => void scheduled.push(Date.parse(at) - start),
    ...others,
  })
  const start = made.clock.now()
  const say = (userMessage: string, sessionId = '') => made.engine.execute({ flowName: 'Talk', userMessage, sessionId })
  const first = await say('hello')
  const { session } = first.response
  const timers = async (): Promise<Record<string, number>> => {
    const [frame] = (await made.document(session)).flow.frames ?? []
    return Object.fromEntries((frame?.timers ?? []).map(({ name, at }) => [name, Date.parse(at) - start]))
  }
  const wake = async () => {
    const { results, next } = await made.engine.wake({ sessionId: session })
    return { replies: results.map(({ response }) => response.message), next: next && Date.parse(next) - start }
  }
  return { ...made, first, session, scheduled, timers, wake, say: (text: string) => say(text, session) }
}

describe('after', () => {
  test('counts from the entry of the step, fires once, and goes when the step is left', async () => {
    const { clock, timers, wake, scheduled, say, document, session } = await started()
    expect(await timers()).toEqual({ remind: day, expired: 7 * day })
    expect(scheduled).toEqual([day])
    await clock.advance(minute)
    await say('hello')
    expect(await timers()).toEqual({ remind: day, expired: 7 * day })
    await clock.advance(day - minute)
    expect(await wake()).toEqual({ replies: ['Do not forget.'], next: 7 * day })
    expect(await timers()).toEqual({ expired: 7 * day })
    expect(scheduled).toEqual([day, 7 * day])
    expect(await wake()).toEqual({ replies: [], next: 7 * day })
    await say('leave')
    const { flow, version } = await document(session)
    expect([flow.frames, flow.wakeAt, version]).toEqual([undefined, undefined, 2])
    await clock.advance(7 * day)
    expect(await wake()).toEqual({ replies: [], next: undefined })
    await say('back')
    expect(await timers()).toEqual({ remind: 9 * day, expired: 15 * day })
  })

  test('of several due timers, each is played in its order, days late', async () => {
    const { clock, wake, document, session } = await started()
    await clock.advance(30 * day)
    expect(await wake()).toEqual({ replies: ['Do not forget.', 'Nobody decided.'], next: undefined })
    const { runStatus, turns, history } = await document(session)
    expect([runStatus, turns, history.at(-1)?.event]).toEqual(['completed', 3, { name: 'expired' }])
  })

  test('an event that a server sends ends its timer', async () => {
    const { engine, session, timers } = await started()
    await engine.sendEvent({ sessionId: session, event: 'remind' })
    expect(await timers()).toEqual({ expired: 7 * day })
  })

  test('outlives a deploy that renames the step, and goes with migrate', async () => {
    class Renamed extends Wait {
      static override readonly id = 'Renamed'
      static override readonly aliases = ['Wait']
    }
    const { backing, session, clock } = await started()
    const schedule = () => undefined
    const renamed = harness({ flows: [flowOf([Renamed, Done])], backing, clock, schedule })
    await clock.advance(day)
    const { results } = await renamed.engine.wake({ sessionId: session })
    expect(results.map(({ response }) => response.message)).toEqual(['Do not forget.'])
    class Moved extends flowOf([Wait, Later2, Done]) {
      static override readonly version = 2
      static override migrate(document: SessionDocument) {
        const { flow } = document
        const frames = flow.frames?.map((one) => ({ ...one, step: 'Later2' }))
        return { ...document, flow: { ...flow, currentStep: 'Later2', ...(frames && { frames }) } }
      }
    }
    const moved = harness({ flows: [Moved], backing, clock, schedule })
    await moved.engine.execute({ flowName: 'Talk', userMessage: 'hello', sessionId: session })
    const { frames } = (await moved.document(session)).flow
    expect(frames?.[0]).toMatchObject({ step: 'Later2', entry: '1.1', timers: [{ name: 'expired' }] })
  })

  test('of a step goes with it, though the flow has an event of the same name', async () => {
    const { say, document, session } = await started({
      flow: flowOf([Wait, Done], () => [event({ name: 'remind', execute: () => reply('Flow.') })]),
    })
    await say('leave')
    expect((await document(session)).flow.frames).toBeUndefined()
  })

  test('a deploy that changes it affects new entries only', async () => {
    class Later extends Wait {
      static override readonly id = 'Wait'
      override events() {
        return [event({ name: 'remind', after: 3 * day, execute: () => reply('Later.') })]
      }
    }
    const { backing, session, clock } = await started()
    const other = harness({ flows: [flowOf([Later, Done])], backing, schedule: () => undefined })
    await other.engine.execute({ flowName: 'Talk', userMessage: 'hello', sessionId: session })
    expect((await other.document(session)).flow.frames?.[0]?.timers?.map(({ at }) => Date.parse(at))).toEqual([
      clock.now() + day,
      clock.now() + 7 * day,
    ])
    // The event of the second one is gone: its timer is removed, and nobody hears of it.
    await other.clock.advance(8 * day)
    const { results } = await other.engine.wake({ sessionId: session })
    expect(results.map(({ response, error }) => [response.message, error])).toEqual([
      ['Later.', undefined],
      ['', undefined],
    ])
    expect((await other.document(session)).flow.frames).toEqual([{ step: 'Wait', entry: '1.1' }])
  })
})

describe('silence', () => {
  const nudge = event({ name: 'nudge', silence: day, execute: () => reply('Are you there?') })

  class Quiet extends LogicStep {
    static override readonly id = 'Quiet'
    override events() {
      return [nudge]
    }
    override run(turn: Turn) {
      return turn.message === 'go' ? go(Done) : reply('Yes?')
    }
  }

  test('counts from the last message, and each message sets it again, also after it fired', async () => {
    const { clock, timers, wake, say } = await started({ flow: flowOf([Quiet, Done]) })
    await clock.advance(minute)
    await say('hello')
    expect(await timers()).toEqual({ nudge: day + minute })
    await clock.advance(day)
    expect((await wake()).replies).toEqual(['Are you there?'])
    expect(await timers()).toEqual({})
    await say('yes')
    expect(await timers()).toEqual({ nudge: 2 * day + minute })
  })

  test('an event does not end it, and a step that an event enters counts from the last message', async () => {
    class Before extends LogicStep {
      static override readonly id = 'Before'
      override events() {
        return [event({ name: 'on', execute: () => go(Quiet).withReply('On.') })]
      }
      override run() {
        return reply('Before.')
      }
    }
    const { clock, timers, engine, session } = await started({ flow: flowOf([Before, Quiet, Done]) })
    await clock.advance(minute)
    await engine.sendEvent({ sessionId: session, event: 'on' })
    expect(await timers()).toEqual({ nudge: day })
  })

  test('begins anew in a step that its own event enters, so that one wake is one turn', async () => {
    class Again extends LogicStep {
      static override readonly id = 'Again'
      override events() {
        return [event({ name: 'quiet', silence: day, execute: () => go(Again) })]
      }
      override run() {
        return reply('Are you there?')
      }
    }
    const { clock, timers, wake } = await started({ flow: flowOf([Again]) })
    await clock.advance(day)
    expect((await wake()).replies).toEqual(['Are you there?'])
    expect(await timers()).toEqual({ quiet: 2 * day })
  })

  test("the user's own event ends it, too", async () => {
    const press = event({ name: 'press', byUser: true, execute: () => undefined })
    const { clock, timers, engine, session } = await started({ flow: flowOf([Quiet, Done], () => [press]) })
    await clock.advance(minute)
    await engine.execute({ flowName: 'Talk', userMessage: '', sessionId: session, event: { name: 'press' } })
    expect(await timers()).toEqual({ nudge: day + minute })
  })

  test('is counted from the last message, not from an event after it', async () => {
    class Before extends LogicStep {
      static override readonly id = 'Before'
      override events() {
        return [
          event({ name: 'note', execute: () => undefined }),
          event({ name: 'on', execute: () => go(Quiet).withReply('On.') }),
        ]
      }
      override run() {
        return reply('Before.')
      }
    }
    const { clock, timers, engine, session } = await started({ flow: flowOf([Before, Quiet, Done]) })
    for (const name of ['note', 'on']) {
      await clock.advance(minute)
      await engine.sendEvent({ sessionId: session, event: name })
    }
    expect(await timers()).toEqual({ nudge: day })
  })

  test('of a flow and an event of a step may not have one name', async () => {
    const twice = event({ name: 'remind', silence: day, execute: () => undefined })
    const { first } = await started({ flow: flowOf([Wait, Done], () => [twice]) })
    expect(first.response.message).toBe("Step 'Wait' and its flow may not have two events with the name 'remind'.")
  })

  test('of a flow survives a move, and is in every step', async () => {
    const { timers, say, clock, wake } = await started({ flow: flowOf([Wait, Done], () => [nudge]) })
    expect(await timers()).toEqual({ nudge: day, remind: day, expired: 7 * day })
    await clock.advance(minute)
    await say('leave')
    expect(await timers()).toEqual({ nudge: day + minute })
    await clock.advance(day)
    expect((await wake()).replies).toEqual(['Are you there?'])
  })

  test('of a flow survives a move that an event makes', async () => {
    const { timers, engine, session, clock } = await started({ flow: flowOf([Wait, Done], () => [nudge]) })
    await clock.advance(minute)
    await engine.sendEvent({ sessionId: session, event: 'decide' })
    expect(await timers()).toEqual({ nudge: day })
  })
})

describe('turn.setTimer', () => {
  test('makes a year of monthly reminders twelve turns, and undefined ends one', async () => {
    const month = 30 * day
    class Monthly extends LogicStep {
      static override readonly id = 'Monthly'
      override events() {
        return [
          event({
            name: 'pay',
            after: month,
            execute: (_, turn) => {
              turn.setTimer('pay', month)
              return reply('Pay, please.')
            },
          }),
        ]
      }
      override run(turn: Turn) {
        if (turn.message === 'stop') turn.setTimer('pay', undefined)
        return reply('Yes.')
      }
    }
    const { clock, wake, say, document, session, scheduled } = await started({ flow: flowOf([Monthly]) })
    for (let count = 0; count < 12; count++) {
      await clock.advance(month)
      expect((await wake()).replies).toEqual(['Pay, please.'])
    }
    expect((await document(session)).turns).toBe(13)
    expect(scheduled).toHaveLength(13)
    await say('stop')
    expect((await document(session)).flow.wakeAt).toBeUndefined()
  })

  test('is forgotten if the turn leaves the step', async () => {
    class First extends LogicStep {
      static override readonly id: string = 'First'
      override events() {
        return [event({ name: 'tick', execute: () => undefined })]
      }
      override run(turn: Turn) {
        turn.setTimer('tick', minute)
        return go(Second)
      }
    }
    class Second extends First {
      static override readonly id = 'Second'
      override run() {
        return reply('Second.') as never
      }
    }
    expect(await (await started({ flow: flowOf([First, Second]) })).timers()).toEqual({})
  })

  test.each<[string, (turn: Turn) => void, string]>([
    [
      'an event with an input',
      (turn) => turn.setTimer('given', 1),
      "turn.setTimer needs an event of step 'Only' that has no input; got 'given'.",
    ],
    [
      'an unknown event',
      (turn) => turn.setTimer('unknown', 1),
      "turn.setTimer needs an event of step 'Only' that has no input; got 'unknown'.",
    ],
    [
      'a wrong time',
      (turn) => turn.setTimer('tick', -1),
      'turn.setTimer needs milliseconds above 0, at most ten years, or undefined.',
    ],
    [
      'the ninth timer',
      (turn) => {
        for (let count = 0; count < 9; count++) turn.setTimer(`tick${count}`, 1)
      },
      "Step 'Only' has more than 8 timers.",
    ],
  ])('with %s is refused', async (_what, set, message) => {
    class Only extends LogicStep {
      static override readonly id = 'Only'
      override events() {
        const names = ['tick', ...Array.from({ length: 9 }, (_, index) => `tick${index}`)]
        const given = event({ name: 'given', input: z.string(), execute: () => undefined })
        return [given, ...names.map((name) => event({ name, execute: () => undefined }))]
      }
      override run(turn: Turn) {
        set(turn)
        return reply('x')
      }
    }
    const { first } = await started({ flow: flowOf([Only]) })
    expect(first.response.message).toBe(message)
  })
})

describe('schedule', () => {
  class Soon extends LogicStep {
    static override readonly id = 'Soon'
    override events() {
      return [event({ name: 'tick', execute: () => reply('Tick.') })]
    }
    override run(turn: Turn) {
      turn.setTimer('tick', Number(turn.message) || 10)
      return reply('Set.')
    }
  }

  test('is called only for a sooner time than the one that stands, and not before the commit can have ended', async () => {
    const { scheduled, say, clock, wake } = await started({ flow: flowOf([Soon]) })
    expect(scheduled).toEqual([leastMs])
    await say(String(day))
    await say(String(minute))
    expect(scheduled).toEqual([leastMs])
    await clock.advance(leastMs)
    await say(String(minute))
    expect(scheduled).toEqual([leastMs, leastMs + minute])
    await clock.advance(minute)
    expect((await wake()).replies).toEqual(['Tick.'])
  })

  test.each<[string, () => unknown, string]>([
    ['rejects', () => Promise.reject(new Error('redis://secret')), 'The engine option schedule failed.'],
    [
      'throws',
      () => {
        throw new Error('redis://secret')
      },
      'The engine option schedule failed.',
    ],
  ])('that %s fails the turn, which is rolled back whatever onTurnError says', async (_what, schedule, message) => {
    const { first, document, engine, backing } = await started({ schedule: schedule as never, onTurnError: 'abort' })
    expect([first.error?.code, first.error?.statusCode, first.response.message]).toEqual([
      'SCHEDULE_ERROR',
      500,
      message,
    ])
    expect(first.sessionState).toBe('running')
    const [id = ''] = backing.keys()
    expect((await document(id)).flow.currentStep).toBeNull()
    expect((await engine.wake({ sessionId: id })).results).toEqual([])
  })

  test('that fails is no error for onError of the flow', async () => {
    const asked = vi.fn()
    class Answering extends flowOf([Wait, Done]) {
      override onError() {
        asked()
        return reply('Sorry.')
      }
    }
    const { first } = await started({ flow: Answering, schedule: () => Promise.reject(new Error('x')) })
    expect([first.error?.code, asked.mock.calls.length]).toEqual(['SCHEDULE_ERROR', 0])
  })

  test('that hangs is given up after storeTimeoutMs', async () => {
    const clock = new VirtualClock()
    const asked = gate()
    const schedule = () => {
      asked.open()
      return new Promise<void>(() => undefined)
    }
    const engine = new FlowEngine({
      flows: [flowOf([Wait, Done])],
      clock,
      schedule,
      sessionStore: new MemorySessionStore({ clock }),
    })
    const turn = engine.execute({ flowName: 'Talk', userMessage: 'hello' })
    await asked.opened
    await clock.advance(10_000)
    expect((await turn).error).toMatchObject({
      code: 'SCHEDULE_ERROR',
      message: 'schedule took longer than storeTimeoutMs (5000 ms).',
    })
  })

  test('is needed with a durable store, and the message names it', async () => {
    const store = Object.assign(new MemorySessionStore(), { guarantees: { compareAndSwap: 'process', durable: true } })
    const engine = new FlowEngine({ flows: [flowOf([Wait, Done])], sessionStore: store as never })
    const { error, sessionState } = await engine.execute({ flowName: 'Talk', userMessage: 'hello' })
    expect([error?.code, error?.message, sessionState]).toEqual([
      'SCHEDULE_ERROR',
      "A timer needs the engine option 'schedule', because the session store is durable.",
      'running',
    ])
  })

  test('is refused for a timer after the end of the store’s sessions, by its name', async () => {
    const store = Object.assign(new MemorySessionStore(), {
      guarantees: { compareAndSwap: 'process', durable: false, ttlMs: 2 * day },
    })
    const engine = new FlowEngine({
      flows: [flowOf([Wait, Done])],
      sessionStore: store as never,
      schedule: () => undefined,
    })
    expect((await engine.run({ flowName: 'Talk', userMessage: 'hello' })).message).toBe(
      `The timer 'expired' would never be due: the session store drops the session ${2 * day} ms after its last save.`,
    )
    // Nobody would be woken before the session is gone.
    Object.assign(store, { guarantees: { compareAndSwap: 'process', durable: false, ttlMs: leastMs } })
    class Short extends Wait {
      static override readonly id = 'Wait'
      override events() {
        return [event({ name: 'soon', after: 10, execute: () => undefined })]
      }
    }
    const short = new FlowEngine({
      flows: [flowOf([Short, Done])],
      sessionStore: store as never,
      schedule: () => undefined,
    })
    expect((await short.run({ flowName: 'Talk', userMessage: 'hello' })).message).toMatch(/^The timer 'soon'/)
  })

  test('is called again if the commit ended after the time that stands', async () => {
    const { store, clock, scheduled, say } = await started({ flow: flowOf([Soon]) })
    await say(String(minute))
    await clock.advance(leastMs - 1_000)
    store.delayNext('save', 2_000)
    const later = say(String(day))
    await vi.waitUntil(() => store.journal.at(-1)?.outcome === 'pending')
    await clock.advance(2_000)
    await later
    expect(scheduled).toEqual([leastMs, leastMs - 1_000 + day])
  })

  test('that wakes at once whatever the time is ends', async () => {
    let calls = 0
    let engine: FlowEngine | undefined
    const made = await started({
      async schedule({ sessionId }) {
        calls++
        await engine?.wake({ sessionId })
      },
    })
    engine = made.engine
    await made.wake()
    expect(calls).toBe(2)
  })

  test('that calls back at once, five times, before the commit, finds nothing to do', async () => {
    const woken: Promise<{ readonly results: readonly unknown[] }>[] = []
    let current: FlowEngine | undefined
    const { engine, say, session, document } = await started({
      schedule: ({ sessionId }) => {
        // Later calls come from these wakes.
        for (let count = woken.length; count < 5; count++)
          if (current !== undefined) woken.push(current.wake({ sessionId }))
      },
    })
    current = engine
    await say('leave')
    await say('back')
    expect((await Promise.all(woken)).map(({ results }) => results)).toEqual([[], [], [], [], []])
    expect((await document(session)).turns).toBe(3)
  })
})

describe('wake', () => {
  test('early writes nothing, and schedules what is not due, at least a second later', async () => {
    const { clock, wake, stored, session, scheduled } = await started()
    const before = await stored(session)
    expect(await wake()).toEqual({ replies: [], next: day })
    await clock.advance(day - 10)
    expect(await wake()).toEqual({ replies: [], next: day - 10 + 1_000 })
    expect(scheduled).toEqual([day, day, day - 10 + 1_000])
    expect(await stored(session)).toBe(before)
  })

  test('five times at once, in two processes, plays each timer once', async () => {
    const { clock, engine, session, backing, document } = await started()
    const other = harness({ flows: [flowOf([Wait, Done])], backing, schedule: () => undefined, clock })
    await clock.advance(2 * day)
    const outcomes = await Promise.all(
      [engine, other.engine, engine, other.engine, engine].map((one) => one.wake({ sessionId: session })),
    )
    expect(outcomes.flatMap(({ results }) => results.map(({ response }) => response.message))).toEqual([
      'Do not forget.',
    ])
    expect((await document(session)).turns).toBe(2)
  })

  test('goes on after a failure, and returns it, so that a queue tries again', async () => {
    let isDown = true
    class Flaky extends LogicStep {
      static override readonly id = 'Flaky'
      override events() {
        const mail = () => {
          if (isDown) throw new Error('No mail.')
          return reply('Sent.')
        }
        return [
          event({ name: 'mail', after: minute, execute: mail }),
          event({ name: 'other', after: 2 * minute, execute: () => reply('Other.') }),
        ]
      }
      override run() {
        return reply('Yes.')
      }
    }
    const { clock, engine, session, timers } = await started({ flow: flowOf([Flaky]) })
    await clock.advance(5 * minute)
    const { results } = await engine.wake({ sessionId: session })
    expect(results.map(({ error, response }) => error?.code ?? response.message)).toEqual(['FLOW_ERROR', 'Other.'])
    expect(await timers()).toEqual({ mail: minute })
    isDown = false
    expect((await engine.wake({ sessionId: session })).results.map(({ response }) => response.message)).toEqual([
      'Sent.',
    ])
  })

  test('is one turn for a timer that sets itself again at once', async () => {
    class Again extends LogicStep {
      static override readonly id = 'Again'
      override events() {
        return [event({ name: 'tick', after: 10, execute: () => go(Again) })]
      }
      override run() {
        return reply('Tick.')
      }
    }
    let later: (() => Promise<void>) | undefined
    const { clock, wake } = await started({ flow: flowOf([Again]), schedule: () => later?.() })
    later = () => clock.advance(1_000)
    await clock.advance(minute)
    expect((await wake()).replies).toEqual(['Tick.'])
  })

  test('of a session that a failure aborted finds nothing, and a sweep takes it', async () => {
    class Failing extends Wait {
      static override readonly id = 'Wait'
      override run(turn: Turn): Transition {
        if (turn.message === 'fail') throw new Error('No.')
        return super.run(turn)
      }
    }
    const { engine, say, wake, clock } = await started({ flow: flowOf([Failing, Done]) })
    await say('fail')
    await clock.advance(2 * day)
    expect(await wake()).toEqual({ replies: [], next: undefined })
    expect(await engine.sweep({ olderThan: day })).toEqual({ deleted: 1, failed: 0 })
  })

  test('of a closed engine says that it is closed', async () => {
    const { engine, session } = await started()
    await engine.close()
    expect((await engine.wake({ sessionId: session })).results[0]?.error?.code).toBe('ENGINE_CLOSED')
    expect(await engine.sendEvent({ sessionId: session, event: 'decide' })).toMatchObject({
      sessionState: 'unknown',
      error: { code: 'ENGINE_CLOSED' },
    })
  })

  test('removes a timer whose event got an input by a deploy', async () => {
    class Asking extends Wait {
      static override readonly id = 'Wait'
      override events() {
        return [event({ name: 'remind', input: z.string(), execute: () => reply('No.') })]
      }
    }
    const { backing, session, clock } = await started()
    const logger = { debug: vi.fn(), info: vi.fn(), warn: vi.fn(), error: vi.fn() }
    const other = harness({ flows: [flowOf([Asking, Done])], backing, clock, schedule: () => undefined, logger })
    await clock.advance(day)
    const { results } = await other.engine.wake({ sessionId: session })
    expect(results.map(({ error }) => error)).toEqual([undefined])
    expect(logger.warn).toHaveBeenCalledOnce()
  })

  test('of a deleted, an unknown and an erased session finds nothing', async () => {
    const { clock, engine, session } = await started()
    await clock.advance(day)
    await engine.deleteSession(session)
    expect(await engine.wake({ sessionId: session })).toEqual({ results: [] })
    expect(await engine.wake({ sessionId: 'unknown' })).toEqual({ results: [] })
  })

  test('after the clock was set back waits for the time again', async () => {
    const { backing, session } = await started()
    const earlier = new VirtualClock()
    const other = harness({ flows: [flowOf([Wait, Done])], backing, clock: earlier, schedule: () => undefined })
    expect((await other.engine.wake({ sessionId: session })).results).toEqual([])
  })

  test('does not reject if the store fails, and says what failed', async () => {
    const { engine, session, store } = await started()
    store.failNext('load')
    const { results } = await engine.wake({ sessionId: session })
    expect(results[0]?.error?.code).toBe('SESSION_STORE_ERROR')
  })
})

test('a sweep keeps sessions that have a timer, unless it ignores timers', async () => {
  const { engine, clock, backing, say } = await started()
  const { response } = await engine.execute({ flowName: 'Talk', userMessage: 'hello' })
  await engine.execute({ flowName: 'Talk', userMessage: 'leave', sessionId: response.session })
  await clock.advance(8 * day)
  const { sessions } = await engine.listSessions()
  expect(sessions.filter(({ wakeAt }) => wakeAt !== undefined)).toHaveLength(1)
  expect(await engine.sweep({ olderThan: day, dryRun: true })).toEqual({ deleted: 1, failed: 0 })
  expect(await engine.sweep({ olderThan: day })).toEqual({ deleted: 1, failed: 0 })
  expect((await say('hello')).response.success).toBe(true)
  await clock.advance(2 * day)
  await expect(engine.sweep({ olderThan: day, timers: 'maybe' as never })).rejects.toThrow(
    "sweep: timers must be 'keep' or 'ignore'.",
  )
  expect(await engine.sweep({ olderThan: day, timers: 'ignore' })).toEqual({ deleted: 1, failed: 0 })
  expect(backing.size).toBe(0)
})

describe('without schedule, over a store that ends with the process', () => {
  test('timers of the process wake the session, and end with the engine', async () => {
    const clock = new VirtualClock()
    const sessionStore = new MemorySessionStore({ clock })
    const engine = new FlowEngine({ flows: [flowOf([Wait, Done])], clock, sessionStore })
    const { session } = await engine.run({ flowName: 'Talk', userMessage: 'hello' })
    const turns = async (): Promise<SessionDocument['turns'] | undefined> => (await engine.getSession(session))?.turns
    await clock.advance(day)
    await vi.waitUntil(async () => (await turns()) === 2)
    await engine.close()
    expect(clock.pending).toBe(0)
  })

  test('a timer whose turn failed is tried again, and a timer goes with its session', async () => {
    const clock = new VirtualClock()
    let runs = 0
    class Flaky extends LogicStep {
      static override readonly id = 'Flaky'
      override events() {
        return [
          event({
            name: 'mail',
            after: day,
            execute: () => {
              runs++
              if (runs === 1) throw new Error('No mail.')
              return reply('Sent.')
            },
          }),
        ]
      }
      override run(turn: Turn) {
        return turn.message === 'bye' ? finish('Bye.') : reply('Yes.')
      }
    }
    const engine = new FlowEngine({
      flows: [flowOf([Flaky])],
      clock,
      sessionStore: new MemorySessionStore({ clock }),
    })
    const say = (userMessage: string, sessionId = '') => engine.run({ flowName: 'Talk', userMessage, sessionId })
    const { session } = await say('hello')
    await clock.advance(day)
    await vi.waitUntil(() => runs === 1 && clock.pending === 1)
    await clock.advance(minute)
    await vi.waitUntil(() => runs === 2)
    await vi.waitUntil(() => clock.pending === 0)
    const { session: ended } = await say('hello')
    await say('bye', ended)
    const { session: deleted } = await say('hello')
    await engine.deleteSession(deleted)
    expect(clock.pending).toBe(0)
    await engine.deleteSession(session)
    await engine.close()
  })
})
