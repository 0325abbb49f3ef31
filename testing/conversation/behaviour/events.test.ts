/** Events of the application and of the clock, in a conversation. */
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import {
  event,
  Flow,
  finish,
  go,
  LogicStep,
  MemorySessionStore,
  reply,
  Step,
  type StepConstructor,
  type Turn,
} from '../../../src/index.js'
import { Conversation } from '../conversation.js'
import type { ConversationOptions } from '../conversation-options.js'

const hour = 3_600_000
const day = 24 * hour

class Approval extends LogicStep<{ asked: number }> {
  static override readonly id = 'Approval'
  override initialState() {
    return { asked: 0 }
  }
  override events() {
    return [
      event({
        name: 'decision',
        input: z.object({ approved: z.boolean() }),
        execute: ({ approved }, turn) => (approved ? go(Paid) : finish(`${turn.event?.by} turned it down.`)),
      }),
      event({ name: 'seen', byUser: true, execute: () => undefined }),
      event({
        name: 'remind',
        after: day,
        execute: async (_, turn) => {
          await turn.once(`mail:${turn.number}`, () => 1)
          turn.setTimer('remind', day)
        },
      }),
      event({ name: 'broken', execute: () => Promise.reject(new Error('no bank')) }),
      event({ name: 'expired', after: 3 * day + hour, execute: () => finish('No decision came.') }),
    ]
  }
  override run(turn: Turn) {
    return turn.entered ? reply('I have asked your manager.') : reply(`Still waiting: ${turn.message}`)
  }
}
class Paid extends LogicStep {
  static override readonly id = 'Paid'
  override run() {
    return reply('Paid.')
  }
}
class Refund extends Flow {
  static override readonly id: string = 'Refund'
  override steps(): readonly StepConstructor[] {
    return [Approval, Paid]
  }
  override events() {
    return [event({ name: 'shipped', execute: () => reply('It is on its way.') })]
  }
}

async function refund(options: ConversationOptions = {}): Promise<Conversation> {
  const conversation = new Conversation(Refund, options)
  await conversation.say('100 EUR')
  return conversation
}

describe('an event', () => {
  test('is taken as a turn, and shown in the transcript', async () => {
    await using conversation = await refund()
    conversation.expectEvents(['shipped', 'decision', 'seen', 'remind', 'broken', 'expired'])
    await conversation.sendEvent('seen')
    expect(conversation.reply.message).toBe('')
    await conversation.sendEvent('decision', { approved: true }, { by: 'Ada Meier', byId: 'emp-17' })
    conversation.expectReply('Paid.').expectStep(Paid).expectEvents(['shipped']).expectTimers({})
    await conversation.say('', { event: { name: 'seen' } })
    conversation.expectError('EVENT_NOT_TAKEN')
    expect(conversation.transcript()).toMatchInlineSnapshot(`
      "# Refund

      ## Turn 1

      User: 100 EUR

      - enters Approval

      Reply: I have asked your manager.

      Now at Approval.

      ## Turn 2

      Event: seen

      No reply.

      Now at Approval.

      ## Turn 3

      Event: decision {"approved":true} by Ada Meier

      - enters Paid

      Reply: Paid.

      Now at Paid.

      ## Turn 4

      Event: seen

      Failed with EVENT_NOT_TAKEN: Session '<session>' does not take the event 'seen' now.
      "
    `)
  })

  test('has keys, as a message has', async () => {
    await using conversation = await refund()
    await conversation.sendEvent('shipped', undefined, { key: 'parcel' })
    await conversation.sendEvent('shipped', undefined, { key: 'parcel' })
    conversation.expectReply('It is on its way.').expectReplayed()
    await conversation.sendEvent('shipped', undefined, { key: 'parcel', by: 'Bob' })
    conversation.expectError('IDEMPOTENCY_MISMATCH')
  })

  test('that nobody takes fails, and leaves the session as it was', async () => {
    await using conversation = await refund()
    const before = await conversation.document()
    await conversation.sendEvent('delivered')
    conversation.expectError('EVENT_NOT_TAKEN')
    await conversation.sendEvent('decision', { approved: 'yes' })
    conversation.expectError('INVALID_INPUT', /does not fit/).expectStep(Approval)
    expect(await conversation.document()).toEqual(before)
  })

  test('whose turn fails must be expected to', async () => {
    const conversation = await refund()
    await conversation.sendEvent('broken')
    await expect(conversation.say('Hello')).rejects.toThrow(
      "The turn of event 'broken' failed with FLOW_ERROR: no bank",
    )
    await conversation.sendEvent('delivered')
    await expect(conversation.advance(day)).rejects.toThrow(
      "does not take the event 'delivered' now.\n  Its events now: decision, seen, remind, broken, expired, shipped.",
    )
    await conversation.close()
  })

  test('ends with its process', async () => {
    await using conversation = await refund()
    conversation.dieAfterEffect('mail:2')
    expect(await conversation.advance(day)).toMatchObject([{ success: false }])
    expect(conversation.transcript()).toContain('Event: remind\n\nThe process died after mail:2')
    await conversation.advance(0)
    conversation
      .expectReply('')
      .expectRanOnce('mail:2')
      .expectTimers({ remind: day, expired: 2 * day + hour })
  })
})

