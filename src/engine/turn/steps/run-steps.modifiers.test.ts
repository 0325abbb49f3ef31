import { describe, expect, test } from 'vitest'
import { flowOf, lines, place } from '../../../../testing/contract/test-flows.js'
import { Conversation } from '../../../../testing/index.js'
import {
  EndStep,
  finish,
  go,
  LogicStep,
  reply,
  Step,
  type StepConstructor,
  type Transition,
  type Turn,
} from '../../../index.js'

/** A first step that returns `transition`. */
function starting(transition: Transition): StepConstructor {
  return class extends LogicStep {
    static override readonly id: string = 'Start'
    override run() {
      return transition
    }
  }
}

describe('withState', () => {
  interface Basket {
    items: string[]
    seen?: string
    note?: string
  }
  class Shop extends LogicStep<Basket> {
    static override readonly id = 'Shop'
    override initialState(): Basket {
      return { items: [], note: 'none' }
    }
    override onEnter() {
      this.state.seen = this.state.items.join('+')
    }
    override run(turn: Turn) {
      if (!turn.entered) this.state.items.push(turn.message)
      return reply(this.state.items.join(', ') || 'empty')
    }
  }

  test('is merged into the state of the destination, before its onEnter', async () => {
    await using conversation = new Conversation(flowOf(starting(go(Shop).withState({ items: ['tea', 'milk'] })), Shop))
    await conversation.say('Hi')
    conversation.expectReply('tea, milk')
    expect((await conversation.document()).flow.steps.Shop).toEqual({
      state: { items: ['tea', 'milk'], note: 'none', seen: 'tea+milk' },
    })
  })

  test('is merged into what the step has stored already', async () => {
    class Again extends LogicStep {
      static override readonly id = 'Again'
      override run(turn: Turn) {
        return turn.number === 1 ? go(Shop).withState({ items: ['tea'] }) : reply('never')
      }
    }
    class Shop extends LogicStep<Basket> {
      static override readonly id = 'Shop'
      override run(turn: Turn) {
        return turn.entered ? reply('Come in.') : go(Shop).withState({ note: turn.message })
      }
    }
    await using conversation = new Conversation(flowOf(Again, Shop))
    await conversation.say('Hi')
    await conversation.say('bring a bag')
    expect((await conversation.document()).flow.steps.Shop).toEqual({ state: { items: ['tea'], note: 'bring a bag' } })
  })

  test('reaches an end step, through finish', async () => {
    class Bye extends EndStep<{ name?: string }> {
      static override readonly id = 'Bye'
      override message() {
        return `Goodbye, ${this.state.name}.`
      }
    }
    await using conversation = new Conversation(flowOf(starting(finish().withState({ name: 'Ada' })), Bye))
    await conversation.say('Hi')
    conversation.expectReply('Goodbye, Ada.')
  })

  test('of a transition that is kept as a constant is not shared between sessions', async () => {
    const enter = go('Shop').withState({ items: [] })
    class Shop extends LogicStep<{ items: string[] }> {
      static override readonly id = 'Shop'
      override run(turn: Turn) {
        this.state.items.push(turn.message)
        return reply(this.state.items.join(', '))
      }
    }
    const flow = flowOf(starting(enter), Shop)
    await using conversation = new Conversation(flow)
    await conversation.say('tea')
    conversation.expectReply('tea')
    await using another = new Conversation(flow)
    await another.say('milk')
    another.expectReply('milk')
  })
})

