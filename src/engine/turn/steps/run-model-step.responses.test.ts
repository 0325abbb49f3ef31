import { describe, expect, test } from 'vitest'
import { flowOf, lines } from '../../../../testing/contract/test-flows.js'
import { Conversation, scriptedProvider } from '../../../../testing/index.js'
import {
  FlowEngine,
  type FlowErrorCode,
  go,
  type ModelProviderAdapter,
  type ModelResponse,
  type ModelSelection,
  reply,
  retry,
  Step,
  ToolError,
  tool,
} from '../../../index.js'

class Talk extends Step {
  static override readonly id: string = 'Talk'
  override model(): ModelSelection {
    return { provider: 'raw', name: 'small' }
  }
}

/** A provider whose model answers just that, or throws it. */
function answering(...responses: readonly unknown[]): ModelProviderAdapter {
  let calls = 0
  const generate = async (): Promise<ModelResponse> => {
    const response = responses[calls++]
    if (response instanceof Error) throw response
    return response as ModelResponse
  }
  return { provider: 'raw', resolve: () => ({ provider: 'raw', name: 'small', generate }) }
}

/** A conversation whose model answers just that, or throws it. */
function talkTo(...responses: readonly unknown[]): Conversation {
  return new Conversation(flowOf(Talk), { providers: [answering(...responses)] })
}

const text = (words: string): { type: 'text'; text: string } => ({ type: 'text', text: words })
const failed = "Model 'small' of provider 'raw' failed."

describe('a model that fails', () => {
  test('[7.2-5] fails the turn; what it threw stays out of the message', async () => {
    const cause = new Error('connect ECONNREFUSED 10.0.0.7:443 with key sk-123456789')
    await using conversation = talkTo(cause)
    const { error, ...response } = await conversation.say('Hi')
    conversation.expectError('MODEL_ERROR', failed)
    expect(error).toMatchObject({ statusCode: 400, message: failed, provider: 'raw', model: 'small' })
    expect(error?.cause).toBe(cause)
    expect(response).toMatchObject({ success: false, message: failed })
    expect((await conversation.document()).error).toEqual([failed])
  })

  test('may throw an error of the package, which passes as it is', async () => {
    await using conversation = new Conversation(flowOf(Talk), {
      providers: [
        {
          provider: 'raw',
          resolve: () => ({
            provider: 'raw',
            name: 'small',
            generate: () => Promise.reject(new ToolErrorLike()),
          }),
        },
      ],
    })
    await conversation.say('Hi')
    conversation.expectError('LIMIT_EXCEEDED', 'Too many calls this minute.')
  })

  test.each<[string, FlowErrorCode, string]>([
    ['content-filter', 'MODEL_BLOCKED', "Model 'small' of provider 'raw' blocked its answer."],
    ['error', 'MODEL_ERROR', `${failed} It stopped with an error.`],
  ])('with the finish reason %s fails the turn, whatever it said', async (finishReason, code, message) => {
    await using conversation = talkTo({ parts: [text('Hello.')], finishReason })
    await conversation.say('Hi')
    conversation.expectError(code, message)
  })

  test.each(['stop', 'tool-calls', 'length', 'other', undefined])(
    'but not with the finish reason %s',
    async (finishReason) => {
      await using conversation = talkTo({ parts: [text('Hello.')], finishReason })
      await conversation.say('Hi')
      conversation.expectReply('Hello.')
    },
  )
})

/** An error of the package, as another copy of it would throw it. */
class ToolErrorLike extends Error {
  readonly code = 'LIMIT_EXCEEDED'
  constructor() {
    super('Too many calls this minute.')
    Object.defineProperty(this, Symbol.for('turnkeeper.FlowError'), { value: true })
  }
}