describe('time', () => {
  test('plays each timer as a turn, at its time', async () => {
    await using conversation = await refund()
    conversation.expectTimers({ remind: day, expired: 3 * day + hour })
    const start = conversation.clock.now()
    expect(await conversation.advance(day - 1)).toEqual([])
    expect(conversation.clock.now()).toBe(start + day - 1)
    conversation.expectTimers({ remind: 1, expired: 2 * day + hour + 1 })
    const replies = await conversation.advance(7 * day + 1)
    expect(replies.map(({ message }) => message)).toEqual(['', '', '', 'No decision came.'])
    expect(conversation.clock.now()).toBe(start + 8 * day)
    conversation.expectCompleted().expectTimers({}).expectEvents([]).expectRanOnce('mail:3')
    const { history } = await conversation.document()
    expect(history.map(({ at }) => (Date.parse(at) - start) / hour)).toEqual([0, 24, 48, 72, 73])
    expect(await conversation.advance(7 * day)).toEqual([])
  })

  test('plays timers of one moment as turns of their own, the one after the other', async () => {
    class Twice extends LogicStep {
      static override readonly id = 'Twice'
      override events() {
        return [
          event({ name: 'first', after: day, execute: () => reply('One.') }),
          event({ name: 'second', after: day, execute: () => reply('Two.') }),
          event({ name: 'third', silence: day, execute: () => Promise.reject(new Error('three')) }),
        ]
      }
      override run() {
        return reply('Hello.')
      }
    }
    class Both extends Flow {
      static override readonly id = 'Both'
      override steps() {
        return [Twice]
      }
    }
    await using conversation = new Conversation(Both)
    await conversation.say('Hello')
    const replies = await conversation.advance(day)
    expect(replies.map(({ message, success }) => [message, success])).toEqual([
      ['One.', true],
      ['Two.', true],
      ['three', false],
    ])
    conversation.expectError('FLOW_ERROR', /three/)
    expect(conversation.transcript()).toMatchInlineSnapshot(`
      "# Both

      ## Turn 1

      User: Hello

      - enters Twice

      Reply: Hello.

      Now at Twice.

      ## Turn 2

      Event: first

      Reply: One.

      ## Turn 3

      Event: second

      Reply: Two.

      Now at Twice.

      ## Turn 4

      Event: third

      Failed with FLOW_ERROR: three
      "
    `)
    expect(await conversation.advance(hour)).toHaveLength(1)
    conversation.expectError('FLOW_ERROR', /three/)
  })

  test('stops at a failed turn that nobody expects', async () => {
    class Failing extends Refund {
      static override readonly id = 'Failing'
      override events() {
        return [event({ name: 'nudge', silence: 2 * hour, execute: () => Promise.reject(new Error('no mail')) })]
      }
    }
    const conversation = new Conversation(Failing)
    await conversation.say('100 EUR')
    await expect(conversation.advance(2 * day)).rejects.toThrow("The turn of event 'nudge' failed with FLOW_ERROR")
    await conversation.close()
  })

  test('is not played twice, whatever the store', async () => {
    const wakes: string[] = []
    for (const options of [
      { createStore: () => new MemorySessionStore() },
      { schedule: ({ at }: { readonly at: string }) => void wakes.push(at) },
    ]) {
      await using conversation = await refund(options)
      await conversation.advance(2 * day)
      expect((await conversation.document()).turns).toBe(3)
    }
    expect(wakes).toEqual(['2026-01-02T00:00:00.000Z', '2026-01-03T00:00:00.000Z', '2026-01-04T00:00:00.000Z'])
  })

  test('goes on after a restart, and in a fork', async () => {
    await using conversation = await refund()
    await conversation.restart()
    const fork = await conversation.fork()
    await fork.sendEvent('decision', { approved: true })
    fork.expectEvents(['shipped'])
    expect(await conversation.advance(day)).toHaveLength(1)
    expect(conversation.transcript()).toContain('## Turn 2 (after a restart)\n\nEvent: remind')
  })
})

