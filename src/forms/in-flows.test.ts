/** Side questions and restarts at each phase of a form. Calls, events and failures are in `behaviour/calls.test.ts`. */
import { describe, expect, test } from 'vitest'
import { complete, modelFlow, set } from '../../testing/contract/forms/model-forms.js'
import { bookings } from '../../testing/contract/forms/test-forms.js'
import { step } from '../../testing/contract/side-flows/talk.js'
import { Conversation, type ScriptedReplyFunction } from '../../testing/index.js'
import { back, call, reply, type StepConstructor, type Transition, type Turn, tool } from '../index.js'

const Hours = step('Hours', () => back().withLead('From 9 to 5.'))
/** A side question that takes a message of its own. */
const Survey = step('Survey', ({ entered }) => (entered ? reply('Do you like us?') : back().withLead('Thank you.')))

function aside({ message, step: at }: Turn): Transition | undefined {
  if (at === 'Survey') return undefined
  if (message === 'open?') return call('Hours')
  return message === 'rate' ? call('Survey') : undefined
}

/** Sets what the message says as JSON. */
const modelThatReads: ScriptedReplyFunction = ({ messages }) => {
  const part = messages.at(-1)?.parts[0]
  const said = part?.type === 'text' && part.text.startsWith('{') ? part.text : undefined
  return said === undefined ? 'ok' : { toolCalls: [{ name: 'set_fields', input: JSON.parse(said) }] }
}

const kinds = ['text', 'model'] as const

/** A shop with the appointment, after a first message, with what is said to be at a phase. */
async function shop(kind: (typeof kinds)[number], ...said: readonly string[]) {
  const made = bookings()
  const Booking = kind === 'text' ? made.Booking : made.ModelBooking
  const of = modelFlow([Booking, Hours, Survey], { onMessage: aside })
  const conversation = new Conversation(of, { script: modelThatReads })
  for (const message of ['Hello', ...said]) await conversation.say(message)
  const state = async () => (await conversation.document()).flow.steps.Booking?.state
  return { conversation, state, booked: made.booked, Booking }
}

const answers = Object.entries(complete).map(([name, value]) => `change ${name} to ${value}`)
const review = 'brakes on Tuesday at 9:00, for Ada, phone 123. Right?'

/** What was said at each phase, and the question that is open then. */
const phases: Readonly<Record<string, readonly [readonly string[], string]>> = {
  'the first question': [[], 'What does your bicycle need?'],
  'a later question': [['change name to Ada', 'change repair to brakes'], 'Which day?'],
  'a wrong answer': [['change repair to brakes', 'change day to Sunday'], 'Which day?'],
  'a correction': [[...answers, 'change day'], 'Which day?'],
  'a wrong correction': [[...answers, 'change time to 11:00'], 'When on Tuesday? Free: 9:00, 10:00.'],
  'a dropped field': [[...answers, 'change day to Friday'], 'When on Friday? Free: 10:00, 11:00.'],
  'the review': [answers, review],
  'a no to the review': [[...answers, 'no'], review],
}