describe('withMessage', () => {
  class Echo extends LogicStep {
    static override readonly id = 'Echo'
    override run(turn: Turn) {
      return reply(turn.message)
    }
  }

  test('replaces the message for the destination, in this turn only', async () => {
    await using conversation = new Conversation(flowOf(starting(go(Echo).withMessage('weather in Oslo')), Echo))
    await conversation.say('And there?')
    conversation.expectReply('weather in Oslo')
    await conversation.say('Thanks')
    conversation.expectReply('Thanks')
  })

  test('is seen by onEnter, and not by the step after the destination', async () => {
    const seen: string[] = []
    class Between extends LogicStep {
      static override readonly id = 'Between'
      override onEnter(turn: Turn) {
        seen.push(turn.message)
      }
      override run(turn: Turn) {
        seen.push(turn.message)
        return go(Echo)
      }
    }
    await using conversation = new Conversation(flowOf(starting(go(Between).withMessage('other words')), Between, Echo))
    await conversation.say('Hi')
    conversation.expectReply('Hi')
    expect(seen).toEqual(['other words', 'other words'])
  })

  test('leaves what the user said in the history', async () => {
    await using conversation = new Conversation(flowOf(starting(go(Echo).withMessage('other words')), Echo))
    await conversation.say('Hi')
    expect((await conversation.document()).history).toMatchObject([{ message: 'Hi', reply: 'other words' }])
  })

  test('is what the model of the destination receives', async () => {
    class Talk extends Step {
      static override readonly id = 'Talk'
    }
    await using conversation = new Conversation(flowOf(starting(go(Talk).withMessage('weather in Oslo')), Talk), {
      script: ['Rain.', 'Welcome.'],
    })
    await conversation.say('And there?')
    await conversation.say('Thanks')
    expect(lines((await conversation.document()).flow.memory.Talk?.messages)).toEqual([
      'user: weather in Oslo',
      'assistant: Rain.',
      'user: Thanks',
      'assistant: Welcome.',
    ])
  })

  test('is what the model of the destination receives, also where it shares the memory of the step before', async () => {
    class Triage extends Step {
      static override readonly id = 'Triage'
      override readonly memory = 'shared'
      override onReply() {
        return go(Answer).withMessage('Please summarise.')
      }
    }
    class Answer extends Step {
      static override readonly id = 'Answer'
      override readonly memory = 'shared'
    }
    await using conversation = new Conversation(flowOf(Triage, Answer), {
      script: ['On to the summary.', 'In short: no.'],
    })
    await conversation.say('Hi')
    conversation.expectReply('In short: no.')
    expect(lines(conversation.model.requests[1]?.messages)).toContain('user: Please summarise.')
  })

  test("does not store the user's own message twice in a shared memory", async () => {
    const sharing = (id: string, next: Transition | undefined): StepConstructor =>
      class extends Step {
        static override readonly id: string = id
        override readonly memory = 'shared'
        override onReply(text: string) {
          return next ?? text
        }
      }
    const flow = flowOf(
      sharing('First', go('Second').withMessage('Please summarise.')),
      sharing('Second', go('Third')),
      sharing('Third', undefined),
    )
    await using conversation = new Conversation(flow, { script: ['One.', 'Two.', 'Three.'] })
    await conversation.say('Hi')
    expect(lines((await conversation.document()).flow.memory.shared?.messages)).toEqual([
      'user: Hi',
      'assistant: One.',
      'user: Please summarise.',
      'assistant: Two.',
      'assistant: Three.',
    ])
  })
})

describe('withPrompt', () => {
  class Talk extends Step {
    static override readonly id = 'Talk'
    override prompt() {
      return 'You are kind.'
    }
  }
  class Silent extends Step {
    static override readonly id = 'Silent'
  }

  test('is appended to the prompt of the destination, in this turn only', async () => {
    await using conversation = new Conversation(flowOf(starting(go(Talk).withPrompt('The user is new here.')), Talk), {
      script: ['Welcome!', 'Sure.'],
    })
    await conversation.say('Hi')
    await conversation.say('Help')
    expect(conversation.model.requests.map(({ system }) => system)).toEqual([
      'You are kind.\n\nThe user is new here.',
      'You are kind.',
    ])
    expect(JSON.stringify(await conversation.document())).not.toContain('The user is new here.')
  })

  test('is the whole prompt of a step that has none', async () => {
    await using conversation = new Conversation(flowOf(starting(go(Silent).withPrompt('Be brief.')), Silent), {
      script: ['Hi.'],
    })
    await conversation.say('Hi')
    expect(conversation.model.requests[0]?.system).toBe('Be brief.')
  })

  test('holds for every call of the step, and not for the step after it', async () => {
    class Picky extends Step {
      static override readonly id = 'Picky'
      override onReply(text: string) {
        return text === 'Bad.' ? go(Silent) : text
      }
    }
    await using conversation = new Conversation(flowOf(starting(go(Picky).withPrompt('Be brief.')), Picky, Silent), {
      script: ['Bad.', 'Good.'],
    })
    await conversation.say('Hi')
    conversation.expectReply('Good.')
    expect(conversation.model.requests.map(({ system }) => system)).toEqual(['Be brief.', undefined])
  })
})

describe('withReply', () => {
  const Next = place('Next')

  test.each([
    ['on finish', finish('a').withReply('b'), 'b'],
    ['on reply', reply('a').withReply('b'), 'b'],
    ['twice', go(Next).withReply('a').withReply('b'), 'b'],
  ])('the last text counts: %s', async (_how, transition, text) => {
    await using conversation = new Conversation(flowOf(starting(transition), Next))
    await conversation.say('Hi')
    conversation.expectReply(text)
  })

  test('stands although onEnter of the destination moves on', async () => {
    class Door extends LogicStep {
      static override readonly id = 'Door'
      override onEnter() {
        return go(Next)
      }
      override run() {
        return reply('run was called.')
      }
    }
    await using conversation = new Conversation(flowOf(starting(go(Door).withReply('Come in.')), Door, Next))
    await conversation.say('Hi')
    conversation.expectReply('Come in.')
    expect((await conversation.document()).flow.currentStep).toBe('Next')
  })

  test('gives way to a reply of onEnter, which comes later', async () => {
    class Door extends LogicStep {
      static override readonly id = 'Door'
      override onEnter() {
        return reply('Closed.')
      }
      override run() {
        return reply('run was called.')
      }
    }
    await using conversation = new Conversation(flowOf(starting(go(Door).withReply('Come in.')), Door))
    await conversation.say('Hi')
    conversation.expectReply('Closed.')
  })
})
