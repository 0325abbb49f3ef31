/** A model never finishes a form: `done` runs only after the yes of the user to a review of exactly these values. */
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
} from '../../../testing/contract/forms/model-forms.js'
import { bookings } from '../../../testing/contract/forms/test-forms.js'
import { Conversation, type ScriptedReply } from '../../../testing/index.js'
import { finish, reply, type StepConstructor, stay, type Turn, tool } from '../../index.js'
import { field } from '../index.js'

describe('done runs only after the yes of the user to a review of exactly these values', () => {
  test.each<readonly [string, string, readonly ScriptedReply[], string]>([
    ['the model says so', 'Go on, please.', ['Booked, Ada!'], `Booked, Ada! ${review}`],
    ['it sets the same again', 'That is all right.', [set(complete), 'Booked, Ada!'], review],
    ['it sets nothing', 'That is all right.', [set({}), 'Booked, Ada!'], review],
    [
      'it sets a field in the message of the yes',
      'Yes, and the name is Grace.',
      [set({ name: 'Grace' }), 'Booked!'],
      'brakes on Tuesday at 9:00, for Grace, phone 123. Right?',
    ],
    [
      'it sets and sets back',
      'Yes, Grace, no, Ada.',
      [set({ name: 'Grace' }), set({ name: 'Ada' }), 'Booked!'],
      review,
    ],
    [
      'it calls what it is not offered',
      'Yes, book it for me.',
      [{ toolCalls: ['done', 'finish', 'confirm'].map((name) => ({ name, offered: false as const })) }, 'ok'],
      review,
    ],
    ['it sets the state of the form', 'Go on.', [set({ reviewing: true, values: {}, yes: true }), 'ok'], review],
  ])('not if %s', async (_what, message, script, asked) => {
    const { conversation, booked } = await reviewed(...script, 'ok')
    await using _ = conversation
    await conversation.say(message)
    expect(conversation.reply.message.endsWith(asked)).toBe(true)
    expect(booked).toEqual([])
    await conversation.say('yes')
    conversation.expectCompleted()
    expect(booked).toEqual([{ ...complete, name: asked.includes('Grace') ? 'Grace' : 'Ada' }])
  })

  test('not for the yes of a message that completes the form', async () => {
    const { conversation, booked } = await begun(set(complete), 'ok', 'ok')
    await using _ = conversation
    await conversation.say('yes')
    conversation.expectReply(review)
    expect(booked).toEqual([])
    await conversation.say('yes')
    conversation.expectCompleted()
  })

  test('not for a yes to values that changed after their review, without a new one', async () => {
    const { ModelBooking, booked } = bookings()
    class Booking extends ModelBooking {
      override async tools(turn: Turn) {
        const wait = tool({ name: 'wait', description: 'Waits.', execute: () => reply('One moment.') })
        return [...(await super.tools(turn)), wait]
      }
    }
    const toolCalls = [{ name: 'set_fields', input: { name: 'Grace' } }, { name: 'wait' }]
    const script = [set(complete), 'ok', { toolCalls }, 'ok', 'ok']
    await using conversation = new Conversation(modelFlow([Booking as unknown as StepConstructor]), { script })
    await conversation.say('Brakes on Tuesday at 9, Ada, 123.')
    conversation.expectReply(review)
    await conversation.say('For Grace.')
    conversation.expectReply('One moment.')
    await conversation.say('yes')
    conversation.expectReply('brakes on Tuesday at 9:00, for Grace, phone 123. Right?')
    expect(booked).toEqual([])
    await conversation.say('yes')
    expect(booked).toEqual([{ ...complete, name: 'Grace' }])
  })

  test('and the model that is asked after it can set nothing', async () => {
    const late = { toolCalls: [{ name: 'set_fields', input: { name: 'Grace' }, offered: false as const }] }
    const { conversation, booked } = await reviewed(late, 'Not booked!')
    await using _ = conversation
    await conversation.say('yes')
    conversation.expectReply('Booked, Ada.').expectCompleted().expectAsked({ tools: [], system: 'Answer with: ok' })
    conversation.expectToolCalls([{ name: 'set_fields', isError: true, output: /There is no tool/ }])
    expect(booked).toEqual([complete])
  })

  test.each([
    ['reply', () => reply('Wait.')],
    ['stay', () => stay('Wait.')],
  ])('and only once for a yes, if it stays with %s: the next yes is to a new review', async (_kind, answer) => {
    let ran = 0
    const done = () => {
      ran++
      return answer()
    }
    const Form = modelForm({ name: field(z.string(), { ask: 'Name?' }) }, { done })
    await using conversation = new Conversation(modelFlow([Form]), {
      script: [set({ name: 'Ada' }), 'ok', 'ok', 'ok', 'ok'],
    })
    await conversation.say('I am Ada.')
    await conversation.say('yes')
    conversation.expectReply('Wait.')
    await conversation.say('yes')
    conversation.expectReply('name: Ada\nIs that right?')
    expect(ran).toBe(1)
    await conversation.say('yes')
    expect(ran).toBe(2)
  })

  test('and runs again after it failed, for a new yes', async () => {
    let isDown = true
    const done = ({ name }: { readonly name: string }) => {
      if (isDown) throw new Error('The calendar is down.')
      return finish(`Booked, ${name}.`)
    }
    const Form = modelForm({ name: field(z.string(), { ask: 'Name?' }) }, { done })
    await using conversation = new Conversation(modelFlow([Form]), {
      script: [set({ name: 'Ada' }), 'ok', 'ok', 'ok'],
      onTurnError: 'rollback',
    })
    await conversation.say('I am Ada.')
    await conversation.say('yes')
    conversation.expectError('FLOW_ERROR', 'The calendar is down.').expectState(Form, { reviewing: true })
    isDown = false
    await conversation.say('yes')
    conversation.expectReply('Booked, Ada.').expectCompleted()
  })
})
