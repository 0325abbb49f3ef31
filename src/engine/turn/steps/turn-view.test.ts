import { describe, expect, test } from 'vitest'
import { flowOf } from '../../../../testing/contract/test-flows.js'
import { Conversation, type ConversationOptions, VirtualClock } from '../../../../testing/index.js'
import { type FlowLogger, go, LogicStep, reply, type SessionDocument, type Turn } from '../../../index.js'

/** A flow of one step, named `Start`, that does this in each turn. */
function looking(look: (turn: Turn) => unknown, options: ConversationOptions = {}): Conversation {
  class Start extends LogicStep {
    static override readonly id = 'Start'
    override run(turn: Turn) {
      return reply(String(look(turn)))
    }
  }
  return new Conversation(flowOf(Start), options)
}

describe('turn', () => {
  test('has the message and its number, counted from 1', async () => {
    await using conversation = looking((turn) => `${turn.number} ${turn.message}`)
    await conversation.say('a')
    conversation.expectReply('1 a')
    await conversation.say('b')
    conversation.expectReply('2 b')
  })

  test('has a signal that does not fire while the turn goes on', async () => {
    await using conversation = looking((turn) => turn.signal.aborted)
    await conversation.say('a')
    conversation.expectReply('false')
  })
})

describe('turn.context', () => {
  test('[2.2-3] holds the config of the first turn, frozen', async () => {
    const seen: Turn['context'][] = []
    await using conversation = looking((turn) => seen.push(turn.context))
    await conversation.say('a', { config: { user: { name: 'Ada' } } })
    await conversation.say('b')
    expect(seen).toEqual([{ config: { user: { name: 'Ada' } } }, { config: { user: { name: 'Ada' } } }])
    const [context] = seen
    const config = context?.config as { user: object }
    expect([context, config, config.user].map(Object.isFrozen)).toEqual([true, true, true])
  })

  test('is laid over by serverContext, for one turn, and nothing of that is stored', async () => {
    const seen: unknown[] = []
    class Greeting extends flowOf(
      class Start extends LogicStep {
        override run(turn: Turn) {
          seen.push(turn.context)
          return reply('Seen.')
        }
      },
    ) {
      override init() {
        this.addContext({ plan: 'free', region: 'eu' })
      }
    }
    await using conversation = new Conversation(Greeting)
    await conversation.say('a', { config: {}, serverContext: { plan: 'paid', limits: { seats: 3 } } })
    await conversation.say('b')
    expect(seen).toEqual([
      { config: {}, plan: 'paid', region: 'eu', limits: { seats: 3 } },
      { config: {}, plan: 'free', region: 'eu' },
    ])
    expect((await conversation.document()).flow.context).toEqual({ config: {}, plan: 'free', region: 'eu' })
  })

  test('is frozen also where the server laid something over it', async () => {
    let context: Turn['context'] = {}
    await using conversation = looking((turn) => {
      context = turn.context
    })
    await conversation.say('a', { serverContext: { limits: { seats: 3 } } })
    expect(Object.isFrozen(context)).toBe(true)
    expect(Object.isFrozen(context.limits)).toBe(true)
  })

  test('is the same object until something is added', async () => {
    const seen: Turn['context'][] = []
    await looking((turn) => seen.push(turn.context, turn.context)).say('a')
    expect(seen[0]).toBe(seen[1])
  })
})

describe('turn.addContext', () => {
  test('is read at once, and stored when the turn commits', async () => {
    await using conversation = looking((turn) => {
      if (turn.number === 1) turn.addContext({ plan: { name: 'free' }, region: 'eu' })
      if (turn.number === 2) turn.addContext({ plan: { name: 'paid' }, region: undefined })
      return JSON.stringify(turn.context)
    })
    await conversation.say('a', { config: { user: 'ada' } })
    conversation.expectReply('{"config":{"user":"ada"},"plan":{"name":"free"},"region":"eu"}')
    await conversation.restart()
    await conversation.say('b')
    conversation.expectReply('{"config":{"user":"ada"},"plan":{"name":"paid"}}')
    expect((await conversation.document()).flow.context).toEqual({ config: { user: 'ada' }, plan: { name: 'paid' } })
  })

  test('keeps a copy: what the flow changes later is not stored', async () => {
    const plan = { name: 'free' }
    await using conversation = looking((turn) => {
      turn.addContext({ plan })
      plan.name = 'changed'
      return turn.context.plan === plan
    })
    await conversation.say('a')
    conversation.expectReply('false')
    expect((await conversation.document()).flow.context).toEqual({ plan: { name: 'free' } })
  })

  test("does not win over the server's context, which is never stored", async () => {
    await using conversation = looking((turn) => {
      turn.addContext({ plan: 'free' })
      return turn.context.plan
    })
    await conversation.say('a', { serverContext: { plan: 'paid' } })
    conversation.expectReply('paid')
    expect((await conversation.document()).flow.context).toEqual({ plan: 'free' })
  })

  test('is discarded with a turn that fails', async () => {
    await using conversation = looking((turn) => {
      if (turn.number === 1) return 'Hello.'
      turn.addContext({ plan: 'free' })
      throw new Error('Broken.')
    })
    await conversation.say('a')
    const sessionId = conversation.sessionId as string
    await conversation.engine.execute({ flowName: 'Test', userMessage: 'b', sessionId })
    expect((await conversation.document()).flow.context).toEqual({})
  })

  test.each<readonly [unknown, string]>([
    [
      { plan: { since: new Date(0) } },
      'context.plan.since is an instance of Date, which JSON cannot carry: use date.toISOString().',
    ],
    [{ list: [1, Number.NaN] }, 'context.list[1] is NaN, which JSON cannot carry.'],
    ['text', 'turn.addContext: value must be a plain object.'],
    [[1], 'turn.addContext: value must be a plain object.'],
    [undefined, 'turn.addContext: value must be a plain object.'],
  ])('refuses %j where it is called', async (value, problem) => {
    let caught: unknown
    await using conversation = looking((turn) => {
      try {
        turn.addContext(value as never)
      } catch (error) {
        caught = error
      }
      return JSON.stringify(turn.context)
    })
    await conversation.say('a')
    expect(caught).toMatchObject({ code: 'FLOW_ERROR', message: problem })
    conversation.expectReply('{}')
  })
})

