/** Forms that a model reads: what it can set, what it cannot do, and what the form says after it. */
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import {
  begun,
  complete,
  modelFlow,
  modelForm,
  review,
  reviewed,
  set,
} from '../../testing/contract/forms/model-forms.js'
import { bookings } from '../../testing/contract/forms/test-forms.js'
import { Conversation } from '../../testing/index.js'
import { finish, type Turn } from '../index.js'
import { field } from './index.js'

describe('a message', () => {
  test('gives several fields, and the form asks for the rest in its own words', async () => {
    const { conversation, ModelBooking } = await begun(
      set({ day: 'Friday', name: 'Ada' }),
      'ok',
      set({ repair: 'brakes' }),
      'ok',
    )
    await using _ = conversation
    conversation.expectReply('What does your bicycle need?')
    await conversation.say('On Friday, I am Ada.')
    conversation
      .expectReply('What does your bicycle need?')
      .expectState(ModelBooking, { values: { day: 'Friday', name: 'Ada' } })
    await conversation.say('The brakes.')
    conversation.expectReply('When on Friday? Free: 10:00, 11:00.').expectState(ModelBooking, { asking: 'time' })
  })

  test('that is the first of the form gives fields, too', async () => {
    const { ModelBooking } = bookings()
    await using conversation = new Conversation(modelFlow([ModelBooking]), {
      script: [set(complete), 'ok'],
    })
    await conversation.say('Brakes on Tuesday at 9, Ada, 123.')
    conversation.expectReply(review).expectState(ModelBooking, { values: complete, reviewing: true })
  })

  test('corrects one field at the review, which is asked again', async () => {
    const { conversation, ModelBooking, booked } = await reviewed(set({ time: '10:00' }), 'ok', 'ok')
    await using _ = conversation
    await conversation.say('No, it was 10.')
    conversation.expectReply('brakes on Tuesday at 10:00, for Ada, phone 123. Right?')
    conversation.expectState(ModelBooking, { values: { ...complete, time: '10:00' }, reviewing: true })
    await conversation.say('yes')
    conversation.expectReply('Booked, Ada.').expectCompleted()
    expect(booked).toEqual([{ ...complete, time: '10:00' }])
  })

  test('drops a dependent field, which is asked again with the reason', async () => {
    const { conversation } = await reviewed(set({ day: 'Friday' }), 'ok')
    await using _ = conversation
    await conversation.say('Friday is better.')
    conversation
      .expectReply('9:00 is not free on Friday. When on Friday? Free: 10:00, 11:00.')
      .expectToolCalls([{ name: 'set_fields', output: { dropped: { time: '9:00 is not free on Friday.' } } }])
  })

  test('leaves an optional field empty once it is asked', async () => {
    const { phone: __, ...others } = complete
    const { conversation, ModelBooking } = await begun(
      set({ ...others, phone: null }),
      'ok',
      set({ phone: null }),
      'ok',
    )
    await using _ = conversation
    await conversation.say('Brakes on Tuesday at 9, Ada, and you need no phone.')
    conversation.expectReply('Your phone number? Or skip.').expectState(ModelBooking, { skipped: undefined })
    await conversation.say('I said, none.')
    conversation
      .expectReply('brakes on Tuesday at 9:00, for Ada, phone none. Right?')
      .expectState(ModelBooking, { skipped: ['phone'] })
  })

  test('clears an optional field with null, and cannot clear a required one', async () => {
    const { conversation, ModelBooking } = await reviewed(set({ phone: null }), 'ok', set({ name: null }), 'ok')
    await using _ = conversation
    await conversation.say('No phone, please.')
    conversation
      .expectReply('brakes on Tuesday at 9:00, for Ada, phone none. Right?')
      .expectState(ModelBooking, { skipped: ['phone'] })
    await conversation.say('And no name.')
    conversation.expectReply('The name is needed. Your name?').expectState(ModelBooking, { values: { name: 'Ada' } })
    conversation.expectToolCalls([
      { name: 'set_fields', output: { accepted: [], refused: { name: 'The name is needed.' } } },
    ])
  })

  test('without a value has the model answer, before the question', async () => {
    const { conversation } = await begun(' We are open until 5. ', 'ok', 'OK.', 'Okay', '"ok"', 'Okay, thanks.')
    await using _ = conversation
    const question = 'What does your bicycle need?'
    await conversation.say('How long are you open?')
    conversation.expectReply(`We are open until 5. ${question}`)
    for (const said of ['Hm.', 'Hm?', 'Hm!', 'Hm…']) {
      await conversation.say(said)
      conversation.expectReply(question)
    }
    await conversation.say('Thanks.')
    conversation.expectReply(`Okay, thanks. ${question}`)
  })

  test('whose call sets no field is like one without a call', async () => {
    const { conversation, ModelBooking } = await begun(
      set({}),
      'We are open until 5.',
      set({ colour: 'red' }),
      'In any colour.',
    )
    await using _ = conversation
    const question = 'What does your bicycle need?'
    await conversation.say('How long are you open?')
    conversation.expectReply(`We are open until 5. ${question}`).expectState(ModelBooking, { wrong: undefined })
    await conversation.say('In red?')
    conversation.expectReply(`In any colour. ${question}`).expectState(ModelBooking, { wrong: undefined })
  })

  test('with a value has nothing said that the model says', async () => {
    const { conversation } = await begun(set({ repair: 'brakes' }), 'All done! Your brakes are repaired.')
    await using _ = conversation
    await conversation.say('The brakes.')
    conversation.expectReply('Which day?')
  })
})

