// Reasoning, and what a provider needs back: kept with tool calls, and shown to nobody but the provider.
import { describe, expect, test } from 'vitest'
import { flowOf } from '../../../../testing/contract/test-flows.js'
import { Conversation } from '../../../../testing/index.js'
import {
  go,
  type MessagePart,
  type ModelRequest,
  type ModelSelection,
  retry,
  Step,
  type Turn,
  tool,
} from '../../../index.js'

const act = tool({ name: 'act', description: 'Acts.', execute: () => 'Done.' })

class Talk extends Step {
  static override readonly id: string = 'Talk'
  override model(): ModelSelection {
    return { provider: 'raw', name: 'small' }
  }
  override tools() {
    return [act]
  }
}

class Moved extends Talk {
  static override readonly id: string = 'Moved'
}

/** A conversation whose model answers just that; what it received is kept. */
function talkTo(
  step: typeof Talk,
  responses: readonly unknown[],
): Conversation & { readonly told: ModelRequest['messages'][] } {
  const told: ModelRequest['messages'][] = []
  const generate = async ({ messages }: ModelRequest): Promise<never> => {
    told.push([...messages])
    return responses[told.length - 1] as never
  }
  const resolve = () => ({ provider: 'raw', name: 'small', generate })
  return Object.assign(new Conversation(flowOf(step, Moved), { providers: [{ provider: 'raw', resolve }] }), { told })
}

const providerData = { raw: { signature: 'signed', steps: [1, 2] } }
const thought: MessagePart = { type: 'reasoning', text: 'Hm.', providerData }
const words: MessagePart = { type: 'text', text: 'Hello.', providerData }
const call: MessagePart = { type: 'tool-call', toolCallId: '1', toolName: 'act', input: {}, providerData }
const plain: MessagePart = { type: 'text', text: 'Hello.' }

const memoryOf = async (chat: Conversation) =>
  (await chat.document()).flow.memory.Talk?.messages.map(({ role, parts }) => ({ role, parts }))

describe('reasoning and provider data', () => {
  test('with tool calls are stored as they came, frozen, and sent to the model again', async () => {
    const chat = talkTo(Talk, [{ parts: [thought, words, call] }, { parts: [plain] }])
    await chat.say('Hi')
    chat.expectReply('Hello.')
    const [, message] = chat.told[1] ?? []
    expect(message?.parts).toEqual([thought, words, call])
    expect(message?.parts.every((part) => Object.isFrozen(part) && 'providerData' in part)).toBe(true)
    const [part] = message?.parts ?? []
    const kept = part?.type === 'reasoning' ? part.providerData : undefined
    expect(kept).toEqual(providerData)
    expect(kept).not.toBe(providerData)
    expect(Object.isFrozen(kept?.raw)).toBe(true)
    expect((await memoryOf(chat))?.[1]).toEqual({ role: 'assistant', parts: [thought, words, call] })
  })

  test('of an answer are neither sent nor stored', async () => {
    const chat = talkTo(Talk, [{ parts: [thought, words] }])
    await chat.say('Hi')
    chat.expectReply('Hello.')
    expect((await memoryOf(chat))?.[1]).toEqual({ role: 'assistant', parts: [plain] })
  })

  test('do not reach onReply, nor the memory of an answer that moves on or is sent back', async () => {
    const received: string[] = []
    class Checking extends Talk {
      override onReply(text: string, _turn: Turn) {
        received.push(text)
        return received.length === 1 ? retry('Again.') : go(Moved)
      }
    }
    const chat = talkTo(Checking, [{ parts: [thought, words] }, { parts: [thought, words] }, { parts: [plain] }])
    await chat.say('Hi')
    expect(received).toEqual(['Hello.', 'Hello.'])
    expect(await memoryOf(chat)).toEqual([
      { role: 'user', parts: [{ type: 'text', text: 'Hi' }] },
      { role: 'assistant', parts: [plain] },
      { role: 'user', parts: [{ type: 'text', text: 'Again.' }] },
      { role: 'assistant', parts: [plain] },
    ])
  })

  const failed = "Model 'small' of provider 'raw' failed."
  test.each([
    ['a text', 'signed'],
    ['null', null],
    ['a list', []],
    ['what is not JSON', { at: new Date(0) }],
  ])('that are %s fail the turn', async (_what, wrong) => {
    const chat = talkTo(Talk, [{ parts: [{ ...words, providerData: wrong }] }])
    await chat.say('Hi')
    chat.expectError('MODEL_ERROR', `${failed} It answered with providerData that is not a JSON object.`)
  })

  test('reasoning without text is malformed', async () => {
    const chat = talkTo(Talk, [{ parts: [{ type: 'reasoning' }] }])
    await chat.say('Hi')
    chat.expectError('MODEL_ERROR')
  })
})

describe('what a call cost in detail', () => {
  const usage = { inputTokens: 10, outputTokens: 5 }

  test('is added up where a provider reports it, and emitted to listeners', async () => {
    const chat = talkTo(Talk, [
      { parts: [plain], usage: { ...usage, cachedInputTokens: 4 } },
      { parts: [plain], usage },
      { parts: [plain], usage: { ...usage, cachedInputTokens: 1, reasoningTokens: 2 } },
      { parts: [plain], usage: { ...usage, cachedInputTokens: -1, reasoningTokens: 'two' } },
    ])
    const ends: object[] = []
    await chat.open()
    chat.engine.on('model:end', ({ inputTokens, outputTokens, cachedInputTokens, reasoningTokens }) =>
      ends.push({ inputTokens, outputTokens, cachedInputTokens, reasoningTokens }),
    )
    for (const userMessage of ['one', 'two', 'three', 'four']) await chat.say(userMessage)
    const total = { modelCalls: 4, inputTokens: 40, outputTokens: 20, cachedInputTokens: 5, reasoningTokens: 2 }
    expect((await chat.document()).usage).toEqual(total)
    expect(ends).toEqual([
      { ...usage, cachedInputTokens: 4 },
      usage,
      { ...usage, cachedInputTokens: 1, reasoningTokens: 2 },
      { ...usage, cachedInputTokens: 0, reasoningTokens: 0 },
    ])
  })

  test('is absent where no provider reports it', async () => {
    const chat = talkTo(Talk, [{ parts: [plain], usage }])
    await chat.say('Hi')
    expect((await chat.document()).usage).toEqual({ modelCalls: 1, ...usage })
  })
})