describe.each(kinds)('a form by %s', (kind) => {
  describe.each(Object.entries(phases))('at %s', (_phase, [said, question]) => {
    test('comes back from a side question to the same question', async () => {
      const { conversation, state } = await shop(kind, ...said)
      await using _ = conversation
      const before = await state()
      await conversation.say('open?')
      conversation.expectReply(`From 9 to 5.\n\n${question}`).expectStep('Booking')
      expect(await state()).toEqual(before)
      await conversation.say('rate')
      conversation.expectReply('Do you like us?').expectStep('Survey')
      await conversation.say('yes')
      conversation.expectReply(`Thank you.\n\n${question}`).expectStep('Booking')
      expect(await state()).toEqual(before)
    })

    test('goes on after a restart', async () => {
      const { conversation, state, booked } = await shop(kind, ...said)
      await using _ = conversation
      const before = await state()
      await conversation.restart()
      await conversation.say('open?')
      conversation.expectReply(`From 9 to 5.\n\n${question}`)
      expect(await state()).toEqual(before)
      await conversation.restart()
      for (const answer of [...answers, 'change day to Tuesday', 'change time to 9:00']) await conversation.say(answer)
      conversation.expectReply(review)
      await conversation.restart()
      await conversation.say('yes')
      conversation.expectReply('Booked, Ada.').expectCompleted()
      expect(booked).toEqual([complete])
    })
  })

  test('takes its answer right after a side question, by button and by text', async () => {
    const { conversation, Booking } = await shop(kind)
    await using _ = conversation
    await conversation.say('open?')
    await conversation.choose('brakes')
    conversation.expectReply('Which day?').expectState(Booking, { values: { repair: 'brakes' } })
    await conversation.say('open?')
    await conversation.say('change day to Friday')
    conversation.expectState(Booking, { values: { day: 'Friday' } })
  })

  test('is asked a side question before it has begun', async () => {
    const made = bookings()
    const Booking = kind === 'text' ? made.Booking : made.ModelBooking
    await using conversation = new Conversation(modelFlow([Booking, Hours, Survey], { onMessage: aside }), {
      script: modelThatReads,
    })
    await conversation.say('rate')
    await conversation.say('very much')
    conversation
      .expectReply('Thank you.\n\nWhat does your bicycle need?')
      .expectState(Booking, { values: {}, asking: 'repair' })
  })

  test('takes what a page sends while a side question is open', async () => {
    const { conversation, Booking } = await shop(kind, 'rate')
    await using _ = conversation
    await conversation.say('', { event: { name: 'Booking', payload: complete } })
    conversation.expectReply(review).expectState(Booking, { values: complete, reviewing: true })
    await conversation.say('Very much.')
    conversation.expectReply(`Thank you.\n\n${review}`).expectStep('Booking')
    await conversation.say('yes')
    conversation.expectCompleted()
  })
})

test('a model form that is returned to has nothing for its model to read, and needs no answer of it', async () => {
  const { ModelBooking } = bookings()
  const Shop = modelFlow([ModelBooking, Hours], { onMessage: aside })
  await using conversation = new Conversation(Shop, { script: ['ok', 'We also sell coffee.', new Error('down')] })
  await conversation.say('Hello')
  for (const _ of ['answers', 'is down']) {
    await conversation.say('open?')
    conversation
      .expectReply('From 9 to 5.\n\nWhat does your bicycle need?')
      .expectAsked({ user: 'Returned from Hours: From 9 to 5.', tools: [], system: 'Answer with: ok' })
  }
})

describe('a side question from a tool of a model form', () => {
  class Booking extends bookings().ModelBooking {
    override async tools(turn: Turn) {
      const ask = tool({ name: 'hours', description: 'Says when we are open.', execute: () => call('Hours') })
      return [...(await super.tools(turn)), ask]
    }
  }
  const hours = { name: 'hours' }
  const setting = (input: object) => ({ name: 'set_fields', input: { ...input } })
  const of = modelFlow([Booking as unknown as StepConstructor, Hours])

  test('comes back to the same question, and keeps what the message has set before it', async () => {
    const script = ['ok', { toolCalls: [hours] }, 'ok', { toolCalls: [setting({ repair: 'brakes' }), hours] }, 'ok']
    await using conversation = new Conversation(of, { script })
    await conversation.say('Hello')
    await conversation.say('When are you open?')
    conversation
      .expectReply('From 9 to 5.\n\nWhat does your bicycle need?')
      .expectAsked({ user: 'Returned from Hours: From 9 to 5.', tools: ['hours'], system: 'Answer with: ok' })
    await conversation.say('The brakes; and when are you open?')
    conversation.expectReply('From 9 to 5.\n\nWhich day?').expectState('Booking', { values: { repair: 'brakes' } })
  })

  test('at the review, which is asked again; the yes after it counts', async () => {
    const script = [set(complete), 'ok', { toolCalls: [hours] }, 'ok', 'ok']
    await using conversation = new Conversation(of, { script })
    await conversation.say('Brakes on Tuesday at 9, Ada, 123.')
    await conversation.say('When are you open?')
    conversation.expectReply(`From 9 to 5.\n\n${review}`)
    await conversation.say('yes')
    conversation.expectReply('Booked, Ada.').expectCompleted()
  })
})
