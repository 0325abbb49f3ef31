import { expectTypeOf, test } from 'vitest'
import { z } from 'zod'
import { FormStep, field, ModelFormStep } from '../../src/forms/index.js'
import { type AnyFlowError, finish, type JsonValue, type ReplyPart, type RunResponseType } from '../../src/index.js'
import { choices } from '../../src/parts/index.js'
import { AskName, Confirm, Onboarding } from '../contract/onboarding.js'
import {
  Conversation,
  type ConversationReply,
  callTool,
  coverageOf,
  retryAs,
  runStep,
  type ToolDouble,
} from '../index.js'
import type { ConversationToolCall } from './turns/conversation-turn.js'

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
  conversation.expectState('Address/Street', { name: /^Elm/, more: { number: 1 } })
})

test('a form is filled in with what a user says', () => {
  expectTypeOf(
    conversation.fill({ day: 'Friday', guests: 2, window: true, phone: undefined, note: null }),
  ).toEqualTypeOf<Promise<ConversationReply>>()
  void conversation.fill({ day: 'Friday' }, { owner: 'Ada', serverContext: { shop: 1 } })
  // @ts-expect-error not what a user says
  void conversation.fill({ day: new Date() })
  // @ts-expect-error a key is for one message
  void conversation.fill({ day: 'Friday' }, { key: 'day' })
  // @ts-expect-error a button is one message
  void conversation.fill({ day: 'Friday' }, { choice: { turn: 1, name: 'day', value: 'a' } })
})

test('the value that is expected of a field is what its schema returns', () => {
  class Wish extends FormStep {
    override fields() {
      return {
        day: field(z.enum(['Friday', 'Sunday']), { ask: 'Which day?' }),
        guests: field(z.coerce.number(), { ask: 'How many?' }),
        place: field(z.object({ street: z.string(), town: z.string() }), { ask: 'Where?', optional: true }),
      }
    }
    override done() {
      return finish('Done.')
    }
  }
  class ReadWish extends ModelFormStep {
    override fields() {
      return { time: field(z.string(), { ask: 'When?' }) }
    }
    override done() {
      return finish('Done.')
    }
  }
  expectTypeOf(conversation.expectField(Wish, 'day', 'Friday')).toEqualTypeOf<Conversation>()
  conversation.expectField(Wish, 'day', /^Fri/).expectField(Wish, 'day', undefined)
  conversation.expectField(Wish, 'guests', 4).expectField(Wish, 'place', { town: 'Ulm' })
  conversation.expectField(ReadWish, 'time', '10')
  conversation.expectField('Address/Wish', 'anything', { at: ['all'] })
  // @ts-expect-error a slip in a name
  conversation.expectField(Wish, 'dya', 'Friday')
  // @ts-expect-error not one of the enum
  conversation.expectField(Wish, 'day', 'Monday')
  // @ts-expect-error another type
  conversation.expectField(Wish, 'guests', '4')
  // @ts-expect-error a slip in a part
  conversation.expectField(Wish, 'place', { twon: 'Ulm' })
  // @ts-expect-error no form
  conversation.expectField(AskName, 'name', 'Ada')
})

test('parts are expected with some of their fields', () => {
  conversation.expectParts([
    choices('day', []),
    { type: 'card', title: /^Order/ },
    { options: [{ label: 'Tuesday' }] },
    {},
  ])
  expectTypeOf(conversation.reply.parts).toEqualTypeOf<readonly ReplyPart[] | undefined>()
  expectTypeOf(conversation.choose('Tuesday', { key: 'day' })).toEqualTypeOf<Promise<ConversationReply>>()
  // @ts-expect-error no such part
  conversation.expectParts([{ type: 'button' }])
  // @ts-expect-error a slip in a name
  conversation.expectParts([{ titel: 'Order' }])
  // @ts-expect-error the button is the choice
  void conversation.choose('Tuesday', { choice: { turn: 1, name: 'day', value: 'a' } })
})

test('a conversation may begin in a step that others have called', () => {
  Conversation.at(Onboarding, { step: Confirm, callers: [AskName, 'Address/Street'] })
  // @ts-expect-error a list
  Conversation.at(Onboarding, { step: Confirm, callers: AskName })
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
  expectTypeOf<ConversationReply['error']>().toEqualTypeOf<AnyFlowError | undefined>()
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

test('a conversation begins at a step with the states of steps', () => {
  const begun = Conversation.at(Onboarding, { step: AskName, state: { tries: [1] }, script: ['Hello.'] })
  expectTypeOf(begun).toEqualTypeOf<Conversation>()
  Conversation.at(Onboarding, { step: 'Confirm', stateOf: [[AskName, { name: 'Ada' }]], history: [['Hello', 'Hi.']] })
  Conversation.at(Onboarding, { step: Confirm, memory: [{ role: 'user', text: 'Hello' }] })
  // @ts-expect-error the step is needed
  Conversation.at(Onboarding, {})
  // @ts-expect-error a slip in a name
  Conversation.at(Onboarding, { step: AskName, state: { nmae: 'Ada' } })
  // @ts-expect-error another type
  Conversation.at(Onboarding, { step: AskName, state: { name: 1 } })
  // @ts-expect-error a slip in the state of another step
  Conversation.at(Onboarding, { step: Confirm, stateOf: [[AskName, { nmae: 'Ada' }]] })
  // @ts-expect-error no role
  Conversation.at(Onboarding, { step: Confirm, memory: [{ role: 'system', text: 'Hello' }] })
})

test('a step that ran alone has its state', async () => {
  const { reply, next, state } = await runStep(AskName, { message: 'Ada', state: { tries: [1] } })
  expectTypeOf(reply).toEqualTypeOf<string>()
  expectTypeOf(next).toEqualTypeOf<string | undefined>()
  expectTypeOf(state).toEqualTypeOf<{ name?: string; tries?: number[] }>()
  // @ts-expect-error a slip in a name
  void runStep(AskName, { state: { nmae: 'Ada' } })
  // @ts-expect-error a slip in the state of another step
  void runStep(Confirm, { stateOf: [[AskName, { nmae: 'Ada' }]] })
})

test('a tool that was called alone has an output, and the state of its step', async () => {
  const { output, state } = await callTool('capture_name', { name: 'Ada' }, { step: AskName })
  expectTypeOf(output).toEqualTypeOf<JsonValue | undefined>()
  expectTypeOf(state).toEqualTypeOf<{ name?: string; tries?: number[] }>()
  // @ts-expect-error arguments are JSON
  void callTool('capture_name', { name: new Date() }, { step: AskName })
  // @ts-expect-error the script is its own
  void callTool('capture_name', {}, { step: AskName, script: [] })
})

test('a step and a tool alone count for no coverage', () => {
  const coverage = coverageOf(Onboarding)
  // @ts-expect-error of whole flows
  void runStep(Confirm, { coverage })
  // @ts-expect-error of whole flows
  void callTool('capture_name', {}, { step: AskName, coverage })
})
