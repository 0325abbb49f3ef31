import { describe, expect, test } from 'vitest'
import { finish, go, reply, retry, stay } from '../index.js'
import type { Transition } from './transition.js'

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
