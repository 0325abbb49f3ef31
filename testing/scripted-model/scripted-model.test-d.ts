import { expectTypeOf, test } from 'vitest'
import type { FlowError, FlowStreamEvent, ModelResponse, ModelStreamPart, RunResponseType } from '../../src/index.js'
import { Onboarding } from '../contract/onboarding.js'
import {
  Conversation,
  type ConversationReply,
  type ConversationStream,
  type ModelScript,
  type RecordedRequest,
  ScriptedModel,
  scriptedProvider,
} from '../index.js'

test('a script says how an answer comes, or does not', () => {
  const script: ModelScript = [
    { chunks: ['Hel', 'lo'], chunkDelayMs: 10, cutAfter: 1 },
    { text: 'Hello', stallAfter: 0, reasoning: 'Hm.' },
    { failure: 503 },
    { failure: { statusCode: 429, retryAfterMs: 2000, message: 'Too many.' } },
    { output: { guests: 4, days: ['Friday'] } },
    { output: null },
  ]
  expectTypeOf(script).toExtend<ModelScript>()
  // @ts-expect-error pieces of text are a list
  const pieces: ModelScript = [{ chunks: 'Hello' }]
  // @ts-expect-error not JSON
  const output: ModelScript = [{ output: new Date() }]
  // @ts-expect-error headers are made from retryAfterMs
  const headers: ModelScript = [{ failure: { responseHeaders: {} } }]
  void [pieces, output, headers]
})

test('a script in a variable may call tools with different inputs', () => {
  // What the compiler infers for [{ toolCalls: [{ name: 'find', input: { order: 1 } }, ...] }, 'Done.'].
  interface Find {
    name: string
    input: { order: number; amount?: undefined }
  }
  interface Refund {
    name: string
    input: { amount: string; order?: undefined }
  }
  const script: (string | { toolCalls: (Find | Refund)[] })[] = []
  expectTypeOf(scriptedProvider).toBeCallableWith(script)
  expectTypeOf(scriptedProvider).toBeCallableWith(() => ({ toolCalls: [] as (Find | Refund)[] }))
})

test('a model answers whole and in pieces, and records how', () => {
  const model = new ScriptedModel([])
  expectTypeOf(model.generate).returns.toEqualTypeOf<Promise<ModelResponse>>()
  expectTypeOf(model.stream).returns.toExtend<AsyncIterable<ModelStreamPart>>()
  expectTypeOf<RecordedRequest['streamed']>().toEqualTypeOf<boolean>()
  expectTypeOf<RecordedRequest['outcome']>().toEqualTypeOf<'answered' | 'failed' | 'cut' | 'stopped' | undefined>()
  expectTypeOf<RecordedRequest>().not.toHaveProperty('signal')
  model.expectAsked({ output: { required: ['guests'] } })
  model.expectAsked({ output: false })
  // @ts-expect-error a schema, or false
  model.expectAsked({ output: true })
})

test('a stream knows the type of the piece that it is read up to', () => {
  const stream = new Conversation(Onboarding).stream('Hello', { owner: 'ada' })
  expectTypeOf(stream).toEqualTypeOf<ConversationStream>()
  expectTypeOf(stream.next()).toEqualTypeOf<Promise<FlowStreamEvent | undefined>>()
  expectTypeOf(stream.until('text-delta')).resolves.toEqualTypeOf<{
    readonly type: 'text-delta'
    readonly text: string
  }>()
  expectTypeOf(stream.until('error')).resolves.toExtend<{
    readonly error: FlowError
    readonly response: RunResponseType
  }>()
  expectTypeOf(stream.reply()).toEqualTypeOf<Promise<ConversationReply>>()
  expectTypeOf(stream).toExtend<AsyncIterable<FlowStreamEvent>>()
  // @ts-expect-error no piece has this type
  stream.until('text').catch(() => undefined)
  // @ts-expect-error the text is an argument
  new Conversation(Onboarding).stream('Hello', { userMessage: 'Hello' })
})
