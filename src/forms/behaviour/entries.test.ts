/** How a form begins: fresh, with given values, or entered again. */
import { describe, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { bookings, flowOfForm, formOf, said, stored } from '../../../testing/contract/forms/test-forms.js'
import { flow, step } from '../../../testing/contract/side-flows/talk.js'
import { Conversation } from '../../../testing/index.js'
import { type Awaitable, back, call, go, type JsonValue, reply, type Transition, type Turn } from '../../index.js'
import { type FormFields, field } from '../index.js'

const text = z.string()
const complete = ['Hello', 'brakes', 'Friday', '10:00', 'Ada', '0123']
const review = 'brakes on Friday at 10:00, for Ada, phone 0123. Right?'
type Run = (turn: Turn) => Awaitable<Transition>

/** The appointment beside a step `Menu`, which each message `menu` enters, and which `run`s each other one. */
function shopWithMenu(run: Run) {
  const made = bookings()
  const Menu = step('Menu', (turn) => (turn.message === 'menu' || turn.entered ? reply('Menu?') : run(turn)))
  const onMessage = ({ message, step }: Turn) => (message === 'menu' && step !== 'Menu' ? go(Menu) : undefined)
  return { ...made, Shop: flow('Shop', [made.Booking, Menu], { onMessage }) }
}

describe('a form that is entered again by go', () => {
  test('keeps its values, and asks for a new yes', async () => {
    const { Shop, booked } = shopWithMenu(() => go('Booking'))
    await using conversation = new Conversation(Shop)
    await said(conversation, ...complete)
    expect(await said(conversation, 'menu', 'yes')).toBe(review)
    expect(booked).toEqual([])
    expect(await said(conversation, 'yes')).toBe('Booked, Ada.')
  })

  test('keeps what was skipped', async () => {
    const { Shop } = shopWithMenu(() => go('Booking'))
    await using conversation = new Conversation(Shop)
    await said(conversation, ...complete.slice(0, -1), 'skip')
    expect(await said(conversation, 'menu', 'go')).toBe('brakes on Friday at 10:00, for Ada, phone none. Right?')
  })

  test('asks for what is missing, and not for what was to be corrected', async () => {
    const { Shop } = shopWithMenu(() => go('Booking'))
    await using conversation = new Conversation(Shop)
    await said(conversation, 'Hello', 'brakes', 'Friday', '10:00', 'change day', 'menu')
    expect(await said(conversation, 'go')).toBe('Your name?')
    expect(await stored(conversation, 'Booking')).toEqual({
      values: { repair: 'brakes', day: 'Friday', time: '10:00' },
      asking: 'name',
    })
  })

  test('checks its values again, and asks for those that are wrong now, with the reasons', async () => {
    const { Shop, free } = shopWithMenu(() => go('Booking'))
    await using conversation = new Conversation(Shop)
    await said(conversation, ...complete, 'menu')
    free.Friday = ['11:00']
    expect(await said(conversation, 'go')).toBe('10:00 is not free on Friday. When on Friday? Free: 11:00.')
    expect(await said(conversation, '11:00')).toBe(review.replace('10:00', '11:00'))
    await conversation.say('menu')
    delete free.Friday
    // The time waits for a day.
    expect(await said(conversation, 'go')).toBe('We are closed on Friday. Which day?')
    expect((await stored(conversation, 'Booking')).values).toMatchObject({ time: '11:00' })
    expect(await said(conversation, 'Tuesday')).toBe(
      '11:00 is not free on Tuesday. When on Tuesday? Free: 9:00, 10:00.',
    )
  })

  test('checks each value once', async () => {
    const check = vi.fn(() => true as const)
    const form = formOf({ name: field(text, { ask: 'Your name?', check }) })
    const Menu = step('Menu', ({ entered }) => (entered ? reply('Menu?') : go('Form')))
    const onMessage = ({ message }: Turn) => (message === 'menu' ? go(Menu) : undefined)
    await using conversation = new Conversation(flow('Talk', [form, Menu], { onMessage }))
    await said(conversation, 'Hello', 'Ada', 'menu')
    expect(check).toHaveBeenCalledTimes(1)
    await said(conversation, 'go', 'hm', 'no')
    expect(check).toHaveBeenCalledTimes(2)
  })

  test('begins empty if it is given no values', async () => {
    const { Shop } = shopWithMenu(() => go('Booking').withState({ values: {} }))
    await using conversation = new Conversation(Shop)
    await said(conversation, ...complete.slice(0, -1), 'skip')
    expect(await said(conversation, 'menu', 'go')).toBe('What does your bicycle need?')
    expect(await stored(conversation, 'Booking')).toEqual({ values: {}, asking: 'repair' })
  })
})

describe('given values', () => {
  const given = (values: Record<string, JsonValue>) => shopWithMenu(() => go('Booking').withState({ values }))
  const begun = async (values: Record<string, JsonValue>) => {
    const conversation = new Conversation(given(values).Shop)
    await said(conversation, 'Hello', 'menu', 'go')
    return conversation
  }

  test.each<[string, Record<string, JsonValue>, string, Record<string, JsonValue>]>([
    ['are not asked', { repair: 'brakes', name: 'Ada' }, 'Which day?', { repair: 'brakes', name: 'Ada' }],
    [
      'are reviewed, if all are there',
      { repair: 'brakes', day: 'Friday', time: '10:00', name: 'Ada', phone: '0123' },
      review,
      { repair: 'brakes', day: 'Friday', time: '10:00', name: 'Ada', phone: '0123' },
    ],
    [
      'are read like answers',
      { repair: ' BRAKES ', day: ' Friday ' },
      'When on Friday? Free: 10:00, 11:00.',
      { repair: 'brakes', day: 'Friday' },
    ],
    [
      'are checked by the schema',
      { repair: 'brakes', day: 'never' },
      'That is no day. Which day?',
      { repair: 'brakes' },
    ],
    [
      'are checked by check',
      { repair: 'brakes', day: 'Sunday' },
      'We are closed on Sunday. Which day?',
      { repair: 'brakes' },
    ],
    [
      'are checked with what they need',
      { repair: 'brakes', day: 'Friday', time: '9:00' },
      '9:00 is not free on Friday. When on Friday? Free: 10:00, 11:00.',
      { repair: 'brakes', day: 'Friday' },
    ],
    [
      'are said to be wrong all together',
      { day: 'never', name: 'A' },
      'That is no day. The name is too short. What does your bicycle need?',
      {},
    ],
    [
      'of the wrong type are asked',
      { repair: 'brakes', day: 'Friday', time: '10:00', name: 7 },
      'Invalid input: expected string, received number\nYour name?',
      { repair: 'brakes', day: 'Friday', time: '10:00' },
    ],
    ['of no field are left out', { colour: 'red', constructor: 'x' }, 'What does your bicycle need?', {}],
  ])('%s', async (_what, values, reply, expected) => {
    await using conversation = await begun(values)
    conversation.expectReply(reply)
    expect((await stored(conversation, 'Booking')).values).toEqual(expected)
  })

  test('that are empty leave an optional field empty, and are needed of others', async () => {
    await using conversation = await begun({ repair: 'brakes', day: 'Friday', time: '10:00', name: '', phone: null })
    conversation.expectReply('The name is needed. Your name?')
    expect(await said(conversation, 'Ada')).toBe('brakes on Friday at 10:00, for Ada, phone none. Right?')
  })

  test('of a call are checked, too, and a call without values begins empty', async () => {
    const { Booking } = bookings()
    const Caller = step('Caller', ({ message, entered }) => {
      if (entered) return reply('Ready?')
      return call(Booking, { state: { values: message === 'new' ? {} : { repair: 'brakes', day: message } } })
    })
    const shop = flow('Shop', [Caller, Booking], {
      onMessage: ({ message }) => (message === 'home' ? go(Caller) : undefined),
    })
    await using conversation = new Conversation(shop)
    expect(await said(conversation, 'Hello', 'Friday')).toBe('When on Friday? Free: 10:00, 11:00.')
    expect(await said(conversation, 'home', 'Sunday')).toBe('We are closed on Sunday. Which day?')
    expect(await said(conversation, 'home', 'new')).toBe('What does your bicycle need?')
  })

  test('may be the initial state, and do not count as wrong answers', async () => {
    class Given extends formOf({ name: field(text.min(2, 'Too short.'), { ask: 'Your name?' }) }) {
      override readonly attempts = 1
      override initialState() {
        return { values: { name: 'A' } }
      }
    }
    await using conversation = new Conversation(flow('Talk', [Given]))
    expect(await said(conversation, 'Hello')).toBe('Too short. Your name?')
    expect(await stored(conversation)).toEqual({ values: {}, asking: 'name' })
  })

  test('of Conversation.at: the message answers the first field without a value', async () => {
    const { Booking, Shop } = bookings()
    const state = { values: { repair: 'brakes', day: 'Friday' } }
    await using conversation = Conversation.at(Shop, { step: Booking, state })
    expect(await said(conversation, '10:00')).toBe('Your name?')
  })
})

describe('a form that is returned to', () => {
  test.each<[string, readonly string[], string]>([
    ['the first question', [], 'What does your bicycle need?'],
    ['a question', ['brakes', 'Friday'], 'When on Friday? Free: 10:00, 11:00.'],
    ['a question after a wrong answer', ['brakes', 'never'], 'Which day?'],
    ['a correction', [...complete.slice(1), 'change name'], 'Your name?'],
    ['the review', complete.slice(1), review],
    ['the review after a no', [...complete.slice(1), 'no'], review],
  ])('asks again: %s', async (_where, lines, question) => {
    const { Booking } = bookings()
    const Hours = step('Hours', () => back().withLead('Until 6.'))
    const shop = flow('Shop', [Booking, Hours], {
      onMessage: ({ message }) => (message === 'hours?' ? call(Hours) : undefined),
    })
    await using conversation = new Conversation(shop)
    await said(conversation, 'Hello', ...lines)
    const before = await stored(conversation, 'Booking')
    expect(await said(conversation, 'hours?')).toBe(`Until 6.\n\n${question}`)
    expect(await stored(conversation, 'Booking')).toEqual(before)
  })
})

test('a form goes on after a restart, at any message', async () => {
  const { Shop } = bookings()
  await using conversation = new Conversation(Shop)
  for (const line of complete) {
    await conversation.say(line)
    await conversation.restart()
  }
  conversation.expectReply(review)
  await said(conversation, 'change day to Tuesday')
  await conversation.restart()
  expect(await said(conversation, 'yes')).toBe('Booked, Ada.')
})

test('fields() is called once in a turn', async () => {
  const fields = vi.fn((): FormFields => ({ name: field(text, { ask: 'Your name?' }) }))
  await using conversation = new Conversation(flowOfForm(fields))
  for (const [count, line] of ['Hello', 'Ada', 'change name to Grace', 'no', 'yes'].entries()) {
    await conversation.say(line)
    expect(fields).toHaveBeenCalledTimes(count + 1)
  }
})