describe('an answer that no model may give', () => {
  const noParts = `${failed} It answered without a list of parts.`
  const wrongPart = `${failed} It answered with a part that is not a text, a reasoning or a tool call.`
  const call = { type: 'tool-call', toolCallId: '1', toolName: 'act' }

  test.each([
    ['nothing', undefined, noParts],
    ['null', null, noParts],
    ['a text', 'Hello.', noParts],
    ['no parts', {}, noParts],
    ['parts that are not a list', { parts: 'Hello.' }, noParts],
    ['a part that is nothing', { parts: [undefined] }, wrongPart],
    ['a part that is a text', { parts: ['Hello.'] }, wrongPart],
    ['a text part without text', { parts: [{ type: 'text' }] }, wrongPart],
    ['a tool result', { parts: [{ type: 'tool-result', toolCallId: '1', toolName: 'act', output: 1 }] }, wrongPart],
    ['a tool call without a name', { parts: [{ ...call, toolName: 7 }] }, wrongPart],
    ['an image', { parts: [{ type: 'image', mediaType: 'image/png', data: 'aGk=' }] }, wrongPart],
    ['a wrong part after a right one', { parts: [text('Hello.'), { type: 'image' }] }, wrongPart],
  ])('%s fails the turn', async (_what, response, message) => {
    // A conversation reads the parts itself, before the engine has checked them.
    const engine = new FlowEngine({ flows: [flowOf(Talk)], providers: [scriptedProvider([]), answering(response)] })
    const { error } = await engine.execute({ flowName: 'Test', userMessage: 'Hi' })
    expect(error).toMatchObject({ code: 'MODEL_ERROR', message })
  })

  test('more fields than asked for are not stored', async () => {
    await using conversation = talkTo({ parts: [{ ...text('Hello.'), signature: 'x' }], secret: 'y' })
    await conversation.say('Hi')
    expect((await conversation.document()).flow.memory.Talk?.messages[1]).toEqual({
      role: 'assistant',
      parts: [text('Hello.')],
      turn: 1,
    })
  })

  test('a tool call without arguments has none', async () => {
    await using conversation = talkTo({ parts: [call] }, { parts: [text('Hello.')] })
    await conversation.say('Hi')
    expect(lines((await conversation.document()).flow.memory.Talk?.messages)[1]).toBe('assistant: act({})')
  })

  test('parts that the model changes later stay as they were', async () => {
    const response = { parts: [{ ...call, input: { seats: [1] } }] }
    await using conversation = talkTo(response, { parts: [text('Hello.')] })
    await conversation.say('Hi')
    response.parts[0]?.input.seats.push(2)
    expect(lines((await conversation.document()).flow.memory.Talk?.messages)[1]).toBe('assistant: act({"seats":[1]})')
  })
})

describe('usage', () => {
  const spent = (inputTokens: unknown, outputTokens: unknown, ...parts: unknown[]): unknown => ({
    parts,
    usage: { inputTokens, outputTokens },
  })

  test('adds up over the calls of a turn and the turns of a session', async () => {
    const call = { type: 'tool-call', toolCallId: '1', toolName: 'act' }
    await using conversation = talkTo(spent(10, 2, call), spent(20, 3, text('One.')), spent(30, 4, text('Two.')))
    await conversation.say('a')
    expect((await conversation.document()).usage).toEqual({ inputTokens: 30, outputTokens: 5, modelCalls: 2 })
    await conversation.say('b')
    expect((await conversation.document()).usage).toEqual({ inputTokens: 60, outputTokens: 9, modelCalls: 3 })
  })

  test('counts a call without usage, or nonsense', async () => {
    await using conversation = talkTo(
      { parts: [text('a')] },
      spent(-1, 'many', text('b')),
      spent(Number.NaN, Number.POSITIVE_INFINITY, text('c')),
    )
    for (const message of ['a', 'b', 'c']) await conversation.say(message)
    expect((await conversation.document()).usage).toEqual({ inputTokens: 0, outputTokens: 0, modelCalls: 3 })
  })

  test.each<[string, FlowErrorCode, unknown[], object]>([
    [
      'the model fails in a later call',
      'MODEL_ERROR',
      [new Error('overloaded')],
      { inputTokens: 10, outputTokens: 2, modelCalls: 2 },
    ],
    [
      'the answer is blocked',
      'MODEL_BLOCKED',
      [{ ...(spent(20, 1) as object), finishReason: 'content-filter' }],
      { inputTokens: 30, outputTokens: 3, modelCalls: 2 },
    ],
    [
      'the answer is malformed',
      'MODEL_ERROR',
      [spent(20, 1, 'Hello.')],
      { inputTokens: 30, outputTokens: 3, modelCalls: 2 },
    ],
  ])('is kept of a turn that failed, for it was spent: %s', async (_why, code, responses, usage) => {
    const call = { type: 'tool-call', toolCallId: '1', toolName: 'act' }
    await using conversation = talkTo(spent(10, 2, call), ...responses)
    await conversation.say('Hi')
    conversation.expectError(code)
    expect(await conversation.document()).toMatchObject({
      runStatus: 'aborted',
      usage,
      history: [],
      flow: { memory: {} },
    })
  })
})

