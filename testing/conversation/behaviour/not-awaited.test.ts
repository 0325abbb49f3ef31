/**
 * A conversation fails if flow code forgets to await `turn.once`: such work runs again in each turn, and
 * each reply is a success.
 */
import { describe, expect, test } from 'vitest'
import { Flow, LogicStep, reply, type Turn } from '../../../src/index.js'
import { Conversation } from '../conversation.js'
import { runStep } from '../run-step.js'

class Pay extends LogicStep {
  static override readonly id = 'Pay'
  override async run(turn: Turn) {
    const charge = () => turn.once('charge', async () => 'R-1')
    if (turn.message === 'forget') void charge()
    if (turn.message === 'decline') {
      void turn.once('charge', async () => {
        throw new Error('The card was declined.')
      })
    }
    if (turn.message === 'race') {
      const hanging = turn.once('slow', () => new Promise<string>(() => undefined))
      return reply(await Promise.race([hanging, 'It takes a while.']))
    }
    if (turn.message === 'fail') {
      void charge()
      throw new Error('The shop is closed.')
    }
    if (turn.message === 'pay') await charge()
    return reply('You are charged.')
  }
}
class Shop extends Flow {
  static override readonly id = 'Shop'
  static override readonly onTurnError = 'rollback'
  override steps() {
    return [Pay]
  }
}

const silent = { debug() {}, info() {}, warn() {}, error() {} }

async function problemOf(promise: PromiseLike<unknown>): Promise<string> {
  const message = await promise.then(
    () => 'It did not fail.',
    (error: Error) => error.message,
  )
  return message.replaceAll(/\(\S*(not-awaited\.test\.ts):\d+:\d+\)/g, '($1)')
}

describe('a call of turn.once without await', () => {
  test('fails the conversation at the end of its turn, with the place of the call', async () => {
    const conversation = new Conversation(Shop, { logger: silent })
    await conversation.say('pay')
    expect(await problemOf(conversation.say('forget'))).toMatchInlineSnapshot(`
      "turn.once('charge') was not awaited: the turn can end before its work does, and without the result a later call runs the work again. Write: await turn.once(...).
        called at charge (not-awaited.test.ts)
      Where: flow 'Shop', step 'Pay', turn 2

      The conversation so far:

      # Shop

      ## Turn 1

      User: pay

      - enters Pay

      Reply: You are charged.

      Now at Pay.

      ## Turn 2

      User: forget

      Reply: You are charged.

      Now at Pay.
      "
    `)
    await conversation.say('hello')
    await conversation.close()
  })

  test('fails the conversation if its work fails', async () => {
    const conversation = new Conversation(Shop, { logger: silent })
    expect(await problemOf(conversation.say('decline'))).toContain("turn.once('charge') was not awaited")
  })

  test.each([
    ['that is streamed', (conversation: Conversation) => conversation.stream('forget').reply()],
    ['that is sent with others', (conversation: Conversation) => conversation.atOnce(['forget', 'pay'])],
  ])('fails a turn %s', async (_how, send) => {
    const conversation = new Conversation(Shop, { logger: silent })
    expect(await problemOf(send(conversation))).toContain("turn.once('charge') was not awaited")
  })

  test('fails the test of one step', async () => {
    expect(await problemOf(runStep(Pay, { message: 'forget', logger: silent }))).toContain(
      "turn.once('charge') was not awaited",
    )
  })

  test('does not fail a turn that waits for less than the whole work, or that fails', async () => {
    const conversation = new Conversation(Shop, { logger: silent })
    await conversation.say('race')
    conversation.expectReply('It takes a while.')
    await conversation.say('fail')
    conversation.expectError('FLOW_ERROR')
    await conversation.close()
  })
})
