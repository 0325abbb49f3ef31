import { describe, expect, test } from 'vitest'
import type { JsonObject } from '../../src/index.js'
import { finish, hello, streamed } from '../../testing/contract/ai-sdk-streams.js'
import type { StreamPart } from './language-model.js'

describe.each(['v2', 'v3', 'v4'])('the parts of version %s', (version) => {
  const finishReason = version === 'v2' ? 'stop' : { unified: 'stop', raw: 'end_turn' }
  const usage =
    version === 'v2'
      ? { inputTokens: 5, outputTokens: 2, cachedInputTokens: 3 }
      : { inputTokens: { total: 5, cacheRead: 3 }, outputTokens: { total: 2 } }

  test('are text and reasoning, then the whole answer', async () => {
    const parts = await streamed(
      [
        { type: 'reasoning-start', id: '0' },
        { type: 'reasoning-delta', id: '0', delta: 'Hm.' },
        { type: 'reasoning-end', id: '0' },
        ...hello.slice(1, -1),
        { type: 'finish', finishReason, usage },
      ],
      version,
    )
    expect(parts).toEqual([
      { type: 'reasoning-delta', text: 'Hm.' },
      { type: 'text-delta', text: 'Hel' },
      { type: 'text-delta', text: 'lo.' },
      {
        type: 'finish',
        response: {
          parts: [
            { type: 'reasoning', text: 'Hm.' },
            { type: 'text', text: 'Hello.' },
          ],
          finishReason: 'stop',
          usage: { inputTokens: 5, outputTokens: 2, cachedInputTokens: 3 },
        },
      },
    ])
  })
})

async function responseOf(parts: readonly StreamPart[]) {
  const last = (await streamed([...parts, finish])).at(-1)
  return last?.type === 'finish' ? last.response : undefined
}

describe('the whole answer', () => {
  test('has its parts in the order of their beginning, with all their metadata', async () => {
    const a: JsonObject = { own: { id: 'a', signature: null } }
    const b: JsonObject = { own: { signature: 'signed' }, other: { x: 1 } }
    const response = await responseOf([
      { type: 'reasoning-start', id: '0', providerMetadata: a },
      { type: 'reasoning-delta', id: '0', delta: 'Hm.' },
      { type: 'reasoning-delta', id: '0', delta: '', providerMetadata: b },
      { type: 'reasoning-end', id: '0' },
      { type: 'text-start', id: '0' },
      { type: 'text-delta', id: '0', delta: 'One ' },
      { type: 'tool-input-start', id: 'c', toolName: 'act' },
      { type: 'tool-input-delta', id: 'c', delta: '{"a":1}' },
      { type: 'tool-input-end', id: 'c' },
      { type: 'tool-call', toolCallId: 'c', toolName: 'act', input: '{"a":1}', providerMetadata: a },
      { type: 'tool-call', toolCallId: 'd', toolName: 'search', input: '{}', providerExecuted: true },
      { type: 'text-delta', id: '0', delta: 'moment.' },
      { type: 'text-end', id: '0' },
    ])
    expect(response?.parts).toEqual([
      {
        type: 'reasoning',
        text: 'Hm.',
        providerData: { own: { id: 'a', signature: 'signed' }, other: { x: 1 } },
      },
      { type: 'text', text: 'One moment.' },
      { type: 'tool-call', toolCallId: 'c', toolName: 'act', input: { a: 1 }, providerData: a },
    ])
  })

  test('has two texts if an ID is used again, and none if a text stayed empty', async () => {
    const response = await responseOf([
      { type: 'text-start', id: '0' },
      { type: 'text-delta', id: '0', delta: 'One.' },
      { type: 'text-end', id: '0' },
      { type: 'text-start', id: '0' },
      { type: 'text-delta', id: '0', delta: '' },
      { type: 'text-end', id: '0' },
      { type: 'text-start', id: '0' },
      { type: 'text-delta', id: '0', delta: 'Two.' },
      { type: 'text-end', id: 'unknown' },
    ])
    expect(response?.parts).toEqual([
      { type: 'text', text: 'One.' },
      { type: 'text', text: 'Two.' },
    ])
  })

  test('keeps text and reasoning with the same ID apart', async () => {
    const response = await responseOf([
      { type: 'reasoning-start', id: '0' },
      { type: 'text-start', id: '0' },
      { type: 'text-delta', id: '0', delta: 'Yes.' },
      { type: 'reasoning-delta', id: '0', delta: 'Hm.' },
    ])
    expect(response?.parts).toEqual([
      { type: 'reasoning', text: 'Hm.' },
      { type: 'text', text: 'Yes.' },
    ])
  })

  test('is accepted if usage and metadata are null', async () => {
    const parts: StreamPart[] = [
      { type: 'text-start', id: '0', providerMetadata: null as never },
      { type: 'text-delta', id: '0', delta: 'Yes.', providerMetadata: { own: null } },
    ]
    const last = (await streamed([...parts, { ...finish, usage: null as never }])).at(-1)
    expect(last).toMatchObject({
      response: { parts: [{ text: 'Yes.' }], usage: { inputTokens: 0, outputTokens: 0 } },
    })
  })

  test('has a text that had no start part', async () => {
    expect((await responseOf([{ type: 'text-delta', delta: 'Yes.' }]))?.parts).toEqual([{ type: 'text', text: 'Yes.' }])
  })

  test('is a refusal if a chat completion has one', async () => {
    const chunk = (delta: object): StreamPart => ({ type: 'raw', rawValue: { choices: [{ delta }] } })
    const refused = await responseOf([chunk({ content: '' }), chunk({ refusal: 'No' }), chunk({})])
    expect(refused).toMatchObject({ parts: [], finishReason: 'content-filter' })
    expect(await responseOf([chunk({ refusal: null }), { type: 'raw' }])).toMatchObject({ finishReason: 'stop' })
  })

  test('has a call whose arguments are not valid JSON, with what the model wrote', async () => {
    const call: StreamPart = { type: 'tool-call', toolCallId: 'c', toolName: 'act', input: '{"a":' }
    expect((await responseOf([call]))?.parts).toMatchObject([
      { toolName: 'act', input: {}, invalidInput: 'They are not valid JSON: {"a":' },
    ])
  })
})

