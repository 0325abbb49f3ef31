/** Messages that are sent again, and processes that die after an effect. */
import { describe, expect, test } from 'vitest'
import { Flow, go, LogicStep, MemorySessionStore, reply, Step, type Turn, tool } from '../../../src/index.js'
import { FakeSessionStore } from '../../fake-session-store/fake-session-store.js'
import { retryAs } from '../client.js'
import { Conversation } from '../conversation.js'
import type { ConversationOptions } from '../conversation-options.js'

class Pay extends LogicStep {
  static override readonly id = 'Pay'
  override async run(turn: Turn) {
    if (turn.message !== 'pay') return reply(`Said: ${turn.message}`)
    const { paid } = await turn.once(`payment:${turn.number}`, ({ uncertain }) => ({ paid: uncertain ? 'perhaps' : 1 }))
    return reply(`Paid ${paid}.`)
  }
}
class Shop extends Flow {
  static override readonly id = 'Shop'
  override steps() {
    return [Pay]
  }
}

class Refund extends Step {
  static override readonly id = 'Refund'
  override tools() {
    return [tool({ name: 'refund', description: 'Refunds.', execute: () => 'Refunded.' })]
  }
}
class Desk extends Flow {
  static override readonly id = 'Desk'
  override model() {
    return { provider: 'openai', name: 'gpt-5-mini' }
  }
  override steps() {
    return [Refund]
  }
}
const refund = { toolCalls: [{ name: 'refund' }] }

async function shop(options: ConversationOptions = {}): Promise<Conversation> {
  const conversation = new Conversation(Shop, options)
  await conversation.say('Hello')
  return conversation
}

describe('a key', () => {
  test('makes a repeat get the reply of the first turn', async () => {
    await using conversation = await shop()
    const first = await conversation.say('pay', { key: 'k' })
    expect(await conversation.say('pay', { key: 'k' })).toEqual({ ...first, replayed: true })
    conversation.expectReplayed().expectReply('Paid 1.').expectToolCalls([]).expectRanOnce('payment:2')
    await conversation.say('Thanks')
    expect(conversation.transcript()).toMatchInlineSnapshot(`
      "# Shop

      ## Turn 1

      User: Hello

      - enters Pay

      Reply: Said: Hello

      Now at Pay.

      ## Turn 2

      User: pay

      Reply: Paid 1.

      Now at Pay.

      ## Turn 2 again

      User: pay

      Reply: Paid 1.

      Now at Pay.

      ## Turn 3

      User: Thanks

      Reply: Said: Thanks

      Now at Pay.
      "
    `)
  })

  test('is used as it is if it has the shape of a key', async () => {
    await using conversation = await shop()
    await conversation.say('pay', { key: 'a-key-of-sixteen-characters' })
    const input = { flowName: 'Shop', userMessage: 'pay', sessionId: conversation.sessionId }
    const { replayed } = await conversation.engine.execute({ ...input, idempotencyKey: 'a-key-of-sixteen-characters' })
    expect(replayed).toBe(true)
  })

  test('must not be one of another message', async () => {
    await using conversation = await shop()
    await conversation.say('pay', { key: 'ключ, 1' })
    await conversation.say('Hello', { key: 'ключ, 1' })
    conversation.expectError('IDEMPOTENCY_MISMATCH')
    expect(() => conversation.expectReplayed()).toThrow(
      'Expected "Hello" to get the reply of an earlier turn, but it was run.',
    )
    await conversation.say('Hello')
    expect(() => conversation.expectReplayed()).toThrow('It had no key: say(text, { key }).')
  })

  test('shows in the journal of the store: a first message claims its session', async () => {
    const createStore = () => new FakeSessionStore({ inner: new MemorySessionStore(), leases: true })
    await using conversation = new Conversation(Shop, { createStore })
    await conversation.say('Hello', { key: 'k' })
    conversation.store.expectJournal(['claim', 'lease', 'create'])
    conversation.store.clearJournal()
    await conversation.say('Hello again', { key: 'l' })
    conversation.store.expectJournal(['lease', 'load', 'save'])
  })

  test('belongs to a streamed message too, whose repeat is read again', async () => {
    await using conversation = await shop()
    await conversation.stream('pay', { key: 'k' }).reply()
    await conversation.stream('pay', { key: 'k' }).reply()
    conversation.expectReplayed().expectReply('Paid 1.')
    expect(conversation.transcript()).toContain('## Turn 2 again\n')
  })
})