describe('a value that is not right', () => {
  test('because a model passes null for all that it does not know goes back to the model alone', async () => {
    const unknown = { day: null, time: null, name: null, phone: null }
    const { conversation, ModelBooking } = await begun(set({ ...unknown, repair: 'brakes' }), 'ok')
    await using _ = conversation
    await conversation.say('The brakes.')
    const reason = 'It was not asked yet.'
    const refused = { day: reason, time: reason, name: reason, phone: reason }
    conversation
      .expectToolCalls([{ name: 'set_fields', output: { accepted: ['repair'], refused } }])
      .expectReply('Which day?')
      .expectState(ModelBooking, { values: { repair: 'brakes' }, skipped: undefined, asking: 'day', wrong: undefined })
  })

  test('goes back to the model with the reason, keeps the old one, and is asked again', async () => {
    const { conversation, ModelBooking } = await reviewed(set({ day: 'Sunday', name: 'Grace' }), 'ok')
    await using _ = conversation
    await conversation.say('On Sunday, for Grace.')
    conversation
      .expectReply('We are closed on Sunday. Which day?')
      .expectState(ModelBooking, { values: { ...complete, name: 'Grace' }, asking: 'day', reviewing: undefined })
      .expectToolCalls([
        {
          name: 'set_fields',
          output: { accepted: ['name'], refused: { day: 'We are closed on Sunday.' }, dropped: {} },
        },
      ])
  })

  test('that a second call mends is no problem to the user, and no wrong answer', async () => {
    const { conversation, ModelBooking } = await begun(set({ day: 'on friday' }), set({ day: 'Friday' }), 'ok')
    await using _ = conversation
    await conversation.say('On Friday.')
    conversation.expectReply('What does your bicycle need?')
    conversation.expectState(ModelBooking, { values: { day: 'Friday' }, asking: 'repair', wrong: undefined })
  })

  test('that a second call makes no better is said once, with its last reason', async () => {
    const { conversation } = await begun(set({ day: 'later' }), set({ day: 'Sunday' }), 'ok')
    await using _ = conversation
    await conversation.say('On Sunday.')
    conversation.expectReply('We are closed on Sunday. Which day?')
  })

  test('in a second call does not undo what the first has set', async () => {
    const { conversation, ModelBooking } = await begun(set({ day: 'Friday' }), set({ time: 'noon' }), 'ok')
    await using _ = conversation
    await conversation.say('On Friday at noon.')
    conversation.expectReply('Please say the time like 9:30. When on Friday? Free: 10:00, 11:00.')
    conversation.expectState(ModelBooking, { values: { day: 'Friday' } })
  })

  test('of no field goes back, and is not stored', async () => {
    const { conversation, ModelBooking } = await begun(set({ colour: 'red', constructor: 'x', name: 'Ada' }), 'ok')
    await using _ = conversation
    await conversation.say('Ada, in red.')
    const reason = 'There is no such field.'
    conversation
      .expectToolCalls([
        { name: 'set_fields', output: { accepted: ['name'], refused: { colour: reason, constructor: reason } } },
      ])
      .expectReply('What does your bicycle need?')
    const { flow: stored } = await conversation.document()
    expect(stored.steps[ModelBooking.id]?.state).toMatchObject({ values: { name: 'Ada' } })
    expect(Object.keys(stored.steps[ModelBooking.id]?.state.values as object)).toEqual(['name'])
  })

  test.each([['day'], 'Friday', 7].map((input) => [input]))('that is no object is refused: %j', async (input) => {
    const { conversation, ModelBooking } = await begun(set(input), 'ok')
    await using _ = conversation
    await conversation.say('Friday.')
    conversation
      .expectToolCalls([{ name: 'set_fields', isError: true, output: /object/ }])
      .expectState(ModelBooking, { values: {} })
      .expectReply('What does your bicycle need?')
  })

  test('three times in a row is given up, and a right one starts the count again', async () => {
    const day = field(z.string().endsWith('day', 'That is no day.'), { ask: 'Which day?' })
    const gaveUp: string[] = []
    const onGaveUp = ({ message }: Turn) => {
      gaveUp.push(message)
      return finish('I give up.')
    }
    const name = field(z.string(), { ask: 'Name?' })
    const wrong = [set({ day: 'x' }), 'ok']
    const script = ['ok', ...wrong, ...wrong, set({ name: 'Ada' }), 'ok', ...wrong, ...wrong, ...wrong]
    await using conversation = new Conversation(modelFlow([modelForm({ day, name }, { onGaveUp })]), {
      script,
    })
    for (const message of ['Hello', '1', '2', 'Ada', '3', '4']) await conversation.say(message)
    expect(gaveUp).toEqual([])
    await conversation.say('5')
    conversation.expectReply('I give up.').expectCompleted()
    expect(gaveUp).toEqual(['5'])
  })
})