test('while arguments are streamed, empty parts show that the model is working: modelTimeoutMs is measured from part to part', async () => {
  const parts = await streamed([
    { type: 'tool-input-start', id: 'c', toolName: 'act' },
    { type: 'tool-input-delta', id: 'c', delta: '{"a"' },
    { type: 'tool-input-delta', id: 'c', delta: ':1}' },
    { type: 'tool-input-end', id: 'c' },
    { type: 'tool-call', toolCallId: 'c', toolName: 'act', input: '{"a":1}' },
    finish,
  ])
  const working = { type: 'reasoning-delta', text: '' }
  expect(parts).toEqual([working, working, expect.objectContaining({ type: 'finish' })])
})

describe('an answer is cut off if it', () => {
  const cutOff = {
    message: "The answer of model 'small' of provider 'own' was cut off.",
    isRetryable: true,
  }

  test.each([
    ['ends without a finish part', hello.slice(0, -1), 'v3'],
    ['has no finish reason', [...hello.slice(0, -1), { type: 'finish', finishReason: { unified: 'other' } }], 'v3'],
    ['has no finish reason', [...hello.slice(0, -1), { type: 'finish', finishReason: 'unknown' }], 'v2'],
    ['has a finish part without a reason', [...hello.slice(0, -1), { type: 'finish' }], 'v2'],
    [
      'reports an interruption',
      [...hello.slice(0, -1), { type: 'finish', finishReason: { unified: 'interrupted', raw: undefined } }],
      'v4',
    ],
    ['has null as its reason', [...hello.slice(0, -1), { type: 'finish', finishReason: null as never }], 'v3'],
    [
      "has null as the provider's own reason",
      [...hello.slice(0, -1), { type: 'finish', finishReason: { unified: 'other', raw: null as never } }],
      'v3',
    ],
  ])('%s', async (_what, parts, version) => {
    await expect(streamed(parts, version)).rejects.toMatchObject(cutOff)
  })

  test('has its usage in the error, if it was reported', async () => {
    for (const finishReason of [{ unified: 'interrupted' }, { unified: 'other' }]) {
      const last: StreamPart = { type: 'finish', finishReason, usage: { inputTokens: { total: 7 } } }
      await expect(streamed([last], 'v4')).rejects.toMatchObject({
        ...cutOff,
        usage: { inputTokens: 7, outputTokens: 0 },
      })
    }
  })

  test('reports the error that its package has for that', async () => {
    const reported = Object.assign(new Error('Without a finish reason.'), {
      name: 'AI_InvalidResponseDataError',
      data: undefined,
    })
    await expect(streamed([{ type: 'error', error: reported }])).rejects.toMatchObject({ ...cutOff, cause: reported })
  })

  test('but not if it has another reason of the provider', async () => {
    const reason = { unified: 'other', raw: 'pause_turn' }
    expect(await streamed([...hello.slice(0, -1), { type: 'finish', finishReason: reason }])).toHaveLength(3)
  })
})
