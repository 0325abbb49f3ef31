/** What `done` gets, and what it may return. */
import { describe, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { bookings, flowOfForm, formOf, said, stored } from '../../../testing/contract/forms/test-forms.js'
import { flow, step } from '../../../testing/contract/side-flows/talk.js'
import { Conversation } from '../../../testing/index.js'
import { back, call, event, finish, go, reply, type Turn } from '../../index.js'
import { type FormFields, field } from '../index.js'

const text = z.string()
const one: FormFields = { name: field(text, { ask: 'Your name?' }) }
const complete = ['Hello', 'brakes', 'Friday', '10:00', 'Ada', '0123']
const review = 'brakes on Friday at 10:00, for Ada, phone 0123. Right?'

test('done gets the values of the fields, in their order, and the turn', async () => {
  const { Shop, booked } = bookings()
  await using conversation = new Conversation(Shop)
  await said(conversation, 'Hello', 'change phone to 0123', 'change name to Ada', 'brakes', 'Friday', '10:00')
  expect(booked).toEqual([])
  await conversation.say('yes')
  conversation.expectReply('Booked, Ada.').expectCompleted()
  expect(booked).toEqual([{ repair: 'brakes', day: 'Friday', time: '10:00', name: 'Ada', phone: '0123' }])
  expect(Object.keys(booked[0] ?? {})).toEqual(['repair', 'day', 'time', 'name', 'phone'])
})

test('done gets what the schemas have made, also lists and objects', async () => {
  const guests = z.union([z.array(text), text.transform((said) => said.split(' and '))])
  const done = vi.fn((_values: object, turn: Turn) => finish(`Turn ${turn.number}.`))
  await using conversation = new Conversation(flowOfForm({ guests: field(guests, { ask: 'Who?' }) }, { done }))
  expect(await said(conversation, 'Hello', 'Ada and Grace')).toBe('guests: ["Ada","Grace"]\nIs that right?')
  expect(await said(conversation, 'yes')).toBe('Turn 3.')
  expect(done.mock.lastCall?.[0]).toEqual({ guests: ['Ada', 'Grace'] })
})

describe('done may', () => {
  test('go to another step', async () => {
    const Next = step('Next', () => reply('Next?'))
    await using conversation = new Conversation(flow('Talk', [formOf(one, { done: () => go(Next) }), Next]))
    await said(conversation, 'Hello', 'Ada', 'yes')
    conversation.expectReply('Next?').expectStep('Next')
  })

  test('return the values to the step that has called the form', async () => {
    const Caller = step('Caller', ({ returned, entered }) => {
      if (returned !== undefined) return reply(JSON.stringify(returned))
      return entered ? reply('Ready?') : call('Form')
    })
    const shop = flow('Talk', [Caller, formOf(one, { done: (values) => back(values) })])
    await using conversation = new Conversation(shop)
    await said(conversation, 'Hello', 'yes', 'Ada', 'yes')
    conversation.expectReply('{"from":"Form","value":{"name":"Ada"}}').expectStep('Caller')
  })

  test('reply: the form stays, and needs a new review and a new yes', async () => {
    const done = vi.fn(() => reply(`Not yet, ${done.mock.calls.length}.`))
    await using conversation = new Conversation(flowOfForm(one, { done }))
    expect(await said(conversation, 'Hello', 'Ada', 'yes')).toBe('Not yet, 1.')
    expect(await stored(conversation)).toEqual({ values: { name: 'Ada' } })
    expect(await said(conversation, 'yes')).toBe('name: Ada\nIs that right?')
    expect(done).toHaveBeenCalledOnce()
    expect(await said(conversation, 'yes')).toBe('Not yet, 2.')
    expect(await said(conversation, 'change name to Grace')).toBe('name: Grace\nIs that right?')
  })

  test.each([[undefined], ['Booked.'], [{}], [true]])('not return %j, which is no transition', async (returned) => {
    await using conversation = new Conversation(flowOfForm(one, { done: () => returned as never }))
    await said(conversation, 'Hello', 'Ada', 'yes')
    conversation.expectError('FLOW_ERROR', "done() of form 'Form' must return a transition, such as finish().")
  })

  test('go to the form itself, which asks for a new yes', async () => {
    let isReady = false
    const done = () => (isReady ? finish('Done.') : go('Form'))
    await using conversation = new Conversation(flowOfForm(one, { done }))
    expect(await said(conversation, 'Hello', 'Ada', 'yes')).toBe('name: Ada\nIs that right?')
    isReady = true
    expect(await said(conversation, 'yes')).toBe('Done.')
  })

  test('fail: the turn is rolled back, and the next yes calls it again', async () => {
    const done = vi.fn(async (values: object): Promise<ReturnType<typeof finish>> => {
      if (done.mock.calls.length === 1) throw new Error('The calendar is down.')
      return finish(`Booked: ${JSON.stringify(values)}`)
    })
    const shop = flow('Talk', [formOf(one, { done })], {}, { onTurnError: 'rollback' })
    await using conversation = new Conversation(shop)
    await said(conversation, 'Hello', 'Ada', 'yes')
    conversation.expectError('FLOW_ERROR', 'The calendar is down.')
    expect(await stored(conversation)).toEqual({ values: { name: 'Ada' }, reviewing: true })
    expect(await said(conversation, 'yes')).toBe('Booked: {"name":"Ada"}')
    expect(done).toHaveBeenCalledTimes(2)
  })
})

describe('askAgain', () => {
  /** The flow of the appointment, whose calendar has another customer. */
  function busyShop() {
    const made = bookings()
    class Busy extends made.Booking {
      override async done(values: { readonly day: string; readonly time: string }, turn: Turn) {
        const times = made.free[values.day]
        if (times?.includes(values.time)) return super.done(values, turn)
        return this.askAgain('time', `Sorry, ${values.time} was taken meanwhile.`, turn)
      }
    }
    return { ...made, Shop: flow('Shop', [Busy]) }
  }

  test('says the problem, removes the value, asks for it, and then for a new yes', async () => {
    const { Shop, free, booked } = busyShop()
    await using conversation = new Conversation(Shop)
    await said(conversation, ...complete)
    free.Friday = ['11:00']
    expect(await said(conversation, 'yes')).toBe('Sorry, 10:00 was taken meanwhile. When on Friday? Free: 11:00.')
    expect(await stored(conversation, 'Booking')).toEqual({
      values: { repair: 'brakes', day: 'Friday', name: 'Ada', phone: '0123' },
      asking: 'time',
    })
    expect(await said(conversation, 'yes')).toBe('Please say the time like 9:30. When on Friday? Free: 11:00.')
    expect(await said(conversation, '11:00')).toBe(review.replace('10:00', '11:00'))
    expect(booked).toEqual([])
    expect(await said(conversation, 'yes')).toBe('Booked, Ada.')
    expect(booked).toMatchObject([{ time: '11:00' }])
  })

  test('lets the user change what the field needs', async () => {
    const { Shop, free } = busyShop()
    await using conversation = new Conversation(Shop)
    await said(conversation, ...complete)
    free.Friday = []
    expect(await said(conversation, 'yes', 'change day to Tuesday')).toBe('When on Tuesday? Free: 9:00, 10:00.')
    expect(await said(conversation, '9:00', 'yes')).toBe('Booked, Ada.')
  })

  test('may be of an optional field, which may be skipped then', async () => {
    const done = vi.fn(function (this: ReturnType<typeof instance>, values: object, turn: Turn) {
      return 'name' in values ? this.askAgain('name', 'This name is taken.', turn) : finish('Without.')
    })
    const instance = () => new (formOf(one))()
    const fields = { name: field(text, { ask: 'Your name?', optional: true }) }
    await using conversation = new Conversation(flowOfForm(fields, { done: done as never }))
    expect(await said(conversation, 'Hello', 'Ada', 'yes')).toBe('This name is taken. Your name?')
    expect(await said(conversation, 'skip', 'yes')).toBe('Without.')
  })

  test('keeps what needs the value, and checks it with the new one', async () => {
    const fields: FormFields = {
      day: field(text, { ask: 'Which day?' }),
      time: field(text, { needs: ['day'], ask: 'When?', check: (time, { day }) => time !== day || 'Not then.' }),
    }
    let isTaken = true
    const shop = flowOfForm(fields, {
      done(values, turn) {
        return isTaken ? this.askAgain('day', 'Taken.', turn) : finish(JSON.stringify(values))
      },
    })
    await using conversation = new Conversation(shop)
    expect(await said(conversation, 'Hello', 'a', 'b', 'yes')).toBe('Taken. Which day?')
    expect(await said(conversation, 'b')).toBe('Not then. When?')
    expect(await said(conversation, 'a')).toBe('day: b\ntime: a\nIs that right?')
    isTaken = false
    expect(await said(conversation, 'yes')).toBe('{"day":"b","time":"a"}')
  })

  test('may be called by an event, also before the field was asked', async () => {
    const fields = { name: field(text, { ask: 'Your name?' }), time: field(text, { ask: 'When?' }) }
    const shop = flowOfForm(fields, {
      events() {
        return [event({ name: 'taken', execute: (_, turn) => this.askAgain('time', 'Taken.', turn) })]
      },
    })
    await using conversation = new Conversation(shop)
    await conversation.say('Hello')
    await conversation.sendEvent('taken')
    conversation.expectReply('Taken. When?')
    expect(await said(conversation, '9', 'Ada')).toBe('name: Ada\ntime: 9\nIs that right?')
    await conversation.sendEvent('taken')
    expect(await said(conversation, 'yes')).toBe('name: Ada\ntime: yes\nIs that right?')
  })

  test('refuses an unknown field', async () => {
    const shop = flowOfForm(one, {
      done(_values, turn) {
        return this.askAgain('tine', 'Taken.', turn)
      },
    })
    await using conversation = new Conversation(shop)
    await said(conversation, 'Hello', 'Ada', 'yes')
    conversation.expectError('FLOW_ERROR', "askAgain: form 'Form' has no field 'tine'.")
  })

  test.each(['constructor', 'toString', '__proto__'])('refuses %s, which no field has', async (name) => {
    const shop = flowOfForm(one, {
      done(_values, turn) {
        return this.askAgain(name, 'Taken.', turn)
      },
    })
    await using conversation = new Conversation(shop)
    await said(conversation, 'Hello', 'Ada', 'yes')
    conversation.expectError('FLOW_ERROR', `askAgain: form 'Form' has no field '${name}'.`)
  })
})
