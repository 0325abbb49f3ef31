/** Optional fields, and fields that are not. */
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { bookings, flowOfForm, said, stored, submit } from '../../../testing/contract/forms/test-forms.js'
import { Conversation } from '../../../testing/index.js'
import { field } from '../index.js'

const complete = ['Hello', 'brakes', 'Friday', '10:00', 'Ada']
const review = 'brakes on Friday at 10:00, for Ada, phone none. Right?'

describe('an optional field', () => {
  test.each([
    ['its question', ['skip'], review],
    ['its question, in capitals, with spaces and a full stop', [' SKIP. '], review],
    ['its question, with nothing', [''], review],
    ['its question, with spaces', ['  '], review],
    ['its question, by change', ['change phone to skip'], review],
    ['the review, where it had a value', ['0123', 'change phone to skip'], review],
    ['the review, in two messages', ['0123', 'change phone', 'skip'], review],
    ['a page, by null', [{ phone: null }], review],
    ['a page, by an empty text', [{ phone: '' }], review],
    ['a page, by spaces, where it had a value', ['0123', { phone: '  ' }], review],
    ['a page, by leaving it out', [{ name: 'Ada' }], review],
  ])('is left empty at %s', async (_where, lines, expected) => {
    const { booked, Shop } = bookings()
    await using conversation = new Conversation(Shop)
    await said(conversation, ...complete)
    for (const line of lines) {
      if (typeof line === 'string') await conversation.say(line)
      else await submit(conversation, line, 'Booking')
    }
    conversation.expectReply(expected)
    expect(await stored(conversation, 'Booking')).toEqual({
      values: { repair: 'brakes', day: 'Friday', time: '10:00', name: 'Ada' },
      skipped: ['phone'],
      reviewing: true,
    })
    await conversation.say('yes')
    expect(Object.keys(booked[0] ?? {})).toEqual(['repair', 'day', 'time', 'name'])
  })

  test('is left empty before its question, which is not asked then', async () => {
    const { Shop } = bookings()
    await using conversation = new Conversation(Shop)
    expect(await said(conversation, 'Hello', 'change phone to skip')).toBe('What does your bicycle need?')
    expect(await said(conversation, ...complete.slice(1))).toBe(review)
  })

  test('may get a value after all', async () => {
    const { Shop } = bookings()
    await using conversation = new Conversation(Shop)
    await said(conversation, ...complete, 'skip')
    expect(await said(conversation, 'change phone to 0123')).toMatch(/phone 0123/)
    expect((await stored(conversation, 'Booking')).skipped).toBeUndefined()
  })

  test('is asked again after a wrong value, and may be skipped then', async () => {
    const { Shop } = bookings()
    await using conversation = new Conversation(Shop)
    expect(await said(conversation, ...complete, 'none')).toBe('Only digits, please. Your phone number? Or skip.')
    expect(await said(conversation, 'skip')).toBe(review)
  })

  test('is one of several: each is skipped by itself', async () => {
    const note = field(z.string(), { ask: 'A note?', optional: true })
    const mail = field(z.string(), { ask: 'Your mail?', optional: true })
    await using conversation = new Conversation(flowOfForm({ note, mail }))
    await said(conversation, 'Hello', 'skip')
    expect(await stored(conversation)).toEqual({ values: {}, skipped: ['note'], asking: 'mail' })
    await said(conversation, 'skip', 'change note to hi')
    expect(await stored(conversation)).toEqual({ values: { note: 'hi' }, skipped: ['mail'], reviewing: true })
  })

  test('has no value if its schema makes nothing of what was said', async () => {
    const nothing = z.string().transform((said) => (said === 'nothing' ? undefined : said))
    const fields = { note: field(nothing, { ask: 'A note?', optional: true }) }
    await using conversation = new Conversation(flowOfForm(fields))
    await said(conversation, 'Hello', 'nothing')
    expect(await stored(conversation)).toEqual({ values: {}, skipped: ['note'], reviewing: true })
  })

  test('that is a number or a boolean may be 0 or no', async () => {
    const fields = {
      dogs: field(z.number(), { ask: 'How many dogs?', optional: true }),
      bites: field(z.boolean(), { ask: 'Do they bite?', optional: true }),
    }
    await using conversation = new Conversation(flowOfForm(fields))
    await said(conversation, 'Hello', '0', 'no')
    expect(await stored(conversation)).toEqual({ values: { dogs: 0, bites: false }, reviewing: true })
  })
})

test('the default review leaves out what was skipped', async () => {
  const note = field(z.string(), { ask: 'A note?', optional: true })
  await using conversation = new Conversation(flowOfForm({ note }))
  expect(await said(conversation, 'Hello', 'skip')).toBe('Is that right?')
  expect(await said(conversation, 'change note to hi')).toBe('note: hi\nIs that right?')
})

describe('a field that is not optional', () => {
  test.each(['skip', 'Skip!', '', '   ', 'change name to skip'])('refuses %j', async (text) => {
    const { Shop } = bookings()
    await using conversation = new Conversation(Shop)
    expect(await said(conversation, ...complete.slice(0, 4), text)).toBe('The name is needed. Your name?')
    expect(await stored(conversation, 'Booking')).toEqual({
      values: { repair: 'brakes', day: 'Friday', time: '10:00' },
      asking: 'name',
      wrong: 1,
    })
  })

  test('keeps its value if it is to be left empty', async () => {
    const { Shop } = bookings()
    await using conversation = new Conversation(Shop)
    expect(await said(conversation, ...complete, 'skip', 'change name to skip')).toBe('The name is needed. Your name?')
    expect(await stored(conversation, 'Booking')).toMatchObject({ values: { name: 'Ada' }, asking: 'name' })
  })

  test('refuses what its schema makes nothing of', async () => {
    const fields = {
      note: field(
        z.string().transform(() => null),
        { ask: 'A note?', label: 'text' },
      ),
    }
    await using conversation = new Conversation(flowOfForm(fields))
    expect(await said(conversation, 'Hello', 'hi')).toBe('The text is needed. A note?')
  })
})

test('skip is no answer to the review', async () => {
  const { Shop } = bookings()
  await using conversation = new Conversation(Shop)
  expect(await said(conversation, ...complete, 'skip', 'skip')).toMatch(/^What should I change/)
})
