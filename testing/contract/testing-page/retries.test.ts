import { Flow, LogicStep, reply, type Turn } from 'turnkeeper'
import { Conversation, retryAs } from 'turnkeeper/testing'
import { expect, test } from 'vitest'

// A payment service, and the flow that refunds orders there.

const made: { order: string; key: string }[] = []
const refunds = {
  create: async (order: string, key: string) => made.push({ order, key }),
  find: async (key: string) => made.findIndex((refund) => refund.key === key) + 1,
}

class Refund extends LogicStep {
  static override readonly id = 'Refund'
  override async run(turn: Turn) {
    const [order] = turn.message.match(/A-\d+/) ?? []
    if (order === undefined) return reply('Which order?')
    const number = await turn.once(`refund:${order}`, async ({ idempotencyKey, uncertain }) => {
      const earlier = uncertain ? await refunds.find(idempotencyKey) : 0
      return earlier > 0 ? earlier : refunds.create(order, idempotencyKey)
    })
    return reply(`Refund ${number} is for ${order}.`)
  }
}

class Desk extends Flow {
  static override readonly id = 'Desk'
  override steps() {
    return [Refund]
  }
}

// The tests.

test('a reply is lost, and the client sends the message again', async () => {
  await using conversation = new Conversation(Desk)
  await conversation.say('Hello')
  await conversation.say('Refund A-1', { key: 'refund', fault: retryAs('same-key') })
  conversation.expectReply('Refund 1 is for A-1.').expectReplayed().expectRanOnce('refund:A-1')
})

test('a client that knows no keys asks again, and nothing is refunded twice', async () => {
  await using conversation = new Conversation(Desk)
  await conversation.say('Hello')
  await conversation.say('Refund A-2', { fault: retryAs('no-key') })
  conversation.expectReply('Refund 2 is for A-2.').expectRanOnce('refund:A-2')
})

test('the process dies between the refund and the commit', async () => {
  await using conversation = new Conversation(Desk)
  await conversation.say('Hello')
  conversation.dieAfterEffect('refund:A-3')
  await conversation.say('Refund A-3', { key: 'refund', fault: retryAs('same-key') })
  conversation.expectReply('Refund 3 is for A-3.').expectRanOnce('refund:A-3')
})

test('the process dies before it knows that the refund was made', async () => {
  await using conversation = new Conversation(Desk)
  await conversation.say('Hello')
  conversation.dieAfterEffect('refund:A-4', { before: 'result' })
  await conversation.say('Refund A-4', { key: 'refund', fault: retryAs('same-key') })
  conversation.expectReply('Refund 4 is for A-4.')
  // The work ran twice, and asked the service the second time.
  expect(made.filter(({ order }) => order === 'A-4')).toHaveLength(1)
})

test('the user presses send twice, and then goes on', async () => {
  await using conversation = new Conversation(Desk)
  await conversation.say('Hello')
  const refund = { text: 'Refund A-5', key: 'refund' }
  await conversation.atOnce([refund, refund, 'Thanks'])
  const outcome = 'Refund 5 is for A-5.'
  conversation.expectReplies([outcome, { reply: outcome, replayed: true }, 'Which order?'])
})
