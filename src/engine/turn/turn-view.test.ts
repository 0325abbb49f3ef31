import { describe, expect, test } from 'vitest'
import { flowOf } from '../../../testing/contract/test-flows.js'
import { Conversation, type ConversationOptions, VirtualClock } from '../../../testing/index.js'
import { type FlowLogger, go, LogicStep, reply, type Turn } from '../../index.js'

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
