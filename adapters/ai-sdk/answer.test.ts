import { describe, expect, test } from 'vitest'
import { responseOf } from './answer.js'
import type { AnswerContent, GenerateResult } from './language-model.js'

const selection = { provider: 'own', name: 'small', params: {} }
const answer = (fields: Partial<GenerateResult>) =>
  responseOf({ content: [], finishReason: 'stop', usage: {}, ...fields }, selection)
const call = (fields: Partial<AnswerContent>): AnswerContent => ({
  type: 'tool-call',
  toolCallId: '1',
  toolName: 'act',
  input: '{"a":1}',
  ...fields,
})

describe('parts', () => {
  test('are text, reasoning and tool calls in their order, with their metadata', () => {
    const providerMetadata = { own: { signature: 'signed' } }
    const content = [
      { type: 'reasoning', text: 'Hm.', providerMetadata },
      { type: 'text', text: 'One moment.' },
      call({ providerMetadata }),
    ]
    expect(answer({ content }).parts).toEqual([
      { type: 'reasoning', text: 'Hm.', providerData: providerMetadata },
      { type: 'text', text: 'One moment.' },
      { type: 'tool-call', toolCallId: '1', toolName: 'act', input: { a: 1 }, providerData: providerMetadata },
    ])
  })

  test('do not include sources, files, and tools that the provider executed itself', () => {
    const content = [
      { type: 'source', text: 'a page' },
      { type: 'file' },
      call({ providerExecuted: true }),
      { type: 'tool-result', toolCallId: '1' },
      { type: 'tool-approval-request', toolCallId: '1' },
      { type: 'text', text: 'Yes.' },
    ]
    expect(answer({ content }).parts).toEqual([{ type: 'text', text: 'Yes.' }])
  })

  test('have no provider data if their metadata is null', () => {
    const content = [
      { type: 'text', text: 'Yes.', providerMetadata: null as never },
      call({ providerMetadata: null as never }),
    ]
    for (const part of answer({ content }).parts) expect(part).not.toHaveProperty('providerData')
    expect(answer({ content: [{ type: 'text', text: '', providerMetadata: null as never }] }).parts).toEqual([])
  })

  test.each(['', ' \n'])('blank arguments are an empty object: %j', (input) => {
    expect(answer({ content: [call({ input })] }).parts).toMatchObject([{ input: {} }])
  })

  test('arguments that are not valid JSON are not a failure: the call says what the model wrote', () => {
    expect(answer({ content: [call({ input: '{"a":' })] }).parts).toEqual([
      {
        type: 'tool-call',
        toolCallId: '1',
        toolName: 'act',
        input: {},
        invalidInput: 'They are not valid JSON: {"a":',
      },
    ])
  })

  test('calls keep the IDs that the package gives: the engine renames those that are missing or the same', () => {
    const content = [call({}), call({}), call({ toolCallId: '' }), call({ toolCallId: undefined as never })]
    expect(answer({ content }).parts).toMatchObject(['1', '1', '', ''].map((toolCallId) => ({ toolCallId })))
  })
})

test('the error for an answer that was interrupted has the usage', () => {
  const usage = { inputTokens: 21, outputTokens: 8 }
  expect(() => answer({ finishReason: { unified: 'interrupted' }, usage })).toThrow(
    expect.objectContaining({ isRetryable: true, usage }),
  )
})

describe('the finish reason', () => {
  test.each(['stop', 'tool-calls', 'length', 'content-filter', 'error', 'other'] as const)(
    '%s, as a string and as an object',
    (word) => {
      expect(answer({ finishReason: word }).finishReason).toBe(word)
      expect(answer({ finishReason: { unified: word } }).finishReason).toBe(word)
    },
  )

  test.each([undefined, null, {}])('%j is other', (reason) => {
    expect(answer({ finishReason: reason as never, content: [{ type: 'text', text: 'Yes.' }] })).toMatchObject({
      parts: [{ text: 'Yes.' }],
      finishReason: 'other',
    })
  })

  test('any other value is other', () => {
    expect(answer({ finishReason: 'unknown' }).finishReason).toBe('other')
    expect(answer({ finishReason: { unified: 'paused' } }).finishReason).toBe('other')
  })

  test.each([
    ['a refusal', { choices: [{ message: { refusal: 'No.' } }] }, 'content-filter'],
    ['an empty refusal', { choices: [{ message: { refusal: '' } }] }, 'stop'],
    ['no refusal', { choices: [{ message: { refusal: null } }] }, 'stop'],
    ['no message', { choices: [{}] }, 'stop'],
    ['no choice', { choices: [] }, 'stop'],
    ['something else', 'text', 'stop'],
    ['null', null, 'stop'],
  ])('a chat completion with %s', (_what, body, reason) => {
    expect(answer({ response: { body } }).finishReason).toBe(reason)
  })
})

describe('the usage', () => {
  test('of version 2', () => {
    const usage = { inputTokens: 20, outputTokens: 8, cachedInputTokens: 5, reasoningTokens: 3 }
    expect(answer({ usage }).usage).toEqual(usage)
  })

  test('of version 3', () => {
    const usage = { inputTokens: { total: 20, cacheRead: 5 }, outputTokens: { total: 8, reasoning: 3 } }
    expect(answer({ usage }).usage).toEqual({
      inputTokens: 20,
      outputTokens: 8,
      cachedInputTokens: 5,
      reasoningTokens: 3,
    })
  })

  test('is 0 if it is missing, and details are absent', () => {
    expect(answer({ usage: {} }).usage).toEqual({ inputTokens: 0, outputTokens: 0 })
    expect(answer({ usage: { inputTokens: {}, outputTokens: {} } }).usage).toEqual({ inputTokens: 0, outputTokens: 0 })
  })

  test.each([
    undefined,
    null,
    { inputTokens: null, outputTokens: null, cachedInputTokens: null, reasoningTokens: null },
    { inputTokens: Number.NaN, outputTokens: -1, cachedInputTokens: Number.NaN },
    { inputTokens: '12', outputTokens: 1 / 0, reasoningTokens: '3' },
    { inputTokens: { total: null, cacheRead: null }, outputTokens: { total: Number.NaN, reasoning: null } },
  ])('%j counts as missing, and the answer is accepted', (usage) => {
    const content = [{ type: 'text', text: 'Yes.' }]
    expect(answer({ content, usage: usage as never })).toEqual({
      parts: [{ type: 'text', text: 'Yes.' }],
      finishReason: 'stop',
      usage: { inputTokens: 0, outputTokens: 0 },
    })
  })
})