describe('a reply that is lost', () => {
  test.each([
    ['same-key', 1, '## Turn 2 again (sent again with the same key)'],
    ['resume', 1, '## Turn 2 again (read on with the same key)'],
    ['new-key', 2, '## Turn 3 (sent again with a new key)'],
    ['no-key', 2, '## Turn 3 (sent again without a key)'],
  ] as const)('and a client that retries as %s', async (client, times, heading) => {
    await using conversation = await shop()
    const { message } = await conversation.say('pay', { key: 'k', fault: retryAs(client) })
    expect(message).toBe('Paid 1.')
    expect((await conversation.document()).turns).toBe(times + 1)
    if (times === 1) conversation.expectReplayed().expectRanOnce('payment:2')
    expect(conversation.transcript()).toContain('## Turn 2 (the reply was lost)\n')
    expect(conversation.transcript()).toContain(`${heading}\n`)
  })

  test('of a first message is found by its key alone', async () => {
    await using conversation = new Conversation(Shop)
    await conversation.say('pay', { key: 'k', fault: retryAs('same-key') })
    conversation.expectReplayed().expectRanOnce('payment:1')
    expect(conversation.transcript()).not.toContain('in a new session')
    await using other = new Conversation(Shop)
    await other.say('pay', { fault: retryAs('no-key') })
    expect(other.transcript()).toContain('## Turn 1 (sent again without a key, in a new session)')
    expect(() => other.expectRanOnce('payment:1')).toThrow(
      `Expected 'payment:1' to run exactly once in the whole conversation, but it ran 2 times:\n  - in turn 1, "pay"\n  - in turn 1, "pay"\n`,
    )
  })

  test('and the same key, which the message does not have', async () => {
    await using conversation = await shop()
    await expect(conversation.say('pay', { fault: retryAs('same-key') })).rejects.toThrow(
      "retryAs('same-key') needs a key: say(text, { key, fault }).",
    )
    await conversation.say('Hello')
  })
})

describe('a connection that is cut', () => {
  const script = [{ chunks: ['One ', 'two ', 'three.'] }, 'Four.', 'Five.'] as const

  test.each(['same-key', 'resume'] as const)('leaves a turn with a key running: %s', async (client) => {
    await using conversation = new Conversation(Desk, { script: script.slice(0, 1) })
    const { replayed, message } = await conversation.say('Hello', { key: 'k', fault: retryAs(client, { cutAfter: 3 }) })
    expect([replayed, message]).toEqual([true, 'One two three.'])
    expect(conversation.transcript()).toContain('## Turn 1 (the connection was cut after 3 events)\n')
    expect(conversation.transcript()).toContain('## Turn 1 again (')
    expect((await conversation.document()).turns).toBe(1)
  })

  test('leaves it running also for a client that asks anew', async () => {
    await using conversation = new Conversation(Desk, { script: script.slice(0, 2) })
    await conversation.say('Hello', { key: 'k', fault: retryAs('new-key', { cutAfter: 3 }) })
    conversation.expectReply('Four.')
    expect(conversation.transcript()).toMatchInlineSnapshot(`
      "# Desk

      ## Turn 1 (the connection was cut after 3 events)

      User: Hello

      - enters Refund

      Reply: One two three.

      Now at Refund.

      ## Turn 2 (sent again with a new key)

      User: Hello

      Reply: Four.

      Now at Refund.
      "
    `)
    expect((await conversation.document()).turns).toBe(2)
  })

  test('cancels a turn without a key', async () => {
    await using conversation = new Conversation(Desk, { script: script.slice(0, 2) })
    await conversation.say('Hello', { fault: retryAs('no-key', { cutAfter: 3 }) })
    conversation.expectReply('Four.')
    expect(conversation.transcript()).toMatchInlineSnapshot(`
      "# Desk

      ## No turn (the connection was cut after 3 events)

      User: Hello

      - enters Refund

      Stopped after: One 

      ## Turn 1 (sent again without a key)

      User: Hello

      - enters Refund

      Reply: Four.

      Now at Refund.
      "
    `)
  })

  test('must be cut while there is a turn', async () => {
    await using conversation = new Conversation(Desk, { script: ['One.', 'Two.'] })
    await expect(conversation.say('Hello', { key: 'k', fault: retryAs('resume', { cutAfter: 9 }) })).rejects.toThrow(
      'The connection was to be cut after 9 events, but the turn had ended by then. Its events: session,',
    )
    expect(() => retryAs('resume', { cutAfter: 0 })).toThrow(
      'cutAfter of retryAs() must be a whole number above 0; got 0.',
    )
    await conversation.say('Hello')
  })
})

