import { describe, expect, test } from 'vitest'
import { flowOf, place } from '../../../../testing/contract/test-flows.js'
import { Conversation } from '../../../../testing/index.js'
import {
  End,
  EndStep,
  type FlowConstructor,
  finish,
  go,
  LogicStep,
  reply,
  type StepConstructor,
  type Transition,
  type Turn,
} from '../../../index.js'

const Next = place('Next')

describe('the end of a session', () => {
  class Bye extends EndStep {
    static override readonly id = 'Bye'
    override message(turn: Turn) {
      return `Goodbye after ${turn.number}.`
    }
  }
  class LastWords extends EndStep {
    static override readonly id = 'LastWords'
    override message() {
      return { last: true }
    }
  }

  function ending(transition: Transition, ...steps: readonly StepConstructor[]): FlowConstructor {
    class Start extends LogicStep {
      static override readonly id = 'Start'
      override run() {
        return transition
      }
    }
    return flowOf(Start, ...steps)
  }

  test('[3-5 2.3-2] finish goes to the first end step, whose message is the reply; the document is kept', async () => {
    await using conversation = new Conversation(ending(finish(), Next, Bye, LastWords))
    const response = await conversation.say('Hi')
    expect(response).toMatchObject({ success: true, completed: true, message: 'Goodbye after 1.' })
    expect(await conversation.document()).toMatchObject({ runStatus: 'completed', flow: { currentStep: 'Bye' } })
  })

  test('the content of finish wins over the message', async () => {
    await using conversation = new Conversation(ending(finish('So long.'), Bye))
    await conversation.say('Hi')
    conversation.expectReply('So long.')
    await using another = new Conversation(ending(finish(''), Bye))
    await another.say('Hi')
    another.expectReply('')
  })

  test('the message may be a promise', async () => {
    class Later extends EndStep {
      static override readonly id = 'Later'
      override async message() {
        return 'Goodbye later.'
      }
    }
    await using conversation = new Conversation(ending(finish(), Later))
    await conversation.say('Hi')
    conversation.expectReply('Goodbye later.')
  })

  test('go reaches any end step, with a reply or its message; an object is JSON text', async () => {
    await using conversation = new Conversation(ending(go(LastWords), Bye, LastWords))
    await conversation.say('Hi')
    conversation.expectReply('{"last":true}')
    await using another = new Conversation(ending(go(LastWords).withReply('Done.'), Bye, LastWords))
    await another.say('Hi')
    expect(another.reply).toMatchObject({ completed: true, message: 'Done.' })
  })

  test('a flow may have the ready-made end step among its own', async () => {
    await using conversation = new Conversation(ending(finish(), End))
    await conversation.say('Hi')
    expect((await conversation.document()).flow.currentStep).toBe('End')
  })

  test('a session may start and end in the same turn', async () => {
    await using conversation = new Conversation(flowOf(Bye))
    await conversation.say('Hi')
    expect(conversation.reply).toMatchObject({
      completed: true,
      message: 'Goodbye after 1.',
    })
  })

  const entering = (returned: Transition | undefined): StepConstructor =>
    class extends Bye {
      override onEnter() {
        return returned
      }
    }

  test.each([
    ['nothing', undefined, 'Goodbye after 1.'],
    ['finish()', finish(), 'Goodbye after 1.'],
    ['finish(text)', finish('From onEnter.'), 'From onEnter.'],
    ['reply(text)', reply('From onEnter.'), 'From onEnter.'],
  ])('onEnter of an end step runs, and may return %s', async (_name, returned, text) => {
    await using conversation = new Conversation(ending(go('Bye'), entering(returned)))
    await conversation.say('Hi')
    expect(conversation.reply).toMatchObject({ completed: true, message: text })
    expect((await conversation.document()).flow.currentStep).toBe('Bye')
  })

  test('onEnter of an end step may not move on', async () => {
    await using conversation = new Conversation(ending(go('Bye'), entering(go(Next)), Next))
    await conversation.say('Hi')
    conversation.expectError('FLOW_ERROR', "onEnter of end step 'Bye' returned go(...); the flow has ended.")
  })

  test('a message that is neither text nor object fails the turn', async () => {
    class Broken extends EndStep {
      static override readonly id = 'Broken'
      override message() {
        return undefined as unknown as string
      }
    }
    await using conversation = new Conversation(ending(finish(), Broken))
    await conversation.say('Hi')
    conversation.expectError('FLOW_ERROR')
  })
})
