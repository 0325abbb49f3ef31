/** A form without a model, as a whole. `behaviour/` has the tests of each thing that it does. */
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { bookings, flowOfForm, formOf, said } from '../../testing/contract/forms/test-forms.js'
import { flow } from '../../testing/contract/side-flows/talk.js'
import { Conversation } from '../../testing/index.js'
import { finish, type Turn } from '../index.js'
import { type FormFields, FormStep, type FormValues, field } from './index.js'

test('a whole conversation: wrong answers, a correction that drops a value, a skip, a no, and a yes', async () => {
  const { Shop, booked } = bookings()
  await using conversation = new Conversation(Shop)
  const lines = [
    ['Hello', 'What does your bicycle need?'],
    ['Brakes', 'Which day?'],
    ['Sunday', 'We are closed on Sunday. Which day?'],
    ['Tuesday', 'When on Tuesday? Free: 9:00, 10:00.'],
    ['9:00', 'Your name?'],
    ['change day to Friday', '9:00 is not free on Friday. When on Friday? Free: 10:00, 11:00.'],
    ['at eleven', 'Please say the time like 9:30. When on Friday? Free: 10:00, 11:00.'],
    ['11:00', 'Your name?'],
    ['Ada', 'Your phone number? Or skip.'],
    ['skip', 'brakes on Friday at 11:00, for Ada, phone none. Right?'],
    ['no', 'What should I change: repair, day, time, name, phone? If nothing, say yes.'],
    ['phone', 'Your phone number? Or skip.'],
    ['0123', 'brakes on Friday at 11:00, for Ada, phone 0123. Right?'],
    ['change the name to Ada Lovelace.', 'brakes on Friday at 11:00, for Ada Lovelace, phone 0123. Right?'],
    ['yes', 'Booked, Ada Lovelace.'],
  ] as const
  for (const [line, reply] of lines) expect([line, await said(conversation, line)]).toEqual([line, reply])
  conversation.expectCompleted()
  expect(booked).toEqual([{ repair: 'brakes', day: 'Friday', time: '11:00', name: 'Ada Lovelace', phone: '0123' }])
})

describe('the review', () => {
  const fields: FormFields = {
    dayOfVisit: field(z.string(), { ask: 'Which day?' }),
    guests: field(z.number(), { ask: 'How many guests?' }),
    size: field(z.enum(['s', 'l']), { ask: 'Which size?', choices: [{ value: 's', label: 'Small' }, 'l'] }),
    gift: field(z.boolean(), { ask: 'A gift?' }),
    pin: field(z.string(), { ask: 'Your PIN?', secret: true }),
    note: field(z.string(), { ask: 'A note?', optional: true }),
  }
  const lines = ['Hello', 'Friday', '2', 's', 'yes', '1234', 'skip']

  test('has by default the labels and what the user reads as values, and no secret', async () => {
    await using conversation = new Conversation(flowOfForm(fields))
    expect(await said(conversation, ...lines)).toBe(
      'day of visit: Friday\nguests: 2\nsize: Small\ngift: Yes\npin: •••\nIs that right?',
    )
  })

  test('may add to the default, and be asynchronous', async () => {
    class Adding extends formOf(fields) {
      override async review(values: object, turn: Turn) {
        return `${await super.review(values, turn)} (${Object.keys(values).length} values, turn ${turn.number})`
      }
    }
    await using conversation = new Conversation(flow('Talk', [Adding]))
    expect(await said(conversation, ...lines)).toMatch(/Is that right\? \(5 values, turn 7\)$/)
  })

  test('gets the values in the order of the fields, with those of the state as they are', async () => {
    const seen: object[] = []
    class Seeing extends formOf(fields) {
      override review(values: object) {
        seen.push(values)
        return 'Right?'
      }
    }
    await using conversation = new Conversation(flow('Talk', [Seeing]))
    await said(conversation, 'Hello', 'change pin to 1234', 'change gift to no', 'Friday', '2', 'l', 'hi')
    expect(JSON.stringify(seen)).toBe(
      '[{"dayOfVisit":"Friday","guests":2,"size":"l","gift":false,"pin":"1234","note":"hi"}]',
    )
  })
})

test.each([
  ['$& \\1 (?<a>.*) [x'],
  ['{field} {value}'],
  ['change'],
  ['change  to '],
  ['Änderung: İ ß ﬁ 👩‍👩‍👧'],
  ['<b>Ada</b> & "Co"'],
  ['line one\nline two\r\nline three'],
  ['constructor'],
  ['__proto__'],
  ['x'.repeat(100_000)],
])('an answer is taken as it is, without spaces around it: %s', async (answer) => {
  await using conversation = new Conversation(flowOfForm({ note: field(z.string(), { ask: 'A note?' }) }))
  await said(conversation, 'Hello', ` ${answer}\n`)
  conversation
    .expectState('Form', { values: { note: answer.trim() } })
    .expectReply(`note: ${answer.trim()}\nIs that right?`)
})

test('two forms of one flow do not share anything', async () => {
  const ask = (question: string) => ({ name: field(z.string().min(2, 'Too short.'), { ask: question }) })
  class First extends formOf(ask('First?')) {
    static override readonly id: string = 'First'
    override done() {
      return finish('First.')
    }
  }
  class Both extends formOf(ask('Both?')) {
    static override readonly id: string = 'Both'
  }
  await using one = new Conversation(flow('Talk', [First, Both]))
  await using other = new Conversation(flow('Talk', [Both, First]))
  expect([await said(one, 'Hello', 'a', 'Ada'), await said(other, 'Hello', 'b', 'Bob')]).toEqual([
    'name: Ada\nIs that right?',
    'name: Bob\nIs that right?',
  ])
  expect(Object.keys((await one.document()).flow.steps)).toEqual(['First'])
})

test('a form may have members of its own, and fields that use them', async () => {
  class Visit extends FormStep {
    static override readonly id = 'Visit'
    readonly days = ['Friday', 'Monday']
    override fields() {
      const ask = `Which day? ${this.days.join(' or ')}.`
      return { day: field(z.string(), { ask, check: (day) => this.days.includes(day) || 'Not then.' }) }
    }
    override done({ day }: FormValues<Visit>) {
      return finish(`On ${day}.`)
    }
  }
  await using conversation = new Conversation(flow('Talk', [Visit]))
  expect(await said(conversation, 'Hello', 'Sunday')).toBe('Not then. Which day? Friday or Monday.')
  expect(await said(conversation, 'Monday', 'yes')).toBe('On Monday.')
})

test('fields() gets the turn, for what depends on the time', async () => {
  class Visit extends FormStep {
    static override readonly id = 'Visit'
    override fields(turn: Turn) {
      const today = new Date(turn.now).toISOString().slice(0, 10)
      const day = z.string().transform((said) => (said === 'today' ? today : said))
      return { day: field(day, { ask: 'Which day?' }) }
    }
    override done({ day }: FormValues<Visit>) {
      return finish(`On ${day}.`)
    }
  }
  await using conversation = new Conversation(flow('Talk', [Visit]))
  await said(conversation, 'Hello')
  await conversation.advance(3 * 86_400_000)
  const today = new Date(conversation.clock.now()).toISOString().slice(0, 10)
  expect(await said(conversation, 'today', 'yes')).toBe(`On ${today}.`)
})