describe('a process that dies after an effect', () => {
  test('has its result, but not its turn', async () => {
    await using conversation = await shop()
    conversation.dieAfterEffect('payment:2')
    await conversation.say('pay', { key: 'k', fault: retryAs('same-key') })
    conversation.expectReply('Paid 1.').expectRanOnce('payment:2')
    expect(conversation.reply.replayed).toBeUndefined()
    expect(conversation.transcript()).toMatchInlineSnapshot(`
      "# Shop

      ## Turn 1

      User: Hello

      - enters Pay

      Reply: Said: Hello

      Now at Pay.

      ## No turn

      User: pay

      The process died after payment:2: there was no reply.

      ## Turn 2 (after a restart, sent again with the same key)

      User: pay

      Reply: Paid 1.

      Now at Pay.
      "
    `)
    expect((await conversation.document()).turns).toBe(2)
  })

  test('has not even its result, and the repeat gets uncertain work', async () => {
    await using conversation = await shop()
    conversation.dieAfterEffect('payment:2', { before: 'result' })
    await conversation.say('pay', { key: 'k', fault: retryAs('same-key') })
    conversation.expectReply('Paid perhaps.')
    expect(() => conversation.expectRanOnce('payment:2')).toThrow(
      'it ran 2 times:\n  - in turn 2, "pay"\n  - in turn 2, "pay", knowing that the outcome of an earlier run is unknown\n',
    )
  })

  test('gives no reply to a client that does not ask again', async () => {
    await using conversation = await shop()
    const { engine, store } = conversation
    conversation.dieAfterEffect('payment:2')
    expect(await conversation.say('pay')).toMatchObject({ success: false, error: { code: 'TURN_ABORTED' } })
    expect([conversation.engine === engine, conversation.store === store]).toEqual([false, false])
    expect(Object.keys((await conversation.document()).effects ?? {})).toEqual(['payment:2'])
    const start = conversation.clock.now()
    await conversation.say('pay')
    conversation.expectReply('Paid 1.').expectRanOnce('payment:2')
    expect([conversation.clock.now() - start, conversation.clock.pending]).toEqual([0, 0])
  })

  test('in its first turn', async () => {
    await using conversation = new Conversation(Shop)
    conversation.dieAfterEffect('payment:1')
    await conversation.say('pay', { key: 'k', fault: retryAs('same-key') })
    conversation.expectReply('Paid 1.').expectRanOnce('payment:1')
  })

  test('under a stream, and under a connection that is cut', async () => {
    await using conversation = await shop()
    conversation.dieAfterEffect('payment:2')
    const stream = conversation.stream('pay')
    while ((await stream.next()) !== undefined) {}
    expect(conversation.transcript()).toContain('The process died after payment:2: there was no reply.')
    conversation.dieAfterEffect('payment:3')
    await conversation.say('pay')
    conversation.expectReply('Paid 1.')
    await conversation.say('pay', { key: 'k', fault: retryAs('resume', { cutAfter: 9 }) })
    conversation.expectReply('Paid 1.').expectRanOnce('payment:3')
  })

  test('that is a tool', async () => {
    await using conversation = new Conversation(Desk, { script: [refund, refund, 'Done.'] })
    conversation.dieAfterEffect('refund')
    await conversation.say('Refund me', { key: 'k', fault: retryAs('same-key') })
    conversation.expectReply('Done.').expectToolCalls(['refund'])
    expect(() => conversation.expectRanOnce('refund')).toThrow(
      'it ran 2 times:\n  - in turn 1, "Refund me", as a tool\n  - in turn 1, "Refund me", as a tool\n',
    )
  })

  test('stores nothing after its death, as a turn does that is cancelled', async () => {
    class Careless extends Pay {
      static override readonly id = 'Pay'
      override async run(turn: Turn) {
        return reply(`Paid ${await turn.once('payment', () => 1, { durable: false })}.`)
      }
    }
    class Stall extends Flow {
      static override readonly id = 'Stall'
      override steps() {
        return [Careless]
      }
    }
    await using conversation = new Conversation(Stall)
    await conversation.open()
    conversation.dieAfterEffect('payment')
    await conversation.say('pay', { key: 'k', fault: retryAs('same-key') })
    conversation.expectReply('Paid 1.')
    expect(() => conversation.expectRanOnce('payment')).toThrow('it ran 2 times:')
  })

  test('does not die of an effect that was kept from an earlier turn', async () => {
    class Once extends LogicStep {
      static override readonly id = 'Once'
      override async run(turn: Turn) {
        return reply(String(await turn.once('number', () => turn.number)))
      }
    }
    class Numbers extends Flow {
      static override readonly id = 'Numbers'
      override steps() {
        return [Once]
      }
    }
    const conversation = new Conversation(Numbers)
    await conversation.say('Hello')
    conversation.dieAfterEffect('number')
    await conversation.say('Hello')
    conversation.expectReply('1').expectRanOnce('number')
    await expect(conversation.close()).rejects.toThrow("The process was to die after 'number', which did not run")
  })

  test('must come that far', async () => {
    const conversation = await shop()
    conversation.dieAfterEffect('payment:7')
    await expect(conversation.close()).rejects.toThrow(
      "The process was to die after 'payment:7', which did not run: let the conversation come that far, or take dieAfterEffect() out of the test. What ran: none.",
    )
  })
})

