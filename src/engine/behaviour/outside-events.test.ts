/** Outside events: who takes one, what it never does, and what stays if it fails. */
import { afterEach, describe, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { expectNothingLeft, gate, harness } from '../../../testing/contract/engine-harness.js'
import { scriptedProvider } from '../../../testing/index.js'
import {
  type Awaitable,
  EndStep,
  event,
  Flow,
  type FlowEngine,
  type FlowEvent,
  type FlowRunInput,
  finish,
  go,
  LogicStep,
  reply,
  type SendEventInput,
  type SessionDocument,
  Step,
  type StepConstructor,
  type Transition,
  type Turn,
} from '../../index.js'

afterEach(expectNothingLeft)

const Decision = z.object({ approved: z.boolean() })

class Ask extends LogicStep<{ asked?: number }> {
  static override readonly id = 'Ask'
  override run(turn: Turn) {
    return turn.message === 'ask' ? go(Wait) : reply('What do you need?')
  }
}

class Wait extends LogicStep<{ decided?: string }> {
  static override readonly id: string = 'Wait'
  override events(): readonly FlowEvent[] {
    return [
      event({
        name: 'decision',
        input: Decision,
        execute: ({ approved }, turn) => {
          this.state.decided = `${turn.event?.by} ${turn.event?.byId}`
          return approved ? go(Paid) : finish(`${turn.event?.by} turned it down.`)
        },
      }),
      event({ name: 'note', execute: (_, turn) => void turn.addContext({ noted: turn.event?.name }) }),
      event({ name: 'press', byUser: true, execute: () => reply('You pressed it.') }),
      event({
        name: 'fail',
        execute: () => {
          this.state.decided = 'lost'
          throw new Error('No money.')
        },
      }),
    ]
  }
  override run(turn: Turn): Awaitable<Transition> {
    return turn.message === 'leave' ? go(Ask) : reply('Still waiting.')
  }
}

class Paid extends LogicStep {
  static override readonly id = 'Paid'
  override run(turn: Turn) {
    return reply(turn.entered ? 'It is paid.' : 'It was paid.')
  }
}

class Refund extends Flow {
  static override readonly id: string = 'Refund'
  override steps(): readonly StepConstructor[] {
    return [Ask, Wait, Paid]
  }
  override events(): readonly FlowEvent[] {
    return [event({ name: 'shipped', execute: () => reply('Your parcel is on its way.') })]
  }
}

const send = (engine: FlowEngine, sessionId: string, input: Omit<SendEventInput, 'sessionId'>) =>
  engine.sendEvent({ sessionId, ...input })
const approve = { event: 'decision', payload: { approved: true }, by: 'Ada Meier', byId: 'emp-17' }

async function waiting(options: Parameters<typeof harness>[0] = {}, owner?: string) {
  const made = harness({ flows: [Refund], ...options })
  const say = (userMessage: string, more: Partial<FlowRunInput> = {}) =>
    made.engine.execute({ flowName: 'Refund', userMessage, ...(owner === undefined ? {} : { owner }), ...more })
  const session = (await say('ask')).response.session
  return { ...made, session, say: (text: string, more = {}) => say(text, { sessionId: session, ...more }) }
}

describe('an event', () => {
  test('is taken by the step that lists it, which may move; the history says who sent it', async () => {
    const { engine, session, document } = await waiting()
    const { response, sessionState } = await send(engine, session, approve)
    expect(response).toEqual({
      success: true,
      completed: false,
      message: 'It is paid.',
      session,
      contentType: 'text/plain',
    })
    expect(sessionState).toBe('running')
    const { history, flow, version } = await document(session)
    expect(history.at(-1)).toMatchObject({
      turn: 2,
      message: '',
      reply: 'It is paid.',
      step: 'Paid',
      event: { name: 'decision', by: 'Ada Meier', byId: 'emp-17', payload: { approved: true } },
    })
    expect(flow.steps.Wait?.state).toEqual({ decided: 'Ada Meier emp-17' })
    // Nothing waits any more, so an older release may read it.
    expect([version, flow.frames]).toEqual([2, undefined])
  })

  test('leaves a frame in the document, of a layout that an older release refuses', async () => {
    const { session, document } = await waiting()
    const { version, flow } = await document(session)
    expect([version, flow.frames, flow.wakeAt]).toEqual([3, [{ step: 'Wait', entry: '1.2' }], undefined])
  })

  test('of the flow is taken in every step, and answers from there', async () => {
    const { engine, start, document } = harness({ flows: [Refund] })
    const session = await start('Refund')
    expect((await send(engine, session, { event: 'shipped' })).response.message).toBe('Your parcel is on its way.')
    expect((await document(session)).flow).toMatchObject({ currentStep: 'Ask' })
    expect((await document(session)).version).toBe(2)
  })

  test('that returns nothing commits and says nothing', async () => {
    const { engine, session, document } = await waiting()
    const { response } = await send(engine, session, { event: 'note' })
    expect([response.success, response.message]).toEqual([true, ''])
    const { history, flow } = await document(session)
    expect(history.at(-1)).toMatchObject({ reply: '', event: { name: 'note' } })
    expect(flow.context).toEqual({ noted: 'note' })
  })

  test('that finishes ends the session', async () => {
    const { engine, session } = await waiting()
    const { response, sessionState } = await send(engine, session, { ...approve, payload: { approved: false } })
    expect([response.message, sessionState]).toEqual(['Ada Meier turned it down.', 'completed'])
  })

  test('does not ask onMessage', async () => {
    const asked = vi.fn()
    class Watched extends Refund {
      override onMessage(turn: Turn) {
        asked(turn.message)
      }
    }
    const { engine, session } = await waiting({ flows: [Watched] })
    await send(engine, session, approve)
    expect(asked.mock.calls).toEqual([['ask']])
  })

  test('waits behind the messages before it, also if the flow refuses or interrupts messages', async () => {
    for (const busy of ['queue', 'reject', 'interrupt'] as const) {
      const held = gate()
      class Slow extends Wait {
        static override readonly id = 'Wait'
        override async run(turn: Turn) {
          if (turn.message === 'slow') await held.opened
          return super.run(turn)
        }
      }
      class SlowRefund extends Refund {
        override steps() {
          return [Ask, Slow, Paid]
        }
      }
      const { engine, session, say } = await waiting({ flows: [SlowRefund], busy })
      await say('hello')
      const slow = say('slow')
      const decided = send(engine, session, approve)
      held.open()
      expect((await slow).response.message).toBe('Still waiting.')
      expect((await decided).response.message).toBe('It is paid.')
    }
  })

  test('is not interrupted by a message, which waits', async () => {
    const held = gate()
    const begun = gate()
    class Slow extends Wait {
      static override readonly id = 'Wait'
      override events() {
        return [
          event({
            name: 'slow',
            execute: async () => {
              begun.open()
              await held.opened
              return reply('Slowly.')
            },
          }),
        ]
      }
    }
    class SlowRefund extends Refund {
      override steps() {
        return [Ask, Slow, Paid]
      }
    }
    const { engine, session, say } = await waiting({ flows: [SlowRefund], busy: 'interrupt' }, 'ada')
    const sent = send(engine, session, { event: 'slow' })
    await begun.opened
    const said = say('hello')
    // The stop button is for the user's own turns.
    expect(await engine.cancel(session, { owner: 'ada' })).toBe(false)
    held.open()
    expect((await sent).response.message).toBe('Slowly.')
    expect((await said).response.message).toBe('Still waiting.')
  })

  test('has places of its own: a full queue of messages does not crowd it out', async () => {
    const held = gate()
    class Slow extends Wait {
      static override readonly id = 'Wait'
      override async run(turn: Turn) {
        if (turn.message === 'slow') await held.opened
        return super.run(turn)
      }
    }
    class SlowRefund extends Refund {
      override steps() {
        return [Ask, Slow, Paid]
      }
    }
    const limits = { maxQueuedTurnsPerSession: 1, maxConcurrentTurnsPerOwner: 2 }
    const { engine, session, say } = await waiting({ flows: [SlowRefund], limits }, 'ada')
    const slow = [say('slow'), say('again')]
    const decided = send(engine, session, approve)
    expect((await say('third')).error?.code).toBe('LIMIT_EXCEEDED')
    held.open()
    await Promise.all(slow)
    expect((await decided).response.message).toBe('It is paid.')
  })

  test('waits for the first turn of its session, whose commit may be slower than a webhook', async () => {
    const held = gate()
    let id = ''
    class First extends Wait {
      static override readonly id = 'Wait'
      override async run(turn: Turn) {
        id = turn.session.id
        await held.opened
        return reply('Waiting.')
      }
    }
    class Early extends Refund {
      override steps() {
        return [First, Paid]
      }
    }
    const { engine } = harness({ flows: [Early] })
    const first = engine.execute({ flowName: 'Refund', userMessage: 'hello', owner: 'ada' })
    await vi.waitUntil(() => id !== '')
    const sent = send(engine, id, approve)
    held.open()
    await first
    expect((await sent).response.message).toBe('It is paid.')
  })
})

describe('an event that nobody takes', () => {
  const untouched = async (
    { engine, stored, backing }: Awaited<ReturnType<typeof waiting>>,
    session: string,
    input: Omit<SendEventInput, 'sessionId'>,
    state: string,
  ): Promise<void> => {
    const before = await stored(session)
    const sessions = backing.size
    const { error, sessionState, response } = await send(engine, session, input)
    expect([error?.code, sessionState, response.success]).toEqual(['EVENT_NOT_TAKEN', state, false])
    expect(await stored(session)).toBe(before)
    expect(backing.size).toBe(sessions)
  }

  test('leaves the document byte for byte as it was', async () => {
    const made = await waiting({}, 'ada')
    const { session, say, engine } = made
    await untouched(made, session, { event: 'unknown' }, 'running')
    await untouched(made, session, { ...approve, only: { step: 'Wait', entry: '9.9' } }, 'running')
    await untouched(made, session, { ...approve, owner: 'bob' }, 'none')
    await untouched(made, 'elsewhere', approve, 'none')
    await say('leave')
    await untouched(made, session, approve, 'running')
    await say('ask')
    await send(engine, session, { ...approve, payload: { approved: false } })
    await untouched(made, session, approve, 'completed')
    await engine.deleteSession(session)
    await untouched(made, session, approve, 'none')
  })

  test('because the first turn is not committed: there is nothing yet that it could be about', async () => {
    class Failing extends Refund {
      override initialStep() {
        return Wait
      }
      override onMessage() {
        throw new Error('No mail.')
      }
    }
    const { engine, backing, stored } = harness({ flows: [Failing], onTurnError: 'rollback' })
    await engine.execute({ flowName: 'Refund', userMessage: 'hello' })
    const [session = ''] = backing.keys()
    const before = await stored(session)
    const { error, sessionState } = await send(engine, session, approve)
    expect([error?.code, sessionState]).toEqual(['EVENT_NOT_TAKEN', 'running'])
    expect(await stored(session)).toBe(before)
  })

  test('says which events the step and its flow take, and is not logged: it happens every day', async () => {
    const logger = { debug: vi.fn(), info: vi.fn(), warn: vi.fn(), error: vi.fn() }
    const { engine, session } = await waiting({ logger, errorText: 'flow' })
    const { error } = await send(engine, session, { event: 'decison' })
    expect(error).toMatchObject({
      message: `Session '${session}' does not take the event 'decison' now.`,
      details: 'Its events now: decision, note, press, fail, shipped.',
      event: 'decison',
    })
    expect(logger.error).not.toHaveBeenCalled()
  })

  test('is not an error for onError of the flow', async () => {
    const asked = vi.fn()
    class Watched extends Refund {
      override onError() {
        asked()
        return reply('Sorry.')
      }
    }
    const { engine, session } = await waiting({ flows: [Watched] })
    expect((await send(engine, session, { event: 'unknown' })).error?.code).toBe('EVENT_NOT_TAKEN')
    expect((await send(engine, session, { event: 'fail' })).error?.code).toBe('FLOW_ERROR')
    expect(asked).not.toHaveBeenCalled()
  })

  test('of a session whose flow asks for a new one', async () => {
    class Restarting extends Refund {
      override onRestore() {
        return null
      }
    }
    const { backing, session } = await waiting()
    const other = harness({ flows: [Restarting], backing })
    const before = await other.stored(session)
    expect((await send(other.engine, session, approve)).error?.code).toBe('EVENT_NOT_TAKEN')
    expect(await other.stored(session)).toBe(before)
  })

  test('because the session belongs to another flow than the caller says', async () => {
    const { engine, session } = await waiting()
    const { error } = await send(engine, session, { ...approve, flowName: 'Elsewhere' })
    expect(error?.code).toBe('SESSION_FLOW_MISMATCH')
    expect((await send(engine, session, { ...approve, flowName: 'Refund' })).response.success).toBe(true)
  })
})

describe('what an event that is refused must not change', () => {
  test('the session of a batch flow, which saves before each turn of a message', async () => {
    class Batch extends Refund {
      override isBatch() {
        return true
      }
    }
    const { engine, session, stored } = await waiting({ flows: [Batch] })
    const before = await stored(session)
    expect((await send(engine, session, { event: 'unknown' })).error?.code).toBe('EVENT_NOT_TAKEN')
    expect(await stored(session)).toBe(before)
  })

  test('with a mask that throws', async () => {
    const mask = (text: string): string => {
      if (text === 'bad') throw new Error('mask')
      return text
    }
    const { engine, session, stored } = await waiting({ mask })
    const before = await stored(session)
    expect((await send(engine, session, { event: 'unknown', payload: 'bad' })).error?.code).toBe('EVENT_NOT_TAKEN')
    expect(await stored(session)).toBe(before)
  })

  test('and the state is that of the session, whoever owns it', async () => {
    const foreign = vi.fn()
    const { engine, session } = await waiting({}, 'ada')
    engine.on('session:foreign', foreign)
    const wrong = await send(engine, session, { ...approve, flowName: 'Elsewhere' })
    const refused = await send(engine, session, { ...approve, payload: { at: new Date(0) } as never })
    expect([wrong.sessionState, refused.sessionState]).toEqual(['running', 'running'])
    expect((await send(engine, session, { ...approve, by: '', owner: 'bob' })).sessionState).toBe('none')
    expect(foreign).toHaveBeenCalledOnce()
  })
})

test('a session that a hook completes takes no event', async () => {
  class Over extends EndStep {
    static override readonly id = 'Over'
  }
  class Leaving extends LogicStep {
    static override readonly id = 'Leaving'
    override onEnter() {
      return finish('Over.')
    }
    override run() {
      return reply('x')
    }
  }
  class Moving extends Refund {
    override steps() {
      return [Ask, Wait, Paid, Leaving, Over]
    }
    override onRestore(document: SessionDocument) {
      return { ...document, flow: { ...document.flow, currentStep: 'Leaving' } }
    }
  }
  const { backing, session } = await waiting()
  const { engine } = harness({ flows: [Moving], backing })
  expect((await send(engine, session, { event: 'shipped' })).error?.code).toBe('EVENT_NOT_TAKEN')
})

test('turn.event.id is the same in each attempt, and another one in the next event', async () => {
  const ids: (string | undefined)[] = []
  let interfere: (() => Promise<unknown>) | undefined
  class Shop extends Refund {
    override events() {
      return [
        event({
          name: 'pay',
          execute: async (_, turn) => {
            ids.push(turn.event?.id)
            await interfere?.()
            interfere = undefined
          },
        }),
      ]
    }
  }
  const { engine, session, backing } = await waiting({ flows: [Shop] })
  const other = harness({ flows: [Shop], backing })
  interfere = () => other.engine.execute({ flowName: 'Refund', userMessage: 'hello', sessionId: session })
  await send(engine, session, { event: 'pay' })
  await send(engine, session, { event: 'pay' })
  const [first, again, next] = ids
  expect([again, ids.length]).toEqual([first, 3])
  expect(next).not.toBe(first)
})

test('what a lost attempt has spent and done goes into the next one, even if that does not ask for it', async () => {
  let attempts = 0
  let interfere: (() => Promise<unknown>) | undefined
  class Paying extends Wait {
    static override readonly id = 'Wait'
    override events() {
      return [
        event({
          name: 'pay',
          execute: async (_, turn) => {
            attempts++
            if (attempts === 1) await turn.once('paid', () => 'receipt')
            return go(Thanks).withMessage(`Attempt ${attempts}`)
          },
        }),
      ]
    }
  }
  class Thanks extends Step {
    static override readonly id = 'Thanks'
    override async onReply(text: string) {
      await interfere?.()
      interfere = undefined
      return text
    }
  }
  class Shop extends Refund {
    override model() {
      return { provider: 'scripted', name: 'scripted' }
    }
    override steps() {
      return [Ask, Paying, Thanks]
    }
  }
  const providers = [scriptedProvider({ Thanks: ['Thank you.', 'Thanks again.'] })]
  const { engine, session, backing, document } = await waiting({ flows: [Shop], providers })
  const other = harness({ flows: [Shop], backing, providers })
  interfere = () => other.engine.execute({ flowName: 'Refund', userMessage: 'hello', sessionId: session })
  expect((await send(engine, session, { event: 'pay' })).response.message).toBe('Thanks again.')
  const { usage, effects } = await document(session)
  expect([usage.modelCalls, effects?.paid?.result]).toEqual([2, 'receipt'])
})

test('another owner does not find a session whose first turn is under way', async () => {
  const held = gate()
  let id = ''
  class Slow extends LogicStep {
    static override readonly id = 'Slow'
    override async run(turn: Turn) {
      id = turn.session.id
      await held.opened
      return reply('x')
    }
  }
  class Early extends Refund {
    override steps() {
      return [Slow]
    }
  }
  const { engine } = harness({ flows: [Early] })
  const first = engine.execute({ flowName: 'Refund', userMessage: 'hello', owner: 'ada' })
  await vi.waitUntil(() => id !== '')
  const { error, sessionState } = await send(engine, id, { event: 'shipped', owner: 'bob' })
  expect([error?.code, sessionState]).toEqual(['EVENT_NOT_TAKEN', 'none'])
  held.open()
  await first
})

test('a waiting event is not superseded, and does not follow messages into the next session', async () => {
  const held = gate()
  class Slow extends Wait {
    static override readonly id = 'Wait'
    override async run(turn: Turn) {
      if (turn.message !== 'end') return reply('Waiting.')
      await held.opened
      return finish('Over.')
    }
  }
  class Ending extends Refund {
    override steps() {
      return [Ask, Slow, Paid]
    }
  }
  for (const busy of ['queue', 'interrupt'] as const) {
    const { engine, session, say, backing } = await waiting({ flows: [Ending], busy })
    const ending = say('end')
    await vi.waitUntil(() => engine.getFlowSession().isLocked(session, {}))
    const sent = send(engine, session, approve)
    const next = busy === 'queue' ? say('next') : undefined
    const newer = busy === 'interrupt' ? say('newer') : undefined
    held.open()
    await Promise.all([ending, next, newer])
    const { error, response } = await sent
    if (busy === 'queue') expect([error?.code, backing.size]).toEqual(['EVENT_NOT_TAKEN', 2])
    else expect([error?.code, response.message]).toEqual([undefined, 'It is paid.'])
  }
})

test('the caller may change its payload at once', async () => {
  const { engine, session, document } = await waiting()
  const payload = { approved: true }
  const sent = send(engine, session, { ...approve, payload })
  payload.approved = false
  await sent
  expect((await document(session)).history.at(-1)?.event?.payload).toEqual({ approved: true })
})

test('an interrupted queue: a message behind an event supersedes those before it, and not the event', async () => {
  const held = gate()
  const begun = gate()
  class Slow extends Wait {
    static override readonly id = 'Wait'
    override events() {
      return [
        event({
          name: 'slow',
          execute: async () => {
            begun.open()
            await held.opened
            return reply('Slowly.')
          },
        }),
      ]
    }
  }
  class SlowRefund extends Refund {
    override steps() {
      return [Ask, Slow, Paid]
    }
  }
  const { engine, session, say } = await waiting({ flows: [SlowRefund], busy: 'interrupt' })
  const sent = send(engine, session, { event: 'slow' })
  await begun.opened
  const messages = ['one', 'two', 'three'].map((text) => say(text))
  held.open()
  expect((await sent).response.message).toBe('Slowly.')
  expect((await Promise.all(messages)).map(({ error }) => error?.code)).toEqual([
    'TURN_SUPERSEDED',
    'TURN_SUPERSEDED',
    undefined,
  ])
})

describe('input of sendEvent that cannot be used', () => {
  test.each<[string, object, string]>([
    [
      'an owner that is undefined',
      { owner: undefined },
      'owner must be a string that is not empty. Leave it out to send as the application.',
    ],
    [
      'a session ID that cannot be one',
      { sessionId: 'a b' },
      'sessionId must be 1 to 256 visible ASCII characters without a comma.',
    ],
    ['an empty name', { event: ' ' }, 'The name of an event must be a text of 1 to 200 characters.'],
    ['a name of a sender that is too long', { by: 'a'.repeat(201) }, 'by must be a string of 1 to 200 characters.'],
    ['an ID of a sender that is too long', { byId: 'a'.repeat(201) }, 'byId must be a string of 1 to 200 characters.'],
    [
      'an unknown field',
      { userMessage: 'x' },
      "There is no field 'userMessage' in the input of sendEvent. The fields are sessionId, event, payload, flowName, owner, by, byId, only, about, idempotencyKey, requestId, signal.",
    ],
    [
      'a payload that is not JSON',
      { payload: { at: new Date(0) } },
      'payload.at is an instance of Date, which JSON cannot carry: use date.toISOString().',
    ],
    [
      'a payload that is too large',
      { payload: 'x'.repeat(200_000) },
      'payload exceeds the limit maxConfigBytes (65536).',
    ],
    ['an about that is too large', { about: 'x'.repeat(1_100) }, 'about may have at most 1024 bytes as JSON.'],
    [
      'an only without an entry',
      { only: { step: 'Wait' } },
      'only must be { step, entry }, as turn.step and turn.entry were.',
    ],
    ['a flow name that is not a text', { flowName: 7 }, 'flowName must be a string.'],
  ])('%s is refused, and nothing is lost', async (_what, change, message) => {
    const { engine, session, stored } = await waiting()
    const before = await stored(session)
    const { error, response } = await engine.sendEvent({ sessionId: session, ...approve, ...change } as SendEventInput)
    expect([error?.code, response.message]).toEqual([
      message.includes('exceeds') ? 'LIMIT_EXCEEDED' : 'INVALID_INPUT',
      message,
    ])
    expect(await stored(session)).toBe(before)
  })

  test('a payload that does not fit the schema names the field, and nothing is touched', async () => {
    const { engine, session, stored } = await waiting()
    const before = await stored(session)
    const { error, sessionState } = await send(engine, session, { ...approve, payload: { approved: 'yes' } })
    expect([error?.code, sessionState]).toEqual(['INVALID_INPUT', 'running'])
    expect(error?.message).toMatch(/^The payload of event 'decision' does not fit: approved: /)
    expect(await stored(session)).toBe(before)
  })

  test('a getter that throws does not make it reject', async () => {
    const { engine } = harness({ flows: [Refund] })
    const input = {
      event: 'x',
      get sessionId(): string {
        throw new Error('evil')
      },
    }
    expect((await engine.sendEvent(input)).response.success).toBe(false)
  })

  test.each<unknown>([undefined, null, 'x', []])('%j instead of an input never rejects', async (input) => {
    const { engine } = harness({ flows: [Refund] })
    expect((await engine.sendEvent(input as SendEventInput)).error?.code).toBe('INVALID_INPUT')
    expect((await engine.wake(input as never)).results[0]?.error?.code).toBe('INVALID_INPUT')
  })
})

describe('an event that fails', () => {
  test('a hundred times leaves the session running, whatever onTurnError says, and keeps one text for each name', async () => {
    const { engine, session, say, document } = await waiting({ onTurnError: 'abort' })
    for (let count = 0; count < 100; count++) {
      const { error, sessionState } = await send(engine, session, { event: 'fail' })
      expect([error?.code, sessionState]).toEqual(['FLOW_ERROR', 'running'])
    }
    const { error, flow, turns } = await document(session)
    expect(error).toEqual(["Event 'fail': No money."])
    expect([flow.steps.Wait?.state, turns]).toEqual([{}, 1])
    expect((await say('hello')).response.message).toBe('Still waiting.')
  })

  test('keeps its effects, so that it does them once', async () => {
    const charged = vi.fn(() => 'receipt')
    class Charging extends Wait {
      static override readonly id = 'Wait'
      override events() {
        return [
          event({
            name: 'charge',
            execute: async (_, turn) => {
              await turn.once('charge', charged)
              if (charged.mock.calls.length > 0 && turn.event?.by === 'Bob') throw new Error('No.')
              return reply('Charged.')
            },
          }),
        ]
      }
    }
    class Shop extends Refund {
      override steps() {
        return [Ask, Charging, Paid]
      }
    }
    const { engine, session } = await waiting({ flows: [Shop] })
    expect((await send(engine, session, { event: 'charge', by: 'Bob' })).error?.code).toBe('FLOW_ERROR')
    expect((await send(engine, session, { event: 'charge' })).response.message).toBe('Charged.')
    expect(charged).toHaveBeenCalledOnce()
  })

  test('is tried again after a conflict, at most three times, and its work is done once', async () => {
    const work = vi.fn(() => 'done')
    let interfere: (() => Promise<unknown>) | undefined
    class Working extends Wait {
      static override readonly id = 'Wait'
      override events() {
        return [
          event({
            name: 'work',
            execute: async (_, turn) => {
              await turn.once('work', work)
              await interfere?.()
              return reply('Done.')
            },
          }),
        ]
      }
    }
    class Shop extends Refund {
      override steps() {
        return [Ask, Working, Paid]
      }
    }
    const { engine, session, backing, document } = await waiting({ flows: [Shop] })
    const other = harness({ flows: [Shop], backing })
    const elsewhere = () => other.engine.execute({ flowName: 'Refund', userMessage: 'hello', sessionId: session })
    let times = 2
    interfere = async () => (times-- > 0 ? elsewhere() : undefined)
    expect((await send(engine, session, { event: 'work' })).response.message).toBe('Done.')
    expect(work).toHaveBeenCalledOnce()
    expect((await document(session)).turns).toBe(4)
    interfere = elsewhere
    const { error, sessionState } = await send(engine, session, { event: 'work' })
    expect([error?.code, sessionState]).toEqual(['SESSION_CONFLICT', 'running'])
    expect((await document(session)).turns).toBe(7)
  })

  test('moved by a deploy to a step that is gone is refused, untouched', async () => {
    class Shorter extends Refund {
      override steps() {
        return [Ask]
      }
    }
    const { backing, session } = await waiting()
    const other = harness({ flows: [Shorter], backing })
    const before = await other.stored(session)
    expect((await send(other.engine, session, approve)).error?.code).toBe('SESSION_FLOW_INVARIANT')
    expect(await other.stored(session)).toBe(before)
  })
})

describe('the same event again, under its key', () => {
  const idempotencyKey = 'the-key-of-this-decision'

  test('gets the recorded result, also after the session has ended', async () => {
    const { engine, session, document } = await waiting()
    const decline = { ...approve, payload: { approved: false }, idempotencyKey }
    const first = await send(engine, session, decline)
    const again = await send(engine, session, decline)
    expect(again).toEqual({ ...first, replayed: true })
    const { receipts, turns } = await document(session)
    expect([receipts?.map((one) => one.event), turns]).toEqual([[true], 2])
  })

  test('with another payload or another sender is a mismatch', async () => {
    const { engine, session } = await waiting()
    await send(engine, session, { ...approve, idempotencyKey })
    for (const change of [{ payload: { approved: false } }, { by: 'Bob' }, { byId: 'emp-18' }]) {
      const { error } = await send(engine, session, { ...approve, ...change, idempotencyKey })
      expect(error?.code).toBe('IDEMPOTENCY_MISMATCH')
    }
    // Two releases may call the flow by two names.
    const named = await send(engine, session, { ...approve, flowName: 'Refund', idempotencyKey })
    expect(named.replayed).toBe(true)
  })

  test('at once is one turn', async () => {
    const { engine, session, document } = await waiting()
    const outcomes = await Promise.all([1, 2, 3].map(() => send(engine, session, { ...approve, idempotencyKey })))
    expect(new Set(outcomes.map(({ response }) => response.message))).toEqual(new Set(['It is paid.']))
    expect((await document(session)).turns).toBe(2)
  })

  test('keeps the last 32 events, apart from messages and from the history', async () => {
    const { engine, session, say, document } = await waiting({ limits: { maxHistoryTurns: 4, maxReceipts: 2 } })
    const key = (name: string, count: number): string => `${name}-of-this-test-${count}`
    for (let count = 0; count < 40; count++) {
      await send(engine, session, { event: 'note', idempotencyKey: key('event', count) })
      if (count % 4 === 0) await say('hello', { idempotencyKey: key('message', count) })
    }
    const { receipts = [] } = await document(session)
    expect(receipts.filter((one) => one.event)).toHaveLength(32)
    expect(receipts.filter((one) => !one.event).length).toBeLessThanOrEqual(2)
    const again = await send(engine, session, { event: 'note', idempotencyKey: key('event', 8) })
    expect([again.replayed, again.response.message]).toEqual([true, ''])
    const lost = await send(engine, session, { event: 'note', idempotencyKey: key('event', 7) })
    expect(lost.replayed).toBeUndefined()
  })
})

describe("the user's own event", () => {
  test('does not push out the receipts of the application', async () => {
    const { engine, session, say } = await waiting({})
    const webhook = { event: 'shipped', idempotencyKey: 'shop:webhook:evt_1' }
    await send(engine, session, webhook)
    for (let count = 0; count < 40; count++) {
      await say('', { event: { name: 'press' }, idempotencyKey: `press-of-this-test-${count}` })
    }
    expect((await send(engine, session, webhook)).replayed).toBe(true)
  })

  test('reaches what allows it, and nothing else', async () => {
    const { session, say, stored } = await waiting({}, 'ada')
    const pressed = await say('', { event: { name: 'press' } })
    expect(pressed.response.message).toBe('You pressed it.')
    const before = await stored(session)
    for (const name of ['decision', 'shipped', 'unknown']) {
      const { error } = await say('', { event: { name, payload: { approved: true } } })
      expect(error?.code).toBe('EVENT_NOT_TAKEN')
    }
    expect((await say('', { event: { name: 'press' }, owner: 'bob' })).error?.code).toBe('EVENT_NOT_TAKEN')
    expect(await stored(session)).toBe(before)
  })

  test.each<[string, object, string]>([
    [
      'with a message',
      { userMessage: 'hello' },
      'event must be { name, payload? }, with a sessionId, an empty message and no files.',
    ],
    [
      'without a session',
      { sessionId: '' },
      'event must be { name, payload? }, with a sessionId, an empty message and no files.',
    ],
    [
      'with a field that it does not have',
      { event: { name: 'press', by: 'Boss' } },
      'event must be { name, payload? }, with a sessionId, an empty message and no files.',
    ],
    ['without a name', { event: {} }, 'The name of an event must be a text of 1 to 200 characters.'],
    ['with an unknown whenEnded', { whenEnded: 'maybe' }, "whenEnded must be 'new' or 'reject'."],
  ])('%s is refused', async (_what, change, message) => {
    const { engine, session } = await waiting()
    const input = { flowName: 'Refund', userMessage: '', sessionId: session, event: { name: 'press' }, ...change }
    const { error, response } = await engine.execute(input as FlowRunInput)
    expect([error?.code, response.message]).toEqual(['INVALID_INPUT', message])
  })
})

describe("whenEnded: 'reject'", () => {
  test('refuses a message to a completed session, stores nothing, and changes nothing else', async () => {
    const { engine, session, say, backing } = await waiting()
    await send(engine, session, { ...approve, payload: { approved: false } })
    const { error, sessionState } = await say('thanks!', { whenEnded: 'reject' })
    expect([error?.code, error?.message, sessionState]).toEqual([
      'SESSION_ENDED',
      `Session '${session}' has ended. Leave the session ID out to start a new one.`,
      'completed',
    ])
    expect(backing.size).toBe(1)
    expect((await say('thanks!')).restarted).toBe('completed')
    expect((await say('hello', { whenEnded: 'reject', sessionId: 'unknown' })).restarted).toBe('unknown')
  })
})

describe('what a model sees of an event', () => {
  class Chat extends Step {
    static override readonly id = 'Chat'
    override events() {
      return [
        event({ name: 'told', execute: () => reply('The parcel is here.') }),
        event({ name: 'silent', execute: () => undefined }),
      ]
    }
  }
  class Person extends LogicStep {
    static override readonly id = 'Person'
    override readonly memory: string = 'Chat'
    override events() {
      return [
        event({ name: 'says', input: z.string(), execute: (text) => reply(text) }),
        event({ name: 'back', execute: () => go(Chat) }),
      ]
    }
    override run() {
      return reply()
    }
  }
  class Talk extends Flow {
    static override readonly id = 'Talk'
    override model() {
      return { provider: 'scripted', name: 'scripted' }
    }
    override steps() {
      return [Chat, Person]
    }
    override onMessage(turn: Turn) {
      return turn.message === 'a person, please' ? go(Person) : undefined
    }
  }

  async function talk() {
    const made = harness({ flows: [Talk], providers: [scriptedProvider({ Chat: ['Hello.', 'Yes.'] })] })
    const say = (userMessage: string, sessionId?: string) =>
      made.engine.execute({ flowName: 'Talk', userMessage, ...(sessionId && { sessionId }) })
    const session = (await say('Hi.')).response.session
    const memory = async (): Promise<string[]> =>
      ((await made.document(session)).flow.memory.Chat?.messages ?? []).map(
        ({ role, parts }) => `${role}: ${parts.map((part) => (part.type === 'text' ? part.text : part.type)).join()}`,
      )
    return { ...made, session, memory, say: (text: string) => say(text, session) }
  }

  test('is the reply alone: no text of the user, and nothing if there is no reply', async () => {
    const { engine, session, memory } = await talk()
    await send(engine, session, { event: 'told' })
    await send(engine, session, { event: 'silent' })
    expect(await memory()).toEqual(['user: Hi.', 'assistant: Hello.', 'assistant: The parcel is here.'])
  })

  test('is its name, if it leads to the model', async () => {
    const { engine, session, memory, say } = await talk()
    expect((await say('a person, please')).response.message).toBe('')
    await send(engine, session, { event: 'says', payload: 'I am Grace.', by: 'Grace' })
    expect((await send(engine, session, { event: 'back' })).response.message).toBe('Yes.')
    expect(await memory()).toEqual([
      'user: Hi.',
      'assistant: Hello.',
      'user: a person, please',
      'assistant: I am Grace.',
      'user: Event: back',
      'assistant: Yes.',
    ])
  })
})

describe('texts of an event', () => {
  test('are masked, and left out if they are long', async () => {
    const mask = (text: string): string => text.replaceAll(/\d/g, '#')
    class Noting extends Refund {
      override events() {
        return [event({ name: 'card', execute: () => reply('Card 12.') })]
      }
    }
    const { engine, session, document } = await waiting({ flows: [Noting], mask })
    await send(engine, session, { event: 'card', payload: { number: '4111', cvc: 12 } })
    await send(engine, session, { event: 'card', payload: 'x'.repeat(2_000) })
    const [, first, second] = (await document(session)).history
    expect(first).toMatchObject({ reply: 'Card ##.', event: { payload: { number: '####', cvc: '##' } } })
    expect(second?.event).toEqual({ name: 'card' })
  })
})

test('a step that a deploy gave events to takes them from the next turn on', async () => {
  class Old extends LogicStep {
    static override readonly id = 'Wait'
    override run() {
      return reply('Old.')
    }
  }
  class OldRefund extends Refund {
    override steps() {
      return [Ask, Old, Paid]
    }
    override events() {
      return []
    }
  }
  const { backing, session } = await waiting({ flows: [OldRefund] })
  const { engine, document } = harness({ flows: [Refund], backing })
  expect((await send(engine, session, { event: 'note' })).response.success).toBe(true)
  expect((await document(session)).flow.frames).toEqual([{ step: 'Wait', entry: '2.0' }])
})

test('an end step takes no events, and its session waits for nothing', async () => {
  class Over extends EndStep {
    static override readonly id = 'Over'
    override events() {
      return [event({ name: 'late', execute: () => reply('No.') })]
    }
  }
  class Short extends Refund {
    override steps() {
      return [Ask, Wait, Paid, Over]
    }
  }
  const { engine, session, document } = await waiting({ flows: [Short] })
  await send(engine, session, { ...approve, payload: { approved: false } })
  const { runStatus, flow }: SessionDocument = await document(session)
  expect([runStatus, flow.frames]).toEqual(['completed', undefined])
})

describe('events() that cannot be used fails the turn, and says what to do', () => {
  test.each<[string, () => unknown, string]>([
    ['a promise', async () => [], "Step 'Only' must return a list from events(), made with event()."],
    [
      'an object of its own',
      () => [{ name: 'a', execute() {} }],
      "Step 'Only' must return a list from events(), made with event().",
    ],
    [
      'a name twice',
      () => ['a', 'a'].map((name) => event({ name, execute() {} })),
      "Step 'Only' may not have two events with the name 'a'.",
    ],
  ])('%s', async (_what, events, message) => {
    class Only extends LogicStep {
      static override readonly id = 'Only'
      override events() {
        return events() as readonly FlowEvent[]
      }
      override run() {
        return reply('x')
      }
    }
    class Talk extends Flow {
      static override readonly id = 'Talk'
      override steps() {
        return [Only]
      }
    }
    const { engine } = harness({ flows: [Talk] })
    expect((await engine.run({ flowName: 'Talk', userMessage: 'x' })).message).toBe(message)
  })
})
