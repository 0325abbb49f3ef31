/** Corrections, and the yes to the review. */
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { buttons, flowOfForm, formOf, said, stored, submit } from '../../../testing/contract/forms/test-forms.js'
import { flow } from '../../../testing/contract/side-flows/talk.js'
import { Conversation } from '../../../testing/index.js'
import { event, reply } from '../../index.js'
import { choices } from '../../parts/index.js'
import { field } from '../index.js'

const text = z.string()
const named = {
  firstName: field(text, { ask: 'Your first name?' }),
  pickUpDay: field(text.regex(/day$/, 'That is no day.'), { ask: 'Which day?', label: 'day of pick-up (+ delivery)' }),
}
const review = 'first name: Ada\nday of pick-up (+ delivery): Friday\nIs that right?'
const whatToChange = 'What should I change: first name, day of pick-up (+ delivery)? If nothing, say yes.'

/** At the review. */
async function complete(): Promise<Conversation> {
  const conversation = new Conversation(flowOfForm(named))
  expect(await said(conversation, 'Hello', 'Ada', 'Friday')).toBe(review)
  return conversation
}

describe('a correction', () => {
  test.each([
    'change pickUpDay',
    'change pickupday',
    'change day of pick-up (+ delivery)',
    'change the day of pick-up (+ delivery)',
    ' Change THE  day  of pick-up (+ Delivery). ',
    'change the pickUpDay!',
  ])('%j asks for the value again, and keeps it meanwhile', async (correction) => {
    await using conversation = await complete()
    expect(await said(conversation, correction)).toBe('Which day?')
    expect(await stored(conversation)).toEqual({
      values: { firstName: 'Ada', pickUpDay: 'Friday' },
      asking: 'pickUpDay',
    })
    expect(await said(conversation, 'Monday')).toBe(review.replace('Friday', 'Monday'))
  })

  test.each([
    'change pickUpDay to Monday',
    'change the pickUpDay to Monday',
    'change the day of pick-up (+ delivery) to Monday.',
    'CHANGE  day of\npick-up (+ delivery)  TO  Monday!',
    ' change pickUpDay to  Monday ',
  ])('%j gives the new value', async (correction) => {
    await using conversation = await complete()
    expect(await said(conversation, correction)).toBe(review.replace('Friday', 'Monday'))
    expect(await stored(conversation)).toEqual({ values: { firstName: 'Ada', pickUpDay: 'Monday' }, reviewing: true })
  })

  test('may have a value of several lines, and one that looks like a correction', async () => {
    await using conversation = await complete()
    await said(conversation, 'change first name to Ada\nMaria to Lovelace')
    expect((await stored(conversation)).values.firstName).toBe('Ada\nMaria to Lovelace')
    await said(conversation, 'change first name to change pickUpDay to Monday')
    expect((await stored(conversation)).values).toEqual({
      firstName: 'change pickUpDay to Monday',
      pickUpDay: 'Friday',
    })
  })

  test('comes at any question, which stays open', async () => {
    await using conversation = new Conversation(flowOfForm(named))
    await said(conversation, 'Hello', 'Ada')
    expect(await said(conversation, 'change first name to Grace')).toBe('Which day?')
    expect(await stored(conversation)).toEqual({ values: { firstName: 'Grace' }, asking: 'pickUpDay' })
    expect(await said(conversation, 'change first name')).toBe('Your first name?')
    expect(await said(conversation, 'Ada')).toBe('Which day?')
  })

  test('may be of the open question', async () => {
    await using conversation = new Conversation(flowOfForm(named))
    await said(conversation, 'Hello', 'Ada')
    expect(await said(conversation, 'change pickUpDay')).toBe('Which day?')
    expect(await said(conversation, 'change pickUpDay to Friday')).toBe(review)
  })

  test('of another field keeps a question that is open by a correction', async () => {
    await using conversation = await complete()
    await said(conversation, 'change pickUpDay')
    expect(await said(conversation, 'change first name to Grace')).toBe('Which day?')
    expect(await said(conversation, 'Monday')).toBe(review.replace('Ada', 'Grace').replace('Friday', 'Monday'))
  })

  test('with a wrong value keeps the old one, and asks again', async () => {
    await using conversation = await complete()
    expect(await said(conversation, 'change pickUpDay to tomorrow')).toBe('That is no day. Which day?')
    expect(await stored(conversation)).toEqual({
      values: { firstName: 'Ada', pickUpDay: 'Friday' },
      asking: 'pickUpDay',
      wrong: 1,
    })
    expect(await said(conversation, 'yes')).toBe('That is no day. Which day?')
    expect(await said(conversation, 'Monday')).toBe(review.replace('Friday', 'Monday'))
  })

  test('of an unknown field is an answer', async () => {
    await using conversation = new Conversation(flowOfForm(named))
    expect(await said(conversation, 'Hello', 'change colour to red')).toBe('Which day?')
    expect((await stored(conversation)).values).toEqual({ firstName: 'change colour to red' })
    expect(await said(conversation, 'change colour')).toBe('That is no day. Which day?')
    await said(conversation, 'Friday')
    expect(await said(conversation, 'change colour to red')).toBe(whatToChange)
  })

  test.each([
    'change',
    'change pickUpDay to',
    'change to Monday',
    'please change pickUpDay to Monday',
    'change pickUpDays',
  ])('%j is none', async (answer) => {
    await using conversation = new Conversation(flowOfForm(named))
    await said(conversation, 'Hello', answer)
    expect((await stored(conversation)).values).toEqual({ firstName: answer })
  })

  test('is of the field with the longest label that fits', async () => {
    const fields = {
      time: field(text, { ask: 'When?' }),
      timeToCall: field(text, { ask: 'When may we call?' }),
    }
    await using conversation = new Conversation(flowOfForm(fields))
    expect(await said(conversation, 'Hello', 'change time to call')).toBe('When may we call?')
    await said(conversation, 'change time to call to 5', 'change time to 9')
    expect((await stored(conversation)).values).toEqual({ time: '9', timeToCall: '5' })
  })
})

