import { Flow, reply, Step } from 'turnkeeper'
import { Conversation } from 'turnkeeper/testing'
import { expect, test } from 'vitest'
import { z } from 'zod'

const Wish = z.object({ guests: z.number().int().min(1).max(8) })

class AskWish extends Step {
  static override readonly id = 'AskWish'
  override onModelError() {
    return reply('Our assistant is busy. Please call us.')
  }
}

class ReadWish extends Step<{ guests?: number }, z.infer<typeof Wish>> {
  static override readonly id = 'ReadWish'
  override readonly output = Wish
  override onReply({ guests }: z.infer<typeof Wish>) {
    this.state.guests = guests
    return `A table for ${guests}.`
  }
}

class Chat extends Flow {
  static override readonly id = 'Chat'
  override model() {
    return { provider: 'openai', name: 'gpt-5-mini' }
  }
  override steps() {
    return [AskWish]
  }
}

class Order extends Flow {
  static override readonly id = 'Order'
  override model() {
    return { provider: 'openai', name: 'gpt-5-mini' }
  }
  override steps() {
    return [ReadWish]
  }
}

test('a user sees the answer grow, presses stop, and asks again', async () => {
  await using conversation = new Conversation(Chat, {
    script: ['We have tables for two, four and eight.', { chunks: ['For', ' two.'], chunkDelayMs: 200 }],
  })
  const stream = conversation.stream('Which tables do you have?')
  await stream.until('text-delta')
  expect(stream.text).toBe('We')
  await stream.stop()

  const types: string[] = []
  for await (const event of conversation.stream('And the smallest?')) types.push(event.type)
  expect(types).toEqual(['session', 'step', 'text-delta', 'text-delta', 'result'])
  conversation.expectReply('For two.').expectStep(AskWish)
})

test('a call that fails once is tried again, and a provider that is down does not end the conversation', async () => {
  await using conversation = new Conversation(Chat, {
    script: [
      ...[
        { failure: { statusCode: 429, retryAfterMs: 2000 } },
        { text: 'Good evening.', cutAfter: 1 },
        'Good evening!',
      ],
      ...[{ failure: 401 }, 'Here I am again.'],
    ],
  })
  const stream = conversation.stream('Hello')
  expect(await stream.until('reset')).toEqual({ type: 'reset', reason: 'retry' })
  expect(stream.text).toBe('')
  await stream.reply()
  conversation.expectReply('Good evening!')
  expect(conversation.model.requests.map(({ origin, outcome }) => [origin.attempt, outcome])).toEqual([
    [1, 'failed'],
    [2, 'cut'],
    [3, 'answered'],
  ])

  await conversation.say('A table, please')
  conversation.expectReply('Our assistant is busy. Please call us.').expectStep(AskWish)
  await conversation.say('Hello?')
  conversation.expectReply('Here I am again.')
})

test('a wrong structured answer is requested again, and the right one is kept', async () => {
  await using conversation = new Conversation(Order, {
    script: [{ output: { guests: 'four' } }, { output: { guests: 4 } }],
  })
  await conversation.say('For four, please')
  conversation.expectReply('A table for 4.').expectState(ReadWish, { guests: 4 })
  conversation.expectAsked({ call: 1, output: { required: ['guests'] } })
  conversation.expectAsked({ call: 2, user: /does not have the required form: guests/ })
})