describe('an effect that ran once', () => {
  test('is counted over a restart, and in a fork', async () => {
    await using conversation = await shop()
    await conversation.say('pay')
    await conversation.restart()
    conversation.expectRanOnce('payment:2')
    await using fork = await conversation.fork()
    fork.expectRanOnce('payment:2')
    await fork.say('pay')
    fork.expectRanOnce('payment:3')
    expect(() => conversation.expectRanOnce('payment:3')).toThrow(
      "Expected 'payment:3' to run exactly once in the whole conversation, but it did not run. What ran: payment:2.",
    )
  })

  test('is a tool, or a double of it, that did not throw', async () => {
    await using conversation = new Conversation(Desk, {
      script: [refund, refund, 'Done.'],
      tools: { refund: [new Error('down'), 'Refunded.'] },
      onTurnError: 'rollback',
    })
    await conversation.say('Refund me')
    conversation.expectError('TOOL_ERROR')
    expect(() => conversation.expectRanOnce('refund')).toThrow(
      'but it did not run:\n  - in turn 1, "Refund me", as a tool, failed, and does not count\n',
    )
    await conversation.say('Refund me')
    conversation.expectRanOnce('refund')
  })

  test('is found in hooks of the flow, and where it answers for a failure', async () => {
    class Careful extends Shop {
      override async onMessage(turn: Turn) {
        if (turn.message === 'hook') await turn.once('in onMessage', () => 1)
        if (turn.message === 'fail') throw new Error('failed')
      }
      override async onError(_error: unknown, turn: Turn) {
        await turn.once('in onError', () => 1)
        return go(Pay)
      }
    }
    await using conversation = new Conversation(Careful)
    await conversation.say('hook')
    await conversation.say('fail')
    conversation.expectRanOnce('in onMessage').expectRanOnce('in onError')
  })
})

describe('a misspelt option of a message', () => {
  const names =
    'key, sessionId, attachments, config, owner, serverContext, requestId, signal, hideFlow, waitUntil, whenEnded, event, choice'

  test.each<[string, (conversation: Conversation) => unknown]>([
    [
      `say: there is no option 'keys'. The options are fault, ${names}. Did you mean 'key'?`,
      (conversation) => conversation.say('pay', { keys: 'a' } as object),
    ],
    [
      `stream: there is no option 'fault'. The options are ${names}.`,
      (conversation) => conversation.stream('pay', { fault: retryAs('no-key') } as object),
    ],
    [
      `atOnce: there is no option 'fault'. The options are text, ${names}.`,
      (conversation) => conversation.atOnce(['pay', { text: 'pay', fault: retryAs('no-key') } as { text: string }]),
    ],
    ['say: the options must be an object.', (conversation) => conversation.say('pay', 'a' as never)],
  ])('is refused before anything is sent: %s', async (message, send) => {
    await using conversation = await shop()
    await expect(async () => send(conversation)).rejects.toMatchObject({ code: 'INVALID_INPUT', message })
    await conversation.say('pay')
    conversation.expectReply('Paid 1.')
    expect(conversation.transcript().match(/^## .*/gm)).toEqual(['## Turn 1', '## Turn 2'])
  })
})
