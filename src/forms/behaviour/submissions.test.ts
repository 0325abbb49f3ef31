/** What a page sends: the user's event of the form. */
import { describe, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { bookings, flowOfForm, formOf, said, stored, submit } from '../../../testing/contract/forms/test-forms.js'
import { flow, step } from '../../../testing/contract/side-flows/talk.js'
import { Conversation } from '../../../testing/index.js'
import { event, go, type JsonValue, reply, type Turn } from '../../index.js'
import { field } from '../index.js'

const text = z.string()
const all = { repair: 'brakes', day: 'Friday', time: '10:00', name: 'Ada', phone: '0123' }
const review = 'brakes on Friday at 10:00, for Ada, phone 0123. Right?'

async function begun(...lines: readonly string[]) {
  const made = bookings()
  const conversation = new Conversation(made.Shop)
  await said(conversation, 'Hello', ...lines)
  return { ...made, conversation, send: (payload: JsonValue) => submit(conversation, payload, 'Booking') }
}

describe('a submission', () => {
  test('of all fields is reviewed, and needs the yes of the user', async () => {
    const { conversation, send, booked } = await begun()
    await using _ = conversation
    expect((await send(all)).message).toBe(review)
    expect(await stored(conversation, 'Booking')).toEqual({ values: all, reviewing: true })
    expect(booked).toEqual([])
    await conversation.choose('Yes')
    expect(booked).toEqual([all])
  })

  test('is the user event of the name of the step, and is taken by engine.execute', async () => {
    const { conversation } = await begun()
    await using _ = conversation
    conversation.expectEvents(['Booking'])
    const input = { flowName: 'Shop', userMessage: '', sessionId: conversation.sessionId }
    const { response } = await conversation.engine.execute({ ...input, event: { name: 'Booking', payload: all } })
    expect(response.message).toBe(review)
    expect((await conversation.document()).history.at(-1)).toMatchObject({
      message: '',
      event: { name: 'Booking', payload: all },
    })
  })

  test('may be sent in any order, and is read like answers', async () => {
    const { conversation, send } = await begun()
    await using _ = conversation
    await send({ phone: ' 0123 ', name: 'Ada ', time: '10:00', day: 'Friday', repair: 'BRAKES' })
    expect((await stored(conversation, 'Booking')).values).toEqual(all)
  })

  test('keeps the values that are right, and says what is wrong, by field and in the order of the fields', async () => {
    const { conversation, send } = await begun()
    await using _ = conversation
    const { message } = await send({ phone: 'none', name: 'A', day: 'Sunday', time: '10:00' })
    expect(message).toBe('The repair is needed. We are closed on Sunday. The name is too short. Only digits, please.')
    conversation.expectParts([
      {
        type: 'form',
        name: 'Booking',
        values: { time: '10:00' },
        errors: {
          repair: 'The repair is needed.',
          day: 'We are closed on Sunday.',
          name: 'The name is too short.',
          phone: 'Only digits, please.',
        },
      },
    ])
    expect(await stored(conversation, 'Booking')).toEqual({ values: { time: '10:00' }, asking: 'repair', wrong: 1 })
  })

  test('that is wrong goes on by text with the first field that is wrong', async () => {
    const { conversation, send } = await begun()
    await using _ = conversation
    await send({ ...all, name: 'A', phone: 'none' })
    expect(await said(conversation, 'Ada')).toBe('Your phone number? Or skip.')
    expect(await said(conversation, '0123')).toBe(review)
  })

  test('that corrects what needed the time says that the time is gone, and shows the form without it', async () => {
    const { conversation, send } = await begun()
    await using _ = conversation
    await send({ ...all, day: 'Tuesday', time: '9:00' })
    const { message } = await send({ day: 'Friday' })
    expect(message).toBe('9:00 is not free on Friday.')
    conversation.expectParts([
      { type: 'form', values: { day: 'Friday', time: undefined }, errors: { time: '9:00 is not free on Friday.' } },
    ])
    expect(await said(conversation, '11:00')).toBe(review.replace('10:00', '11:00'))
  })

  test('that gives a wrong value keeps the old one, and shows it', async () => {
    const { conversation, send } = await begun()
    await using _ = conversation
    await send(all)
    await send({ day: 'Sunday' })
    conversation.expectReply('We are closed on Sunday.').expectParts([{ type: 'form', values: all }])
    expect(await stored(conversation, 'Booking')).toEqual({ values: all, asking: 'day', wrong: 1 })
  })

  test('adds to what was said, and what it leaves out stays', async () => {
    const { conversation, send } = await begun('brakes', 'Friday')
    await using _ = conversation
    expect((await send({ time: '10:00', name: 'Ada', phone: '0123' })).message).toBe(review)
    expect((await send({ name: 'Grace' })).message).toBe(review.replace('Ada', 'Grace'))
    expect((await send({})).message).toBe(review.replace('Ada', 'Grace'))
  })

  test('leaves optional fields empty that it leaves out, once all others are right', async () => {
    const { conversation, send } = await begun()
    await using _ = conversation
    const { phone: _phone, name: _name, ...rest } = all
    await send(rest)
    conversation.expectReply('The name is needed.')
    expect((await stored(conversation, 'Booking')).skipped).toBeUndefined()
    await send({ name: 'Ada' })
    conversation.expectReply('brakes on Friday at 10:00, for Ada, phone none. Right?')
    expect((await stored(conversation, 'Booking')).skipped).toEqual(['phone'])
  })

  test('with an empty text for a field that is needed is refused, and keeps the value', async () => {
    const { conversation, send } = await begun()
    await using _ = conversation
    await send(all)
    await send({ name: ' ', repair: null })
    conversation.expectParts([
      { type: 'form', values: all, errors: { repair: 'The repair is needed.', name: 'The name is needed.' } },
    ])
  })

  test('may have numbers, booleans and lists', async () => {
    const fields = {
      guests: field(z.number('A number, please.'), { ask: 'How many?' }),
      gift: field(z.boolean(), { ask: 'A gift?' }),
      dishes: field(z.array(text), { ask: 'Which?' }),
    }
    await using conversation = new Conversation(flowOfForm(fields))
    await conversation.say('Hello')
    await submit(conversation, { guests: '3', gift: 'false', dishes: ['fish'] })
    expect((await stored(conversation)).values).toEqual({ guests: 3, gift: false, dishes: ['fish'] })
    await submit(conversation, { guests: 4, gift: true, dishes: [] })
    expect((await stored(conversation)).values).toEqual({ guests: 4, gift: true, dishes: [] })
    await submit(conversation, { guests: { many: 1 }, gift: ['yes'] })
    conversation.expectReply(/^A number, please\. .*boolean/)
    expect((await stored(conversation)).values).toEqual({ guests: 4, gift: true, dishes: [] })
  })

  test('asks again what the user wanted to correct, if that is not in it', async () => {
    const { conversation, send } = await begun('brakes', 'Friday', '10:00', 'Ada', '0123', 'change name')
    await using _ = conversation
    expect((await send({ day: 'Tuesday' })).message).toBe('Your name?')
    expect((await send({ name: 'Grace' })).message).toMatch(/^brakes on Tuesday at 10:00, for Grace/)
  })

  test('is read with the message of a later turn, after a restart', async () => {
    const { conversation, send } = await begun()
    await using _ = conversation
    await send({ repair: 'brakes' })
    await conversation.restart()
    await send({ ...all, repair: '' as never })
    await conversation.restart()
    expect(await said(conversation, 'tune-up')).toMatch(/^tune-up on Friday/)
  })
})

describe('what is no object is INVALID_INPUT, and leaves the session as it was', () => {
  test.each<[JsonValue | undefined]>([[undefined], [null], ['Ada'], [7], [true], [[]], [[{ name: 'Ada' }]]])(
    '%j',
    async (payload) => {
      const { conversation } = await begun('brakes')
      await using _ = conversation
      const before = await conversation.document()
      await conversation.say('', { event: { name: 'Booking', ...(payload !== undefined && { payload }) } })
      conversation.expectError(
        'INVALID_INPUT',
        "The payload of event 'Booking' does not fit: expected an object with the form's fields.",
      )
      expect(await conversation.document()).toEqual(before)
      expect(await said(conversation, 'Friday')).toMatch(/^When on Friday/)
    },
  )

  test('also if a value has the name __proto__', async () => {
    const { conversation } = await begun('brakes')
    await using _ = conversation
    const before = await conversation.document()
    await conversation.say('', {
      event: { name: 'Booking', payload: JSON.parse('{ "__proto__": { "name": "Ada" } }') },
    })
    conversation.expectError('INVALID_INPUT', 'payload has a key named __proto__, which is reserved.')
    expect(await conversation.document()).toEqual(before)
  })
})

describe('a form takes its submission', () => {
  test('at the review, and after a no', async () => {
    const { conversation, send } = await begun('brakes', 'Friday', '10:00', 'Ada', '0123')
    await using _ = conversation
    expect((await send({ name: 'Grace' })).message).toBe(review.replace('Ada', 'Grace'))
    await conversation.say('no')
    expect((await send({ name: 'Ada' })).message).toBe(review)
  })

  test('not after it was left', async () => {
    const Menu = step('Menu')
    const { Booking } = bookings()
    const shop = flow('Shop', [Booking, Menu], {
      onMessage: ({ message }) => (message === 'menu' ? go(Menu) : undefined),
    })
    await using conversation = new Conversation(shop)
    await said(conversation, 'Hello', 'menu')
    await submit(conversation, all, 'Booking')
    conversation.expectError('EVENT_NOT_TAKEN')
  })

  test('beside events of its own', async () => {
    class Own extends formOf({ name: field(text, { ask: 'Your name?' }) }) {
      override events() {
        return [...super.events(), event({ name: 'clear', byUser: true, execute: () => this.cleared() })]
      }
      cleared() {
        this.state.values = {}
        return reply('Cleared.')
      }
    }
    await using conversation = new Conversation(flow('Talk', [Own]))
    await said(conversation, 'Hello', 'Ada')
    await submit(conversation, {}, 'clear')
    expect(await said(conversation, 'yes')).toBe('Your name?')
    expect((await submit(conversation, { name: 'Grace' })).message).toBe('name: Grace\nIs that right?')
  })
})

test('check and choices get the turn of the submission', async () => {
  const check = vi.fn(
    (_value: string, _needed: object, { event: taken }: Turn) => taken?.name === 'Form' || 'No event.',
  )
  const choices = vi.fn((_needed: object, { number }: Turn) => [`turn ${number}`])
  await using conversation = new Conversation(flowOfForm({ name: field(text, { ask: 'Your name?', check, choices }) }))
  await conversation.say('Hello')
  expect((await submit(conversation, { name: 'TURN 2' })).message).toBe('name: turn 2\nIs that right?')
  expect(await said(conversation, 'change name to Ada')).toBe('No event. Your name?')
})