describe('the model that answered', () => {
  test('is stored with its step, without what is named like a credential', async () => {
    class Careful extends Step {
      static override readonly id = 'Careful'
      override model() {
        return {
          provider: 'scripted',
          name: 'large',
          params: {
            temperature: 0,
            apiKey: 'hidden-1',
            headers: { 'X-Api-Key': 'hidden-2', accept: 'a' },
            tools: [{ accessToken: 'hidden-3' }],
          },
        }
      }
    }
    await using conversation = new Conversation(flowOf(Careful), { script: ['Hello.'] })
    await conversation.say('Hi')
    const document = await conversation.document()
    expect(document.flow.steps.Careful?.model).toEqual({
      provider: 'scripted',
      name: 'large',
      params: { temperature: 0, headers: { accept: 'a' }, tools: [{}] },
    })
    expect(JSON.stringify(document)).not.toContain('hidden')
    expect(conversation.model.requests[0]?.params).toMatchObject({ apiKey: 'hidden-1' })
  })

  test('has no params where there are none', async () => {
    await using conversation = new Conversation(flowOf(class Bare extends Step {}), { script: ['Hello.'] })
    await conversation.say('Hi')
    expect((await conversation.document()).flow.steps.Bare).toEqual({
      state: {},
      model: { provider: 'scripted', name: 'scripted' },
    })
  })

  test('stays stored while the step is only looked at', async () => {
    class Once extends Step<{ seen?: number }> {
      static override readonly id = 'Once'
      override onEnter(turn: { number: number }) {
        this.state.seen = turn.number
        return turn.number > 1 ? reply('Again.') : undefined
      }
      override onReply(words: string) {
        return words === 'Go.' ? go(Once) : words
      }
    }
    await using conversation = new Conversation(flowOf(Once), { script: ['Hello.', 'Go.'] })
    await conversation.say('a')
    await conversation.say('b')
    expect((await conversation.document()).flow.steps.Once).toEqual({
      state: { seen: 2 },
      model: { provider: 'scripted', name: 'scripted' },
    })
  })
})

test('the events of a model call tell its number, its outcome and what it cost', async () => {
  class Retrying extends Talk {
    override onReply(words: string) {
      return words === 'Bad.' ? retry('Better, please.') : words
    }
  }
  const responses: unknown[] = [{ parts: [text('Bad.')], usage: { inputTokens: 3, outputTokens: 1 } }, 'malformed']
  const generate = async (): Promise<ModelResponse> => responses.shift() as ModelResponse
  await using conversation = new Conversation(flowOf(Retrying), {
    providers: [{ provider: 'raw', resolve: () => ({ provider: 'raw', name: 'small', generate }) }],
  })
  const told: unknown[] = []
  await conversation.open()
  conversation.engine.on('model:start', ({ step, provider, model, callNumber }) =>
    told.push(['start', step, provider, model, callNumber]),
  )
  conversation.engine.on('model:end', ({ success, inputTokens, outputTokens, callNumber }) =>
    told.push(['end', success, inputTokens, outputTokens, callNumber]),
  )
  await conversation.say('Hi')
  conversation.expectError('MODEL_ERROR')
  expect(told).toEqual([
    ['start', 'Talk', 'raw', 'small', 1],
    ['end', true, 3, 1, 1],
    ['start', 'Talk', 'raw', 'small', 2],
    ['end', false, 0, 0, 2],
  ])
})

test('ToolError is for tools: thrown anywhere else it fails the turn like any error', async () => {
  class Broken extends Step {
    static override readonly id = 'Broken'
    override tools() {
      return [tool({ name: 'act', description: 'Acts.', execute: () => undefined })]
    }
    override prompt(): string {
      throw new ToolError('Not here.')
    }
  }
  await using conversation = new Conversation(flowOf(Broken))
  await conversation.say('Hi')
  conversation.expectError('FLOW_ERROR', 'Not here.')
})
