/** Fields that need others: when they are asked and checked, and with what. */
import { describe, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { bookings, flowOfForm, said, stored } from '../../../testing/contract/forms/test-forms.js'
import { Conversation } from '../../../testing/index.js'
import { type FormFields, field } from '../index.js'

const text = z.string()

/** The time needs the day, and the place needs the time. */
const chain = (): FormFields => ({
  day: field(text, { ask: 'Which day?' }),
  time: field(text, {
    needs: ['day'],
    ask: ({ day }) => `When on ${day}?`,
    check: (time, { day }) => day !== 'Sunday' || time === 'noon' || `No ${time} on Sunday.`,
  }),
  place: field(text, {
    needs: ['time'],
    ask: ({ time }) => `Where at ${time}?`,
    check: (place, { time }) => time !== 'noon' || place === 'here' || `Not ${place} at noon.`,
  }),
})

describe('a field that needs another', () => {
  test('is kept if it is given first, and checked once the other is there', async () => {
    const check = vi.fn((time: string, { day }: { day: string }) => time.startsWith(day) || `${time} is wrong.`)
    const fields: FormFields = {
      name: field(text, { ask: 'Your name?' }),
      day: field(text, { ask: 'Which day?' }),
      time: field(text, { needs: ['day'], ask: 'When?', check }),
    }
    await using conversation = new Conversation(flowOfForm(fields))
    expect(await said(conversation, 'Hello', 'change time to 1 pm')).toBe('Your name?')
    expect(await stored(conversation)).toEqual({ values: { time: '1 pm' }, asking: 'name' })
    expect(check).not.toHaveBeenCalled()
    expect(await said(conversation, 'Ada', '1')).toMatch(/right\?$/)
    // It gets what it needs, and nothing else.
    expect(check.mock.calls.map((call) => call.slice(0, 2))).toEqual([['1 pm', { day: '1' }]])
    expect(await said(conversation, 'change name to Grace')).toMatch(/right\?$/)
    expect(check).toHaveBeenCalledOnce()
    expect(await said(conversation, 'change day to 2')).toBe('1 pm is wrong. When?')
    expect(check.mock.lastCall?.slice(0, 2)).toEqual(['1 pm', { day: '2' }])
    expect(check).toHaveBeenCalledTimes(2)
  })

  test('is not checked again if the other is set to what it was', async () => {
    const check = vi.fn(() => true as const)
    const fields: FormFields = {
      day: field(text, { ask: 'Which day?' }),
      time: field(text, { needs: ['day'], ask: 'When?', check }),
    }
    await using conversation = new Conversation(flowOfForm(fields))
    await said(conversation, 'Hello', 'Friday', '9', 'change day to Friday')
    expect(check).toHaveBeenCalledOnce()
  })

  test('is asked after what it needs, in any depth, also if the user wants to change it', async () => {
    await using conversation = new Conversation(flowOfForm(chain()))
    expect(await said(conversation, 'Hello', 'change place')).toBe('Which day?')
    expect(await said(conversation, 'Friday')).toBe('When on Friday?')
    expect(await said(conversation, 'nine')).toBe('Where at nine?')
  })

  test('is dropped and asked again if its check fails after a change, and what needs it is checked with the new value', async () => {
    await using conversation = new Conversation(flowOfForm(chain()))
    await said(conversation, 'Hello', 'Friday', 'nine', 'there')
    expect(await said(conversation, 'change day to Sunday')).toBe('No nine on Sunday. When on Sunday?')
    // The place waits for the time.
    expect(await stored(conversation)).toEqual({ values: { day: 'Sunday', place: 'there' }, asking: 'time' })
    expect(await said(conversation, 'noon')).toBe('Not there at noon. Where at noon?')
    expect(await said(conversation, 'here')).toBe('day: Sunday\ntime: noon\nplace: here\nIs that right?')
  })

  test('is kept if its check still passes', async () => {
    await using conversation = new Conversation(flowOfForm(chain()))
    await said(conversation, 'Hello', 'Friday', 'noon', 'here')
    expect(await said(conversation, 'change day to Sunday')).toBe(
      'day: Sunday\ntime: noon\nplace: here\nIs that right?',
    )
  })

  test('is refused with the reason of its check, and keeps the value that it had', async () => {
    await using conversation = new Conversation(flowOfForm(chain()))
    await said(conversation, 'Hello', 'Sunday', 'noon', 'here')
    expect(await said(conversation, 'change time to nine')).toBe('No nine on Sunday. When on Sunday?')
    expect((await stored(conversation)).values).toEqual({ day: 'Sunday', time: 'noon', place: 'here' })
  })

  test('gets no value of a field that was skipped, and is asked nevertheless', async () => {
    const seen: unknown[] = []
    const fields: FormFields = {
      day: field(text, { optional: true, ask: 'Which day?' }),
      time: field(text, {
        needs: ['day'],
        ask: (values) => `When (${JSON.stringify(values)})?`,
        check: (_time, values) => seen.push(values) > 0 || 'never',
      }),
    }
    await using conversation = new Conversation(flowOfForm(fields))
    expect(await said(conversation, 'Hello', 'skip')).toBe('When ({})?')
    await conversation.say('9')
    expect(seen).toEqual([{}])
    // To give it after all, and to leave it empty again, are changes.
    await said(conversation, 'change day to Friday', 'change day to skip')
    expect(seen).toEqual([{}, { day: 'Friday' }, {}])
  })

  test('that is optional is asked again after it was dropped', async () => {
    const fields: FormFields = {
      day: field(text, { ask: 'Which day?' }),
      time: field(text, {
        needs: ['day'],
        optional: true,
        ask: 'When?',
        check: (time, { day }) => time !== day || 'Not the same.',
      }),
    }
    await using conversation = new Conversation(flowOfForm(fields))
    await said(conversation, 'Hello', 'a', 'b')
    expect(await said(conversation, 'change day to b')).toBe('Not the same. When?')
    expect(await said(conversation, 'skip')).toBe('day: b\nIs that right?')
  })
})

test('a check runs at the moment of the answer, so that it sees what happened meanwhile', async () => {
  const { free, Shop } = bookings()
  await using conversation = new Conversation(Shop)
  await said(conversation, 'Hello', 'brakes', 'Friday')
  free.Friday = ['11:00']
  expect(await said(conversation, '10:00')).toBe('10:00 is not free on Friday. When on Friday? Free: 11:00.')
})

test('several reasons are said in the order of the fields, before one question', async () => {
  const fields: FormFields = {
    day: field(text, { ask: 'Which day?' }),
    time: field(text, { needs: ['day'], ask: 'When?', check: (_, { day }) => day === 'a' || 'The time is gone.' }),
    place: field(text, { needs: ['day'], ask: 'Where?', check: (_, { day }) => day === 'a' || 'The place is gone.' }),
  }
  await using conversation = new Conversation(flowOfForm(fields))
  await said(conversation, 'Hello', 'change place to p', 'change time to t', 'a')
  expect(await said(conversation, 'change day to b')).toBe('The time is gone. The place is gone. When?')
})
