import { describe, expect, test } from 'vitest'
import { chatWith, flowOf, place } from '../../testing/contract/chat.js'
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
} from '../index.js'

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
    const chat = chatWith(ending(finish(), Next, Bye, LastWords))
    const { response } = await chat.execute('Hi')
    expect(response).toMatchObject({ success: true, completed: true, message: 'Goodbye after 1.' })
    expect(await chat.document()).toMatchObject({ runStatus: 'completed', flow: { currentStep: 'Bye' } })
  })

  test('the content of finish wins over the message', async () => {
    expect(await chatWith(ending(finish('So long.'), Bye)).say('Hi')).toBe('So long.')
    expect(await chatWith(ending(finish(''), Bye)).say('Hi')).toBe('')
  })

  test('the message may be a promise', async () => {
    class Later extends EndStep {
      static override readonly id = 'Later'
      override async message() {
        return 'Goodbye later.'
      }
    }
    expect(await chatWith(ending(finish(), Later)).say('Hi')).toBe('Goodbye later.')
  })

  test('go reaches any end step, with a reply or its message; an object is JSON text', async () => {
    expect(await chatWith(ending(go(LastWords), Bye, LastWords)).say('Hi')).toBe('{"last":true}')
    const chat = chatWith(ending(go(LastWords).withReply('Done.'), Bye, LastWords))
    expect((await chat.execute('Hi')).response).toMatchObject({ completed: true, message: 'Done.' })
  })

  test('a flow may have the ready-made end step among its own', async () => {
    const chat = chatWith(ending(finish(), End))
    await chat.say('Hi')
    expect((await chat.document()).flow.currentStep).toBe('End')
  })

  test('a session may start and end in the same turn', async () => {
    expect((await chatWith(flowOf(Bye)).execute('Hi')).response).toMatchObject({
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
    const chat = chatWith(ending(go('Bye'), entering(returned)))
    expect((await chat.execute('Hi')).response).toMatchObject({ completed: true, message: text })
    expect((await chat.document()).flow.currentStep).toBe('Bye')
  })

  test('onEnter of an end step may not move on', async () => {
    await expect(chatWith(ending(go('Bye'), entering(go(Next)), Next)).say('Hi')).rejects.toMatchObject({
      code: 'FLOW_ERROR',
      message: "onEnter of end step 'Bye' returned go(...); the session has ended.",
    })
  })

  test('a message that is neither text nor object fails the turn', async () => {
    class Broken extends EndStep {
      static override readonly id = 'Broken'
      override message() {
        return undefined as unknown as string
      }
    }
    await expect(chatWith(ending(finish(), Broken)).say('Hi')).rejects.toMatchObject({ code: 'FLOW_ERROR' })
  })
})