describe('at the review', () => {
  test.each(['pickUpDay', 'PICKUPDAY', 'day of pick-up (+ delivery)', 'Day of Pick-Up (+ delivery).'])(
    'the name %j asks for the field again',
    async (name) => {
      await using conversation = await complete()
      expect(await said(conversation, name)).toBe('Which day?')
    },
  )

  test('a name is an answer anywhere else', async () => {
    await using conversation = new Conversation(flowOfForm(named))
    expect(await said(conversation, 'Hello', 'first name', 'pickUpDay')).toBe('That is no day. Which day?')
    expect((await stored(conversation)).values).toEqual({ firstName: 'first name' })
  })

  test.each(['Yes', 'yes', ' YES! ', 'y', 'ok.', 'Okay', 'right', 'correct', 'yes please', "That's right.", '1'])(
    '%j is a yes',
    async (yes) => {
      await using conversation = await complete()
      await conversation.say(yes)
      conversation.expectReply('Done: {"firstName":"Ada","pickUpDay":"Friday"}').expectCompleted()
    },
  )

  test.each(['No', 'no.', 'N', 'wrong', '2'])('%j is a no, and asks what to change', async (no) => {
    await using conversation = await complete()
    expect(await said(conversation, no)).toBe(whatToChange)
    expect(buttons(conversation)).toEqual(['first name', 'day of pick-up (+ delivery)'])
    // A no is not a wrong answer.
    expect(await stored(conversation)).toEqual({ values: { firstName: 'Ada', pickUpDay: 'Friday' }, reviewing: true })
  })

  test.each(['hm', '', 'yes, but later', 'yesterday', '3', 'skip', 'first'])('%j is neither', async (answer) => {
    await using conversation = await complete()
    expect(await said(conversation, answer)).toBe(whatToChange)
    expect(buttons(conversation)).toEqual(['first name', 'day of pick-up (+ delivery)'])
    conversation.expectState('Form', { wrong: 1, reviewing: true })
  })

  test('the buttons are yes and no', async () => {
    await using conversation = await complete()
    expect(buttons(conversation)).toEqual(['Yes', 'No'])
    await conversation.choose('No')
    conversation.expectReply(whatToChange)
    await conversation.choose('day of pick-up (+ delivery)')
    conversation.expectReply('Which day?')
    await conversation.say('Monday')
    await conversation.choose('Yes')
    conversation.expectReply('Done: {"firstName":"Ada","pickUpDay":"Monday"}').expectCompleted()
  })

  test('after a no, numbers are those of the fields, and a yes finishes', async () => {
    await using conversation = await complete()
    expect(await said(conversation, 'no', '2')).toBe('Which day?')
    expect(await said(conversation, 'Monday', 'no', 'yes')).toBe('Done: {"firstName":"Ada","pickUpDay":"Monday"}')
  })

  test('a button of an older list of fields corrects nothing, but its label does', async () => {
    await using conversation = await complete()
    await said(conversation, 'no', 'first name', 'Grace')
    const choice = { turn: 4, name: 'Form', value: 'change pickUpDay' }
    await conversation.say('what I meant', { choice })
    conversation.expectReply(whatToChange)
    await conversation.say('first name', { choice })
    conversation.expectReply('Your first name?')
  })

  test('a button of another list of the form is not a yes', async () => {
    const news = reply('Our news?').withParts([choices('news', [{ value: 'yes', label: 'Subscribe me' }])])
    const shop = flowOfForm(named, { events: () => [event({ name: 'advertise', execute: () => news })] })
    await using conversation = new Conversation(shop)
    await said(conversation, 'Hello', 'Ada', 'Friday')
    await conversation.sendEvent('advertise')
    await conversation.choose('Subscribe me')
    conversation.expectReply(whatToChange)
  })
})

