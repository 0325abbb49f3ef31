import { expectTypeOf, test } from 'vitest'
import { z } from 'zod'
import type { FlowError, JsonValue, RunResponseType } from '../../src/index.js'
import { AskName, Confirm, Onboarding } from '../contract/onboarding.js'
import { Conversation, type ConversationReply, type ConversationToolCall, retryAs, type ToolDouble } from '../index.js'

const conversation = new Conversation(Onboarding)

test('the state that is expected is the state of the step', () => {
  conversation.expectState(AskName, { name: 'Ada Lovelace' })
  conversation.expectState(AskName, { name: /^Ada/, tries: [1] })
  conversation.expectState(AskName, { name: undefined })
  conversation.expectState(AskName, {})
  // @ts-expect-error a slip in a name
  conversation.expectState(AskName, { nmae: 1 })
  // @ts-expect-error another type
  conversation.expectState(AskName, { name: 1 })
  // @ts-expect-error an entry of another type
  conversation.expectState(AskName, { tries: ['1'] })
  // @ts-expect-error no step
  conversation.expectState(Onboarding, {})
})

test('a reply is a text, a RegExp or a schema', () => {
  conversation.expectReply('Hello.').expectReply(/Hello/).expectReply(z.object({}))
  // @ts-expect-error not any object
  conversation.expectReply({ message: 'Hello.' })
})

test('a code is one of the engine', () => {
  conversation.expectError('MODEL_ERROR', /overloaded/)
  // @ts-expect-error no code
  conversation.expectError('MODEL_EROR')
})

test('expectations chain, and what waits is a promise', () => {
  expectTypeOf(conversation.expectStep(Confirm)).toEqualTypeOf<Conversation>()
  expectTypeOf(conversation.say('Hello')).toEqualTypeOf<Promise<ConversationReply>>()
  expectTypeOf(conversation.fork()).toEqualTypeOf<Promise<Conversation>>()
  expectTypeOf<ConversationReply>().toExtend<RunResponseType>()
  expectTypeOf<ConversationReply['error']>().toEqualTypeOf<FlowError | undefined>()
  expectTypeOf<ConversationToolCall['input']>().toEqualTypeOf<JsonValue>()
})

test('options are those of the engine, and the ones a conversation takes over are not among them', () => {
  new Conversation(Onboarding, { script: ['Hello.'], limits: { turnTimeoutMs: 1 }, config: { language: 'en' } })
  new Conversation(Onboarding, { script: { AskName: ['Hello.'], Confirm: ({ origin }) => origin.stepId } })
  // @ts-expect-error a reply for a step is a list or a function
  new Conversation(Onboarding, { script: { AskName: 'Hello.' } })
  // @ts-expect-error the store is made by createStore
  new Conversation(Onboarding, { sessionStore: undefined })
  // @ts-expect-error the clock must be one that a test can move
  new Conversation(Onboarding, { clock: { now: () => 0, setTimer: () => () => undefined } })
})

test('a double is a value, an error, a list or a function of narrower arguments', () => {
  const doubles: ToolDouble[] = [1, null, { a: [1] }, [1, new Error('no')], new Error('no')]
  doubles.push(
    ({ name }: { name: string }) => name,
    (args, turn) => [args.name, turn.number],
  )
  // @ts-expect-error not JSON
  doubles.push(new Date())
})

test('a message may have a key and a fault, and a stream no fault', () => {
  expectTypeOf(conversation.say('Pay', { key: 'k', fault: retryAs('resume', { cutAfter: 1 }) })).toEqualTypeOf<
    Promise<ConversationReply>
  >()
  conversation.stream('Pay', { key: 'k' })
  // @ts-expect-error a stream is cut by stop()
  conversation.stream('Pay', { fault: retryAs('no-key') })
  // @ts-expect-error no such client
  retryAs('same')
  // @ts-expect-error the key has one name here
  void conversation.say('Pay', { idempotencyKey: 'k' })
})

test('messages at once are texts or more, and their outcomes replies or codes', () => {
  expectTypeOf(conversation.atOnce(['a', { text: 'b', key: 'k' }])).toEqualTypeOf<
    Promise<readonly ConversationReply[]>
  >()
  conversation
    .expectReplies(['A', /B/, z.object({}), { reply: 'A', replayed: true }, { code: 'SESSION_BUSY', reply: /busy/ }])
    .expectReplayed()
    .expectRanOnce('payment')
  // @ts-expect-error no code
  conversation.expectReplies([{ code: 'BUSY' }])
  // @ts-expect-error a fault is for one message
  void conversation.atOnce([{ text: 'a', fault: retryAs('no-key') }])
  conversation.dieAfterEffect('refund', { before: 'result' })
  // @ts-expect-error no such moment
  conversation.dieAfterEffect('refund', { before: 'reply' })
})
