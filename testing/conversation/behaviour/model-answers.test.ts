/** A provider that the test gives may answer anything: the conversation looks on, and the engine decides. */
import { expect, test } from 'vitest'
import { Flow, type ModelProviderAdapter, type ModelResponse, Step } from '../../../src/index.js'
import { Conversation } from '../conversation.js'

class Talk extends Step {
  static override readonly id = 'Talk'
}
class Talking extends Flow {
  static override readonly id = 'Talking'
  override model() {
    return { provider: 'raw', name: 'small' }
  }
  override steps() {
    return [Talk]
  }
}

function answering(answer: unknown): ModelProviderAdapter {
  const generate = async (): Promise<ModelResponse> => answer as ModelResponse
  return { provider: 'raw', resolve: () => ({ provider: 'raw', name: 'small', generate }) }
}

test.each([
  ['a text for parts', { parts: 'Hello.' }, 'It answered without a list of parts.'],
  [
    'a part that is missing',
    { parts: [undefined] },
    'It answered with a part that is not a text, a reasoning or a tool call.',
  ],
  ['nothing', undefined, 'It answered without a list of parts.'],
])('%s fails with the sentence of the engine', async (_what, answer, sentence) => {
  const conversation = new Conversation(Talking, { providers: [answering(answer)] })
  await conversation.say('Hello')
  conversation.expectError('MODEL_ERROR', `Model 'small' of provider 'raw' failed. ${sentence}`)
  await conversation.close()
  expect(conversation.reply.success).toBe(false)
})