describe('turn.now', () => {
  test("is the time of the engine's clock whenever it is read", async () => {
    const clock = new VirtualClock()
    await using conversation = looking(
      (turn) => {
        const before = turn.now
        clock.shiftWallTime(5_000)
        return turn.now - before
      },
      { clock },
    )
    await conversation.say('a')
    conversation.expectReply('5000')
  })

  test("is there for the flow's own hooks as this.now", async () => {
    class Offer extends flowOf(
      class Start extends LogicStep {
        override run(turn: Turn) {
          return reply(`${turn.number}`)
        }
      },
    ) {
      override onRestore(document: SessionDocument) {
        return this.now - Date.parse(document.savedAt) > 60_000 ? null : undefined
      }
    }
    await using conversation = new Conversation(Offer)
    for (const expected of ['1', '2', '1']) {
      await conversation.say('a')
      conversation.expectReply(expected)
      if (expected === '2') await conversation.advance(60_001)
    }
    expect(Math.abs(new Offer().now - Date.now())).toBeLessThan(60_000)
  })
})

describe('turn.session', () => {
  test('identifies the session', async () => {
    const seen: unknown[] = []
    await using conversation = looking((turn) => seen.push(turn.session), { clock: new VirtualClock() })
    await conversation.say('a')
    await conversation.say('b')
    const session = { id: conversation.sessionId, flowName: 'Test', createdAt: '2026-01-01T00:00:00.000Z' }
    expect(seen).toEqual([
      { ...session, isNew: true },
      { ...session, isNew: false },
    ])
    expect(Object.isFrozen(seen[0])).toBe(true)
  })

  test('has the owner where there is one', async () => {
    await using conversation = looking((turn) => turn.session.owner)
    await conversation.say('a', { owner: 'ada' })
    conversation.expectReply('ada')
  })

  test('has the ID that the session will be stored under, not the unknown one that was asked for', async () => {
    await using conversation = looking((turn) => turn.session.id)
    const response = await conversation.say('a', { sessionId: 'made-up' })
    expect(response.message).toBe(response.session)
  })
})

describe('turn.transient', () => {
  test('hands things from step to step, and is gone with the turn', async () => {
    class First extends LogicStep {
      static override readonly id = 'First'
      override run(turn: Turn) {
        if (turn.entered) turn.transient.set('when', new Date(0))
        return go(Second)
      }
    }
    class Second extends LogicStep {
      static override readonly id = 'Second'
      override run(turn: Turn) {
        return reply(`${turn.transient.has('when')}`)
      }
    }
    await using conversation = new Conversation(flowOf(First, Second))
    await conversation.say('a')
    conversation.expectReply('true')
    await conversation.say('b')
    conversation.expectReply('false')
  })
})

describe('turn.entered', () => {
  test('is true in the pass in which the step was entered, onEnter included', async () => {
    const seen: boolean[] = []
    class Start extends LogicStep {
      static override readonly id = 'Start'
      override onEnter(turn: Turn) {
        seen.push(turn.entered)
      }
      override run(turn: Turn) {
        seen.push(turn.entered)
        return turn.message === 'again' && !turn.entered ? go('Start') : reply('Here.')
      }
    }
    await using conversation = new Conversation(flowOf(Start))
    for (const message of ['a', 'b', 'again']) await conversation.say(message)
    expect(seen).toEqual([true, true, false, false, true, true])
  })
})

describe('turn.log', () => {
  const levels = ['debug', 'info', 'warn', 'error'] as const

  test('writes to the logger of the engine, with the place of the turn', async () => {
    const written: unknown[] = []
    const logger = Object.fromEntries(
      levels.map((level) => [level, (...entry: unknown[]) => written.push([level, ...entry])]),
    )
    await using conversation = looking(
      (turn) => {
        for (const level of levels) turn.log[level](`a ${level}`, { order: 7 })
        turn.log.info('no fields')
      },
      { logger: logger as unknown as FlowLogger, generateId: (kind) => `${kind}-id` },
    )
    await conversation.say('a')
    const where = { sessionId: 'session-id', flowName: 'Test', turnId: 'turn-id', step: 'Start' }
    expect(written).toEqual([
      ...levels.map((level) => [level, `a ${level}`, { ...where, order: 7 }]),
      ['info', 'no fields', where],
    ])
  })

  test('never fails a turn', async () => {
    const broken = (): never => {
      throw new Error('disk full')
    }
    await using conversation = looking(
      (turn) => {
        for (const level of levels) turn.log[level]('a')
        return 'Logged.'
      },
      { logger: { debug: broken, info: broken, warn: broken, error: broken } },
    )
    await conversation.say('a')
    conversation.expectReply('Logged.')
  })
})
