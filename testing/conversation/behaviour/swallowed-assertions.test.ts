// Assertions of a test in code that the engine calls: in listeners, doubles and services.
import assert from 'node:assert/strict'
import { describe, expect, test } from 'vitest'
import { Flow, LogicStep, reply, Step, type Turn, tool } from '../../../src/index.js'
import { Onboarding } from '../../contract/onboarding.js'
import { Conversation, ToolDoubles } from '../../index.js'

class Charge extends Step {
  static override readonly id: string = 'Charge'
  override tools() {
    return [tool({ name: 'charge', description: 'Charges.', execute: () => 'Charged.' })]
  }
}
class Pay extends LogicStep {
  static override readonly id: string = 'Pay'
  override run(turn: Turn) {
    const { pay } = turn.services as unknown as { pay: (message: string) => void }
    pay(turn.message)
    return reply('Paid.')
  }
}
/** Answers whatever fails. */
class Shop extends Flow {
  static override readonly id: string = 'Shop'
  override model() {
    return { provider: 'openai', name: 'gpt-5-mini' }
  }
  override steps(): (typeof Pay | typeof Charge)[] {
    return [Pay]
  }
  override onError() {
    return reply('Sorry, that did not work.')
  }
}
class Till extends Shop {
  static override readonly id = 'Till'
  override steps() {
    return [Charge]
  }
}

const script = [{ toolCalls: [{ name: 'charge' }] }]
const shopWith = (pay: (message: string) => void) => new Conversation(Shop, { services: { pay } as object })

describe('an assertion in a listener', () => {
  const withListener = (listener: () => unknown, options: object = {}) =>
    new Conversation(Onboarding, {
      script: ['What is your name?'],
      onEngine: (engine) => engine.on('turn:end', listener),
      ...options,
    })

  test.each<[string, () => unknown]>([
    ['throws', () => assert.equal(1, 2, 'not one')],
    ['rejects', async () => assert.equal(1, 2, 'not one')],
  ])('that %s fails close()', async (_title, listener) => {
    const conversation = withListener(listener)
    await conversation.say('Hello')
    conversation.expectReply('What is your name?')
    await expect(conversation.close()).rejects.toThrow(
      /^A listener of 'turn:end' failed: AssertionError: not one\n[\s\S]* {2}the conversation was made at /,
    )
  })

  test('goes to onListenerError, if the test has one', async () => {
    const errors: unknown[] = []
    const conversation = withListener(() => assert.fail('no'), {
      onListenerError: (error: unknown) => errors.push(error),
    })
    await conversation.say('Hello')
    await conversation.close()
    expect(errors).toMatchObject([{ message: 'no' }])
  })
})

describe("an assertion that the flow's onError answers fails the test", () => {
  test.each<[string, () => void]>([
    ['node:assert', () => assert.equal(1, 2, 'not one')],
    ['vitest', () => expect(1, 'not one').toBe(2)],
    ['the matchers of Jest', () => throwIt(Object.assign(new Error('not one'), { matcherResult: { pass: false } }))],
    ['a cause', () => throwIt(new Error('cannot pay', { cause: new assert.AssertionError({ message: 'not one' }) }))],
  ])('in a service, with %s', async (_title, pay) => {
    const conversation = shopWith(pay)
    await expect(conversation.say('Hello')).rejects.toThrow(
      /^An assertion failed, and the flow's onError answered for it: \w+: not one/,
    )
    await conversation.close()
  })

  test('in a double', async () => {
    const conversation = new Conversation(Till, { script, tools: { charge: () => assert.equal(1, 2, 'not one') } })
    await expect(conversation.say('Hello')).rejects.toThrow(
      "An assertion failed in the double of 'charge': AssertionError: not one",
    )
    await conversation.close()
  })

  test('in doubles alone', async () => {
    const doubles = new ToolDoubles({ charge: () => assert.fail('not one') })
    const [charge] = doubles.replace(new Charge().tools())
    const call = { name: 'charge' } as Parameters<NonNullable<typeof charge>['execute']>[2]
    await expect((async () => charge?.execute({}, {} as Turn, call))()).rejects.toThrow('not one')
    expect(() => doubles.assertDone()).toThrow("An assertion failed in the double of 'charge': AssertionError: not one")
  })
})

test('an error that is no assertion is the business of the flow', async () => {
  const conversation = shopWith(() => throwIt(new Error('no money')))
  await conversation.say('Hello')
  conversation.expectReply('Sorry, that did not work.')
  await conversation.close()
})

function throwIt(error: Error): never {
  throw error
}
