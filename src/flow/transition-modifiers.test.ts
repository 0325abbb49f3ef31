import { describe, expect, test } from 'vitest'
import { flowOf, place, upTo } from '../../testing/contract/test-flows.js'
import { Conversation } from '../../testing/index.js'
import { finish, go, LogicStep, reply, retry, Step, type StepConstructor, stay, tool } from '../index.js'
import type { Transition } from './transition.js'

const Next = place('Next')

describe('a modifier that its builder does not take is refused when it is called', () => {
  const useReply = 'Return reply(text) to answer the user.'
  const useType = 'Return reply(text).withContentType(type) to answer the user.'
  const useState = 'Set this.state to change the state of this step, or return go(Step).withState(state).'
  const usePrompt = 'Return go(Step).withPrompt(text) to add to the prompt of a model step.'
  const useMessage = 'Return go(Step).withMessage(text) to give another step a message.'

  test.each<[string, () => Transition]>([
    [`stay(...) does not take withReply. ${useReply}`, () => stay('a').withReply('b')],
    [`retry(...) does not take withReply. ${useReply}`, () => retry('a').withReply('b')],
    [`retry(...) does not take withContentType. ${useType}`, () => retry('a').withContentType('text/csv')],
    [`reply(...) does not take withState. ${useState}`, () => reply('a').withState({ b: 1 } as never)],
    [`stay(...) does not take withState. ${useState}`, () => stay('a').withState({ b: 1 } as never)],
    [`retry(...) does not take withState. ${useState}`, () => retry('a').withState({ b: 1 } as never)],
    [`reply(...) does not take withPrompt. ${usePrompt}`, () => reply('a').withPrompt('b')],
    [`stay(...) does not take withPrompt. ${usePrompt}`, () => stay('a').withPrompt('b')],
    [`retry(...) does not take withPrompt. ${usePrompt}`, () => retry('a').withPrompt('b')],
    [`finish(...) does not take withPrompt. ${usePrompt}`, () => finish('a').withPrompt('b')],
    [`reply(...) does not take withMessage. ${useMessage}`, () => reply('a').withMessage('b')],
    [`stay(...) does not take withMessage. ${useMessage}`, () => stay('a').withMessage('b')],
    [`retry(...) does not take withMessage. ${useMessage}`, () => retry('a').withMessage('b')],
  ])('%s', (message, modify) => {
    expect(modify).toThrow(expect.objectContaining({ code: 'FLOW_ERROR', message }))
  })

  test('the others are taken', () => {
    const modified = [
      go('Next').withReply('a').withContentType('text/csv').withState({ b: 1 }).withMessage('c').withFeedback('d'),
      go('Next').withPrompt('a'),
      reply('a').withReply('b').withContentType('text/csv').withFeedback('c'),
      stay('a').withContentType('text/csv').withFeedback('c'),
      retry('a').withFeedback('c'),
      finish('a')
        .withReply('b')
        .withContentType('text/csv')
        .withState({} as never)
        .withMessage('c')
        .withFeedback('d'),
    ]
    expect(modified).toHaveLength(6)
  })
})

describe('a modifier without an effect where its transition is returned fails the turn', () => {
  class Desk extends Step {
    static override readonly id = 'Desk'
  }

  /** A conversation whose first step returns the transition from that place. */
  const places: Readonly<Record<string, (transition: Transition) => Conversation>> = {
    run: (transition) => {
      class Start extends LogicStep {
        static override readonly id = 'Start'
        override run() {
          return transition
        }
      }
      return talk(Start)
    },
    onEnter: (transition) => {
      class Start extends LogicStep {
        static override readonly id = 'Start'
        override onEnter() {
          return transition
        }
        override run() {
          return reply('run was called.')
        }
      }
      return talk(Start)
    },
    onReply: (transition) => {
      class Start extends Step {
        static override readonly id = 'Start'
        override onReply() {
          return transition
        }
      }
      return talk(Start)
    },
    'a tool': (transition) => {
      class Start extends Step {
        static override readonly id = 'Start'
        override tools() {
          return [tool({ name: 'act', description: 'Acts.', execute: () => transition })]
        }
      }
      return new Conversation(flowOf(Start, Next), { script: upTo({ toolCalls: [{ name: 'act' }] }, 'Second.') })
    },
    onModelBlocked: (transition) => {
      class Start extends Step {
        static override readonly id = 'Start'
        override onModelBlocked() {
          return transition
        }
      }
      return new Conversation(flowOf(Start, Next), { script: [{ refusal: 'No.' }] })
    },
  }

  function talk(Start: StepConstructor): Conversation {
    return new Conversation(flowOf(Start, Desk, Next), { script: upTo('First.', 'Second.') })
  }

  async function failing(from: string, transition: Transition, message: string): Promise<void> {
    await using conversation = (places[from] as (typeof places)[string])(transition)
    await conversation.say('Hi')
    conversation.expectError('FLOW_ERROR', message)
  }

  test.each(['run', 'onEnter', 'onReply', 'onModelBlocked'])('withFeedback from %s', async (from) => {
    const message = `Step 'Start' returned withFeedback from ${from}. Only tools may: use withReply(text) to answer the user.`
    for (const transition of [go('Next'), reply('a'), finish('a')]) {
      await failing(from, transition.withFeedback('Saved.'), message)
    }
  })

  test.each(['a tool', 'onReply'])('stay(...).withContentType from %s', async (from) => {
    const message = `Step 'Start' returned stay(...).withContentType from ${from}, where the feedback is for the model. Return reply(text).withContentType(type) to answer the user.`
    await failing(from, stay('a').withContentType('text/csv'), message)
  })

  test('withPrompt of a move to a step that has no prompt', async () => {
    const message = "withPrompt of a move to step 'Next' has no effect: no model is called there in this turn."
    for (const from of Object.keys(places)) await failing(from, go('Next').withPrompt('Be brief.'), message)
  })

  test('withPrompt of a move that answers now', async () => {
    const transition = go('Desk').withPrompt('Be brief.').withReply('Moved.')
    const message = "withPrompt of a move to step 'Desk' has no effect: no model is called there in this turn."
    await failing('run', transition, message)
  })
})
