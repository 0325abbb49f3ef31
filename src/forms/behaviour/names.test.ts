/** Names that mean something to JavaScript, to the engine or to the form: as fields, and in what a page sends. */
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { bookings, flowOfForm, said, stored, submit } from '../../../testing/contract/forms/test-forms.js'
import { Conversation } from '../../../testing/index.js'
import { type FormFields, field } from '../index.js'

const text = z.string()

describe('unknown fields are ignored', () => {
  test.each<[string, string]>([
    ['of any name', '{ "colour": "red", "name": "Ada" }'],
    [
      'of the names that every object has',
      '{ "constructor": "x", "toString": 1, "hasOwnProperty": {}, "name": "Ada" }',
    ],
    [
      'of the names of the state',
      '{ "values": {}, "reviewing": true, "asking": "day", "skipped": ["day"], "name": "Ada" }',
    ],
  ])('%s', async (_what, json) => {
    await using conversation = new Conversation(bookings().Shop)
    await conversation.say('Hello')
    await submit(conversation, JSON.parse(json), 'Booking')
    expect(await stored(conversation, 'Booking')).toEqual({ values: { name: 'Ada' }, asking: 'repair', wrong: 1 })
    const { parts: [part] = [] } = conversation.reply
    expect(part).toMatchObject({ type: 'form' })
    const errors = Object.entries((part as { readonly errors?: object }).errors ?? {})
    expect(errors).toEqual(['repair', 'day', 'time'].map((one) => [one, `The ${one} is needed.`]))
  })
})

describe('a field may have a name that every object has', () => {
  const fields = {
    constructor: field(text, { ask: 'The constructor?' }),
    toString: field(text.min(2, 'Too short.'), { ask: 'As a text?', optional: true }),
    valueOf: field(text, { ask: 'Its value?', optional: true }),
  } as FormFields

  test('by page', async () => {
    await using conversation = new Conversation(flowOfForm(fields))
    await conversation.say('Hello')
    await submit(conversation, {})
    conversation.expectReply('The constructor is needed.')
    expect(conversation.reply.parts).toMatchObject([
      { values: {}, errors: { constructor: 'The constructor is needed.' } },
    ])
    await submit(conversation, { constructor: 'Ada', toString: 'x' } as never)
    conversation.expectReply('Too short.')
    await submit(conversation, { toString: 'xy' } as never)
    conversation.expectReply('constructor: Ada\nto string: xy\nIs that right?')
    expect(await said(conversation, 'yes')).toBe('Done: {"constructor":"Ada","toString":"xy"}')
  })

  test('by text', async () => {
    await using conversation = new Conversation(flowOfForm(fields))
    expect(await said(conversation, 'Hello')).toBe('The constructor?')
    expect(await said(conversation, 'Ada', 'skip')).toBe('Its value?')
    expect(await said(conversation, 'skip', 'change to string to xy')).toBe(
      'constructor: Ada\nto string: xy\nIs that right?',
    )
    expect(await said(conversation, 'yes')).toBe('Done: {"constructor":"Ada","toString":"xy"}')
  })
})

test('fields may have the names of the state', async () => {
  const fields = {
    values: field(text, { ask: 'Which values?' }),
    skipped: field(text, { ask: 'What was skipped?', optional: true }),
    asking: field(text, {
      ask: 'Who asks?',
      needs: ['values'],
      check: (_, { values }) => values === 'a' || 'Not them.',
    }),
  }
  await using conversation = new Conversation(flowOfForm(fields))
  expect(await said(conversation, 'Hello', 'a', 'skip', 'Ada')).toBe('values: a\nasking: Ada\nIs that right?')
  expect(await said(conversation, 'change values to b')).toBe('Not them. Who asks?')
  await submit(conversation, { values: 'a', asking: 'Ada', skipped: 'b' })
  conversation.expectReply('values: a\nskipped: b\nasking: Ada\nIs that right?')
})