describe('a yes does not finish', () => {
  test('at a question', async () => {
    await using conversation = new Conversation(flowOfForm(named))
    expect(await said(conversation, 'Hello', 'yes', 'yes')).toBe('That is no day. Which day?')
  })

  test('before the review was shown', async () => {
    const values = { firstName: 'Ada', pickUpDay: 'Friday' }
    class Asked extends formOf(named) {
      override initialState() {
        return { values }
      }
      override onEnter() {
        return reply('Shall I book it?')
      }
    }
    await using conversation = new Conversation(flow('Talk', [Asked]))
    expect(await said(conversation, 'Hello')).toBe('Shall I book it?')
    expect(await said(conversation, 'yes')).toBe(review)
    expect(await said(conversation, 'yes')).toBe(`Done: ${JSON.stringify(values)}`)
  })

  test('while a correction is open', async () => {
    await using conversation = await complete()
    await said(conversation, 'change first name', 'yes')
    conversation.expectReply(review.replace('Ada', 'yes'))
  })

  test('if an event has removed a value since', async () => {
    const shop = flowOfForm(named, {
      events() {
        const execute = () => void delete this.state.values.pickUpDay
        return [event({ name: 'closed', execute })]
      },
    })
    await using conversation = new Conversation(shop)
    await said(conversation, 'Hello', 'Ada', 'Friday')
    await conversation.sendEvent('closed')
    expect(await said(conversation, 'yes')).toBe('Which day?')
    expect(await stored(conversation)).toEqual({ values: { firstName: 'Ada' }, asking: 'pickUpDay' })
  })

  test('if a page has sent other values since, before their review', async () => {
    await using conversation = await complete()
    await submit(conversation, { pickUpDay: 'Monday' })
    conversation.expectReply(review.replace('Friday', 'Monday'))
    await submit(conversation, { pickUpDay: 'tomorrow' })
    expect(await said(conversation, 'yes')).toBe('That is no day. Which day?')
  })
})

test('a field may have the ID of the form, and the values yes and no', async () => {
  await using conversation = new Conversation(flowOfForm({ Form: field(z.enum(['no', 'yes']), { ask: 'Well?' }) }))
  await conversation.say('Hello')
  await conversation.choose('yes')
  conversation.expectReply('form: yes\nIs that right?')
  await conversation.choose('No')
  await conversation.choose('form')
  conversation.expectReply('Well?')
  await conversation.choose('no')
  conversation.expectReply('form: no\nIs that right?')
  await conversation.choose('Yes')
  conversation.expectReply('Done: {"Form":"no"}')
})
