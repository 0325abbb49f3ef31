import { describe, expect, test } from 'vitest'
import { chatWith, flowOf, lines, place } from '../../testing/contract/chat.js'
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
} from '../index.js'

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
    const chat = chatWith(flowOf(starting(go(Shop).withState({ items: ['tea', 'milk'] })), Shop))
    expect(await chat.say('Hi')).toBe('tea, milk')
    expect((await chat.document()).flow.steps.Shop).toEqual({
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
    const chat = chatWith(flowOf(Again, Shop))
    await chat.say('Hi')
    await chat.say('bring a bag')
    expect((await chat.document()).flow.steps.Shop).toEqual({ state: { items: ['tea'], note: 'bring a bag' } })
  })

  test('reaches an end step, through finish', async () => {
    class Bye extends EndStep<{ name?: string }> {
      static override readonly id = 'Bye'
      override message() {
        return `Goodbye, ${this.state.name}.`
      }
    }
    expect(await chatWith(flowOf(starting(finish().withState({ name: 'Ada' })), Bye)).say('Hi')).toBe('Goodbye, Ada.')
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
    expect(await chatWith(flow).say('tea')).toBe('tea')
    expect(await chatWith(flow).say('milk')).toBe('milk')
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
    const chat = chatWith(flowOf(starting(go(Echo).withMessage('weather in Oslo')), Echo))
    expect(await chat.say('And there?')).toBe('weather in Oslo')
    expect(await chat.say('Thanks')).toBe('Thanks')
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
    expect(await chatWith(flowOf(starting(go(Between).withMessage('other words')), Between, Echo)).say('Hi')).toBe('Hi')
    expect(seen).toEqual(['other words', 'other words'])
  })

  test('leaves what the user said in the history', async () => {
    const chat = chatWith(flowOf(starting(go(Echo).withMessage('other words')), Echo))
    await chat.say('Hi')
    expect((await chat.document()).history).toMatchObject([{ message: 'Hi', reply: 'other words' }])
  })

  test('is what the model of the destination hears', async () => {
    class Talk extends Step {
      static override readonly id = 'Talk'
    }
    const chat = chatWith(flowOf(starting(go(Talk).withMessage('weather in Oslo')), Talk), {
      script: ['Rain.', 'Welcome.'],
    })
    await chat.say('And there?')
    await chat.say('Thanks')
    expect(lines((await chat.document()).flow.memory.Talk?.messages)).toEqual([
      'user: weather in Oslo',
      'assistant: Rain.',
      'user: Thanks',
      'assistant: Welcome.',
    ])
  })

  test('is what the model of the destination hears, also where it shares the memory of the step before', async () => {
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
    const chat = chatWith(flowOf(Triage, Answer), { script: ['On to the summary.', 'In short: no.'] })
    expect(await chat.say('Hi')).toBe('In short: no.')
    expect(lines(chat.provider.requests[1]?.messages)).toContain('user: Please summarise.')
  })

  test("does not make a shared memory hear the user's own message twice", async () => {
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
    const chat = chatWith(flow, { script: ['One.', 'Two.', 'Three.'] })
    await chat.say('Hi')
    expect(lines((await chat.document()).flow.memory.shared?.messages)).toEqual([
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
    const chat = chatWith(flowOf(starting(go(Talk).withPrompt('The user is new here.')), Talk), {
      script: ['Welcome!', 'Sure.'],
    })
    await chat.say('Hi')
    await chat.say('Help')
    expect(chat.provider.requests.map(({ system }) => system)).toEqual([
      'You are kind.\n\nThe user is new here.',
      'You are kind.',
    ])
    expect(JSON.stringify(await chat.document())).not.toContain('The user is new here.')
  })

  test('is the whole prompt of a step that has none', async () => {
    const chat = chatWith(flowOf(starting(go(Silent).withPrompt('Be brief.')), Silent), { script: ['Hi.'] })
    await chat.say('Hi')
    expect(chat.provider.requests[0]?.system).toBe('Be brief.')
  })

  test('holds for every call of the step, and not for the step after it', async () => {
    class Picky extends Step {
      static override readonly id = 'Picky'
      override onReply(text: string) {
        return text === 'Bad.' ? go(Silent) : text
      }
    }
    const chat = chatWith(flowOf(starting(go(Picky).withPrompt('Be brief.')), Picky, Silent), {
      script: ['Bad.', 'Good.'],
    })
    expect(await chat.say('Hi')).toBe('Good.')
    expect(chat.provider.requests.map(({ system }) => system)).toEqual(['Be brief.', undefined])
  })
})

describe('withReply', () => {
  const Next = place('Next')

  test.each([
    ['on finish', finish('a').withReply('b'), 'b'],
    ['on reply', reply('a').withReply('b'), 'b'],
    ['twice', go(Next).withReply('a').withReply('b'), 'b'],
  ])('the last text counts: %s', async (_how, transition, text) => {
    expect(await chatWith(flowOf(starting(transition), Next)).say('Hi')).toBe(text)
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
    const chat = chatWith(flowOf(starting(go(Door).withReply('Come in.')), Door, Next))
    expect(await chat.say('Hi')).toBe('Come in.')
    expect((await chat.document()).flow.currentStep).toBe('Next')
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
    expect(await chatWith(flowOf(starting(go(Door).withReply('Come in.')), Door)).say('Hi')).toBe('Closed.')
  })
})