describe('a conversation that begins in the middle', () => {
  test('has the timers of its step', async () => {
    await using conversation = Conversation.at(Refund, { step: Approval, history: [['100 EUR', 'I have asked.']] })
    expect(await conversation.advance(4 * day)).toHaveLength(4)
    conversation.expectReply('No decision came.').expectCompleted()
  })

  test('takes an event first', async () => {
    await using conversation = Conversation.at(Refund, { step: Approval })
    await conversation.sendEvent('seen')
    conversation.expectTimers({ remind: day, expired: 3 * day + hour })
    await conversation.sendEvent('shipped')
    conversation.expectReply('It is on its way.').expectStep(Approval)
  })

  test('in a step without events has none', async () => {
    await using conversation = Conversation.at(Refund, { step: Paid })
    await conversation.open()
    expect((await conversation.document()).version).toBe(2)
  })
})

describe('a model step', () => {
  class Ask extends Step {
    static override readonly id = 'Ask'
    override prompt() {
      return 'Talk.'
    }
    override events() {
      return [event({ name: 'paid', input: z.number(), execute: (amount) => reply(`${amount} EUR arrived.`) })]
    }
  }
  class Bank extends Flow {
    static override readonly id = 'Bank'
    override model() {
      return { provider: 'openai', name: 'gpt-5-mini' }
    }
    override steps() {
      return [Ask]
    }
  }

  test('remembers what an event said', async () => {
    await using conversation = new Conversation(Bank, { script: ['Hello.', 'Yes.'] })
    await conversation.say('Hello')
    await conversation.sendEvent('paid', 5)
    await conversation.say('Did it arrive?')
    const { messages } = (await conversation.document()).flow.memory.Ask ?? { messages: [] }
    expect(messages.map(({ role, turn }) => `${turn} ${role}`)).toEqual([
      '1 user',
      '1 assistant',
      '2 assistant',
      '3 user',
      '3 assistant',
    ])
  })
})

describe('wrong calls', () => {
  test.each<[string, (conversation: Conversation) => unknown]>([
    [
      "sendEvent: there is no option 'idempotencyKey'. The options are by, byId, key, about, only, sessionId, flowName, owner, requestId, signal.",
      (conversation) => conversation.sendEvent('seen', undefined, { idempotencyKey: 'a' } as object),
    ],
    ['sendEvent() needs the name of the event; got 5.', (conversation) => conversation.sendEvent(5 as never)],
    ['advance: ms must be a number of at least 0; got -1.', (conversation) => conversation.advance(-1)],
    ['expectEvents needs a list of names; got "seen".', (conversation) => conversation.expectEvents('seen' as never)],
    [
      "Expected the events seen\n  but: decision, seen, remind, broken, expired, shipped. At step 'Approval'.",
      (conversation) => conversation.expectEvents(['seen']),
    ],
    [
      'expectTimers needs milliseconds by the names of events; got {"remind":"a day"}.',
      (conversation) => conversation.expectTimers({ remind: 'a day' as never }),
    ],
    [
      `Expected the timers remind in ${day} ms\n  but: remind in ${day} ms, expired in ${3 * day + hour} ms.`,
      (conversation) => conversation.expectTimers({ remind: day }),
    ],
  ])('are refused: %s', async (message, act) => {
    const conversation = await refund()
    await expect(async () => act(conversation)).rejects.toThrow(message)
    await conversation.close().catch(() => undefined)
  })

  test('there is no session yet', async () => {
    const conversation = new Conversation(Refund)
    await expect(conversation.sendEvent('seen')).rejects.toThrow(
      'sendEvent needs a session: await conversation.say(...) first.',
    )
    await conversation.close()
  })

  test('an advance that is not awaited', async () => {
    const conversation = await refund()
    void conversation.advance(day).catch(() => undefined)
    await expect(conversation.say('Hello')).rejects.toThrow(
      'say() was called while advance("86400000") is under way: await that first.',
    )
    await conversation.close().catch(() => undefined)
  })
})
