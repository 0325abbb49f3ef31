/** Messages that are sent at the same time. */
import { describe, expect, test } from 'vitest'
import { Flow, LogicStep, reply, Step, type Turn } from '../../../src/index.js'
import { Onboarding } from '../../contract/onboarding.js'
import { flowOf } from '../../contract/test-flows.js'
import { Conversation } from '../conversation.js'
import type { ConversationOptions } from '../conversation-options.js'

class Answer extends Step {
  static override readonly id = 'Answer'
  override prompt() {
    return 'Answer.'
  }
}
class Talk extends Flow {
  static override readonly id = 'Talk'
  override model() {
    return { provider: 'openai', name: 'gpt-5-mini' }
  }
  override steps() {
    return [Answer]
  }
}
const slow = (text: string) => ({ delayMs: 1000, text })

async function talk(options: ConversationOptions, flow: typeof Talk = Talk): Promise<Conversation> {
  const script = ['Hello.', ...(options.script as readonly string[])]
  const conversation = new Conversation(flow, { ...options, script })
  await conversation.say('Hello')
  return conversation
}

describe('messages that are sent at once', () => {
  test('wait for each other', async () => {
    await using conversation = await talk({ script: [slow('One.'), slow('Two.')] as never })
    const start = conversation.clock.now()
    const replies = await conversation.atOnce(['a', 'b'])
    expect(replies.map(({ message }) => message)).toEqual(['One.', 'Two.'])
    conversation.expectReplies(['One.', /^Two/]).expectReply('Two.').expectAsked({ user: 'b' })
    expect(conversation.clock.now() - start).toBe(2000)
    expect(conversation.transcript()).toMatchInlineSnapshot(`
      "# Talk

      ## Turn 1

      User: Hello

      - enters Answer

      Reply: Hello.

      Now at Answer.

      ## Turn 2

      User: a

      Reply: One.

      ## Turn 3

      User: b

      Reply: Two.

      Now at Answer.
      "
    `)
  })

  test.each([0, 2000])('keep their order, with keys and without, over a store that takes %d ms', async (latencyMs) => {
    class Echo extends LogicStep {
      static override readonly id = 'Echo'
      override run({ number, message }: Turn) {
        return reply(`${number} ${message}`)
      }
    }
    await using conversation = new Conversation(flowOf(Echo))
    await conversation.say('a')
    conversation.store.inject({ operation: 'load', effect: 'latency', latencyMs, times: 4 })
    await conversation.atOnce([{ text: 'b', key: 'b' }, 'c', { text: 'd', key: 'd' }, 'e'])
    conversation.expectReplies(['2 b', '3 c', '4 d', '5 e'])
    conversation.store.heal()
  })

  test('are refused while a turn runs, if the flow says so', async () => {
    await using conversation = await talk({ script: [slow('One.')] as never, busy: 'reject' })
    await conversation.atOnce(['a', 'b'])
    conversation.expectReplies(['One.', { code: 'SESSION_BUSY' }]).expectReply('One.')
    expect(conversation.transcript()).toMatchInlineSnapshot(`
      "# Talk

      ## Turn 1

      User: Hello

      - enters Answer

      Reply: Hello.

      Now at Answer.

      ## Turn 2

      User: a

      Reply: One.

      Now at Answer.

      ## No turn

      User: b

      Failed with SESSION_BUSY: The session is busy with another message. Send this one again when that is answered.
      "
    `)
  })

  test('interrupt each other', async () => {
    await using conversation = await talk({ script: [slow('Two.')] as never, busy: 'interrupt' })
    await conversation.atOnce(['a', 'b'])
    conversation.expectReplies([{ code: 'TURN_SUPERSEDED' }, 'Two.']).expectReply('Two.')
    await conversation.document().then(({ turns }) => expect(turns).toBe(2))
  })

  test('leave only the newest of those that interrupt', async () => {
    await using conversation = await talk({ script: ['Three.'] as never, busy: 'interrupt' })
    await conversation.atOnce(['a', 'b', 'c'])
    const superseded = { code: 'TURN_SUPERSEDED', reply: /newer/ } as const
    conversation.expectReplies([superseded, superseded, { reply: 'Three.' }]).expectReply('Three.')
    expect(conversation.transcript().match(/^## .*/gm)).toEqual(['## Turn 1', '## No turn', '## No turn', '## Turn 2'])
  })

  test('are one turn if their keys are equal', async () => {
    await using conversation = await talk({ script: [slow('One.'), 'Two.'] as never, busy: 'queue' })
    await conversation.atOnce([{ text: 'a', key: 'k' }, 'b', { text: 'a', key: 'k' }])
    conversation.expectReplies([{ reply: 'One.', replayed: false }, 'Two.', { reply: 'One.', replayed: true }])
    expect((await conversation.document()).turns).toBe(3)
    expect(conversation.transcript()).toMatchInlineSnapshot(`
      "# Talk

      ## Turn 1

      User: Hello

      - enters Answer

      Reply: Hello.

      Now at Answer.

      ## Turn 2

      User: a

      Reply: One.

      ## Turn 3

      User: b

      Reply: Two.

      Now at Answer.

      ## Turn 2 again

      User: a

      Reply: One.

      Now at Answer.
      "
    `)
  })

  test('begin a session each, unless their keys are equal', async () => {
    await using conversation = new Conversation(Talk, { script: ['One.', 'Two.', 'Three.'] })
    const replies = await conversation.atOnce(['a', { text: 'b', key: 'k' }, { text: 'b', key: 'k' }])
    expect(new Set(replies.map(({ session }) => session)).size).toBe(2)
    expect(conversation.sessionId).toBe(replies[2]?.session)
    expect(replies.map(({ replayed }) => replayed)).toEqual([undefined, undefined, true])
    await conversation.say('c')
  })

  test('have the steps and tool calls of their own turn', async () => {
    const capture = (name: string) => ({ toolCalls: [{ name: 'capture_name', input: { name } }] })
    await using conversation = new Conversation(Onboarding, {
      script: ['What is your name?', capture('Ada'), 'And the last name?', capture('Ada Lovelace')],
    })
    await conversation.say('Hello')
    await conversation.atOnce(['Ada', 'Ada Lovelace'])
    conversation
      .expectReplies([/last name/, /^Thank you/])
      .expectToolCalls(['capture_name'])
      .expectCompleted()
    expect(conversation.transcript()).toMatchInlineSnapshot(`
      "# Onboarding

      ## Turn 1

      User: Hello

      - enters AskName

      Reply: What is your name?

      Now at AskName.

      ## Turn 2

      User: Ada

      - calls capture_name {"name":"Ada"}: "First and last name, please."

      Reply: And the last name?

      ## Turn 3

      User: Ada Lovelace

      - calls capture_name {"name":"Ada Lovelace"}: "Done."
      - enters Confirm
      - enters End

      Reply: Thank you, Ada Lovelace.

      Completed at End.
      "
    `)
  })

  test('are numbered as the session numbers them, also after a turn that was rolled back', async () => {
    class Count extends LogicStep {
      static override readonly id = 'Count'
      override run({ message, number }: Turn) {
        if (message === 'bad') throw new Error('bad')
        return reply(`This is turn ${number}.`)
      }
    }
    class Counting extends Flow {
      static override readonly id = 'Counting'
      override steps() {
        return [Count]
      }
    }
    await using conversation = new Conversation(Counting, { onTurnError: 'rollback' })
    await conversation.say('Hello')
    await conversation.say('bad')
    conversation.expectError('FLOW_ERROR')
    await conversation.atOnce(['a', 'bad', 'b'])
    conversation.expectReplies([/2/, { code: 'FLOW_ERROR' }, /3/])
    const fork = await conversation.fork()
    await fork.say('c')
    expect(fork.transcript().match(/^(?:## |Reply|Failed).*/gm)).toEqual([
      '## Turn 1',
      'Reply: This is turn 1.',
      '## Turn 2',
      'Failed with FLOW_ERROR: bad',
      '## Turn 2',
      'Reply: This is turn 2.',
      '## No turn',
      'Failed with FLOW_ERROR: bad',
      '## Turn 3',
      'Reply: This is turn 3.',
      '## Turn 4 (in a new session)',
      'Reply: This is turn 4.',
    ])
    await fork.close()
  })

  test('wait for delays of models, doubles and the store by themselves', async () => {
    await using conversation = await talk({ script: [slow('One.'), slow('Two.'), slow('Three.')] as never })
    conversation.store.delayNext('load', 500)
    conversation.store.delayNext('save', 500, { nth: 2 })
    const start = conversation.clock.now()
    await conversation.atOnce([{ text: 'a', key: 'a' }, { text: 'b', key: 'b' }, 'c'])
    conversation.expectReplies(['One.', 'Two.', 'Three.'])
    expect(conversation.clock.now() - start).toBe(4000)
  })

  test('share the fate of a process that dies', async () => {
    class Pay extends LogicStep {
      static override readonly id = 'Pay'
      override async run(turn: Turn) {
        return reply(await turn.once(turn.message, () => `Paid ${turn.message}.`))
      }
    }
    class Shop extends Flow {
      static override readonly id = 'Shop'
      override steps() {
        return [Pay]
      }
    }
    await using conversation = new Conversation(Shop)
    await conversation.say('1')
    conversation.dieAfterEffect('3')
    const replies = await conversation.atOnce(['2', '3', '4'])
    expect(replies.map(({ success }) => success)).toEqual([true, false, false])
    await conversation.say('3')
    conversation.expectReply('Paid 3.').expectRanOnce('2').expectRanOnce('3')
    expect(conversation.transcript()).toMatchInlineSnapshot(`
      "# Shop

      ## Turn 1

      User: 1

      - enters Pay

      Reply: Paid 1.

      Now at Pay.

      ## Turn 2

      User: 2

      Reply: Paid 2.

      Now at Pay.

      ## No turn

      User: 3

      The process died after 3: there was no reply.

      ## No turn

      User: 4

      The process died after 3: there was no reply.

      ## Turn 3 (after a restart)

      User: 3

      Reply: Paid 3.

      Now at Pay.
      "
    `)
  })
})

describe('outcomes that are not the expected ones', () => {
  test('fail, with the message', async () => {
    await using conversation = await talk({ script: ['One.', 'Two.'], busy: 'queue' })
    await conversation.atOnce(['a', 'b'])
    const fails = (outcomes: Parameters<Conversation['expectReplies']>[0]) =>
      expect(() => conversation.expectReplies(outcomes))
    fails(['One.']).toThrow('Expected 1 outcome, but 2 messages were sent.')
    fails(['One.', 'One.']).toThrow('Message 2, "b": Expected the reply "One."\n  but it was "Two."')
    fails([{ code: 'SESSION_BUSY' }, 'Two.']).toThrow('Message 1, "a": Expected the turn "a" to fail with SESSION_BUSY')
    fails([{ replayed: true }, 'Two.']).toThrow(
      'Message 1, "a": Expected the reply of an earlier turn, but it was run.',
    )
    conversation.expectReplies([{ replayed: false }, { reply: 'Two.' }])
  })

  test('fail with the code of a failure, and a turn that must be its own', async () => {
    await using conversation = await talk({ script: ['One.', 'Two.'], busy: 'reject' })
    await conversation.atOnce([
      { text: 'a', key: 'k' },
      { text: 'a', key: 'k' },
    ])
    expect(() => conversation.expectReplies(['One.', { replayed: false }])).toThrow(
      'Message 2, "a": Expected its own turn, but it got the reply of another message.',
    )
    await conversation.atOnce(['b', 'c'])
    expect(() => conversation.expectReplies(['Two.', { replayed: false }])).toThrow(
      'Message 2, "c": The turn "c" failed with SESSION_BUSY',
    )
    expect(() => conversation.expectReplies(['Two.', {}])).toThrow(
      'expectReplies would check nothing of a message whose outcome is {}: write its reply, { code } or { replayed }',
    )
    conversation.expectReplies(['Two.', { code: 'SESSION_BUSY' }])
  })

  test('fail the next message if nobody expected them', async () => {
    const conversation = await talk({ script: ['One.'], busy: 'reject' })
    await conversation.atOnce(['a', 'b'])
    await expect(conversation.say('c')).rejects.toThrow(
      /^The turn "b" failed with SESSION_BUSY: The session is busy .*\n {2}said at .*\nIf it should fail, say so after it: conversation\.expectReplies\(\[\.\.\., \{ code: 'SESSION_BUSY' \}\]\)\./,
    )
    await conversation.close()
  })

  test('need messages that were sent at once', async () => {
    await using conversation = await talk({ script: ['One.'] })
    expect(() => conversation.expectReplies([])).toThrow(
      'expectReplies needs messages that were sent at once: await conversation.atOnce([...]) first.',
    )
    await expect(conversation.atOnce([])).rejects.toThrow('atOnce() needs one message or more.')
    const sending = conversation.atOnce(['a'])
    expect(() => conversation.expectReplies(['One.'])).toThrow(
      'expectReplies() was called while atOnce("a") is under way: await that first. For messages at the same time use conversation.atOnce([...]).',
    )
    await sending
  })
})
