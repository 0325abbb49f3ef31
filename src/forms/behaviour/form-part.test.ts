/** The form for a page: what `asPart` gives. */
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { bookings, type FormMembers, formOf, said, stored, submit } from '../../../testing/contract/forms/test-forms.js'
import { flow } from '../../../testing/contract/side-flows/talk.js'
import { Conversation } from '../../../testing/index.js'
import { type FlowConstructor, type JsonObject, type ReplyPart, reply, type Turn } from '../../index.js'
import { form } from '../../parts/index.js'
import { type FormFields, field } from '../index.js'

const text = z.string()

/** A form that is shown when it is entered. */
function pageOf(fields: FormFields, members: FormMembers = {}): FlowConstructor {
  class OnPage extends formOf(fields, members) {
    override async onEnter(turn: Turn) {
      return reply('Please fill in.').withParts([await this.asPart(turn)])
    }
  }
  return flow('Talk', [OnPage])
}

type FormPart = Extract<ReplyPart, { type: 'form' }>

/** The form that the last reply shows. `form` of `turnkeeper/parts` accepts it, as pages do. */
function shown({ reply: { parts } }: Conversation): FormPart {
  const part = parts?.find((one) => one.type === 'form') as FormPart
  expect(form(part)).toEqual(part)
  return part
}

/** What a page gets for one field. */
async function propertyOf(one: FormFields[string]): Promise<unknown> {
  await using conversation = new Conversation(pageOf({ any: one }))
  await conversation.say('Hello')
  return (shown(conversation).schema.properties as JsonObject).any
}

describe('the schema', () => {
  test('has all fields with their labels, and what is required', async () => {
    const { Booking } = bookings()
    class OnPage extends Booking {
      override async onEnter(turn: Turn) {
        return reply('Please fill in.').withParts([await this.asPart(turn)])
      }
    }
    await using conversation = new Conversation(flow('Shop', [OnPage]))
    await conversation.say('Hello')
    const repairs = ['tune-up', 'brakes', 'new tyre']
    expect(shown(conversation)).toEqual({
      type: 'form',
      name: 'Booking',
      schema: {
        type: 'object',
        properties: {
          repair: { title: 'repair', type: 'string', enum: repairs, enumNames: repairs },
          day: { title: 'day', type: 'string' },
          time: { title: 'time', type: 'string' },
          name: { title: 'name', type: 'string' },
          phone: { title: 'phone', type: 'string' },
        },
        required: ['repair', 'day', 'time', 'name'],
      },
      values: {},
    })
  })

  test.each<[string, z.ZodType, object]>([
    ['a text', text.min(2).max(9).regex(/a/), { type: 'string' }],
    ['a number', z.number().min(1).max(3), { type: 'number' }],
    ['a number that reads texts', z.coerce.number(), { type: 'number' }],
    ['a whole number', z.int(), { type: 'integer' }],
    ['a boolean', z.boolean(), { type: 'boolean' }],
    ['an enum', z.enum(['a', 'b']), { type: 'string', enum: ['a', 'b'], enumNames: ['a', 'b'] }],
    [
      'an enum whose values are numbers of the list',
      z.enum(['2', '3']),
      { type: 'string', enum: ['2', '3'], enumNames: ['2', '3'] },
    ],
    ['a mail', z.email(), { type: 'string', format: 'email' }],
    ['an address', z.url(), { type: 'string', format: 'uri' }],
    ['a date', z.iso.date(), { type: 'string', format: 'date' }],
    ['a moment', z.iso.datetime(), { type: 'string', format: 'date-time' }],
    ['a format that pages do not know', z.uuid(), { type: 'string' }],
    ['what may be missing', text.optional(), { type: 'string' }],
    ['a text that becomes something else', text.transform((said) => said.length), { type: 'string' }],
    ['a list', z.array(text), { type: 'string' }],
    ['an object', z.object({ street: text }), { type: 'string' }],
    ['one of several', z.union([z.number(), text]), { type: 'string' }],
    ['anything', z.any(), { type: 'string' }],
    ['what JSON Schema cannot say', z.date(), { type: 'string' }],
  ])('of %s', async (_what, schema, expected) => {
    expect(await propertyOf(field<unknown>(schema, { ask: 'What?', label: 'A label' }))).toEqual({
      title: 'A label',
      ...expected,
    })
  })

  test('of choices has their values and labels', async () => {
    const choices = ['9:00', { value: '10:00', label: 'Ten' }]
    const listed = { title: 'any', type: 'string', enum: ['9:00', '10:00'], enumNames: ['9:00', 'Ten'] }
    expect(await propertyOf(field(text, { ask: 'When?', choices }))).toEqual(listed)
    expect(await propertyOf(field(text, { ask: 'When?', choices: async () => choices }))).toEqual(listed)
    // A page sends the value as a text, which the form reads as a number.
    expect(await propertyOf(field(z.number(), { ask: 'When?', choices: ['10', '20'] }))).toEqual({
      ...listed,
      enum: ['10', '20'],
      enumNames: ['10', '20'],
    })
    expect(await propertyOf(field(z.boolean(), { ask: 'Is it?', choices: ['true'] }))).toEqual({
      title: 'any',
      type: 'boolean',
    })
    expect(await propertyOf(field(text, { ask: 'When?', choices: () => [] }))).toEqual({ title: 'any', type: 'string' })
  })

  test('of choices that need a value has them once it is there', async () => {
    const fields: FormFields = {
      day: field(text, { ask: 'Which day?' }),
      time: field(text, { needs: ['day'], ask: 'When?', choices: ({ day }) => [`${day} 9`, `${day} 10`] }),
    }
    await using conversation = new Conversation(pageOf(fields))
    await conversation.say('Hello')
    expect(shown(conversation).schema.properties).toMatchObject({ time: { title: 'time', type: 'string' } })
    expect((shown(conversation).schema.properties as JsonObject).time).not.toHaveProperty('enum')
    await submit(conversation, { day: 'Friday' })
    expect(shown(conversation).schema.properties).toMatchObject({ time: { enum: ['Friday 9', 'Friday 10'] } })
  })
})

describe('the values', () => {
  const fields: FormFields = {
    name: field(text, { ask: 'Your name?' }),
    pin: field(text, { ask: 'Your PIN?', secret: true }),
    guests: field(z.number(), { ask: 'How many guests?' }),
    gift: field(z.boolean(), { ask: 'A gift?' }),
    dishes: field(z.union([z.array(text), text.transform((said) => said.split(', '))]), { ask: 'Which dishes?' }),
    note: field(text, { ask: 'A note?', optional: true }),
  }

  test('are those so far, without secrets and without lists', async () => {
    await using conversation = new Conversation(pageOf(fields))
    await said(conversation, 'Hello', 'Ada', '1234', '3', 'no', 'fish, ice')
    await submit(conversation, { name: '' })
    expect(shown(conversation)).toMatchObject({ values: { name: 'Ada', guests: 3, gift: false } })
    expect(Object.keys(shown(conversation).values ?? {})).toEqual(['name', 'guests', 'gift'])
    expect((await stored(conversation)).values).toMatchObject({ pin: '1234', dishes: ['fish', 'ice'] })
    // The page has the field, so that the user can give it.
    expect(shown(conversation).schema.properties).toMatchObject({ pin: { title: 'pin', type: 'string' } })
  })

  test('are those that were given to the form, if they are right', async () => {
    class Given extends formOf({
      name: field(text.min(2, 'Too short.'), { ask: 'Your name?' }),
      mail: field(z.email(), { ask: 'Your mail?' }),
    }) {
      override initialState() {
        return { values: { name: 'A', mail: 'a@b.example' } }
      }
      override async onEnter(turn: Turn) {
        return reply('Please fill in.').withParts([await this.asPart(turn)])
      }
    }
    await using conversation = new Conversation(flow('Talk', [Given]))
    await conversation.say('Hello')
    expect(shown(conversation).values).toEqual({ mail: 'a@b.example' })
    // The message answers what is missing.
    expect(await said(conversation, 'Ada')).toBe('name: Ada\nmail: a@b.example\nIs that right?')
  })

  test('are there in the middle of the conversation, without a change of it', async () => {
    class Asked extends formOf(fields) {
      override async run(turn: Turn) {
        if (turn.message !== 'show') return super.run(turn)
        return reply('Here it is.').withParts([await this.asPart(turn)])
      }
    }
    await using conversation = new Conversation(flow('Talk', [Asked]))
    await said(conversation, 'Hello', 'Ada', 'change guests to 3')
    const before = await stored(conversation)
    await conversation.say('show')
    expect(shown(conversation).values).toEqual({ name: 'Ada', guests: 3 })
    expect(await stored(conversation)).toEqual(before)
  })
})

test('the part is frozen, and has errors only after a submission', async () => {
  await using conversation = new Conversation(pageOf({ name: field(text, { ask: 'Your name?' }) }))
  await conversation.say('Hello')
  expect(shown(conversation)).not.toHaveProperty('errors')
  expect(Object.isFrozen(shown(conversation).schema)).toBe(true)
  await submit(conversation, {})
  expect(shown(conversation).errors).toEqual({ name: 'The name is needed.' })
})

test('values that are too long together are left out, and so are errors, which the text has', async () => {
  const fields = { name: field(text, { ask: 'Your name?' }), note: field(text, { ask: 'A note?' }) }
  await using conversation = new Conversation(pageOf(fields))
  await said(conversation, 'Hello', 'Ada')
  await submit(conversation, { note: 'x'.repeat(20_000), name: '' })
  conversation.expectReply('The name is needed.')
  expect(Object.keys(shown(conversation))).toEqual(['type', 'name', 'schema'])
  expect((await stored(conversation)).values).toEqual({ name: 'Ada', note: 'x'.repeat(20_000) })
})

test('a secret is written only, and not required once it has a value', async () => {
  const fields = {
    pin: field(text, { ask: 'Your PIN?', secret: true }),
    code: field(z.enum(['a', 'b']), { ask: 'Your code?', secret: true }),
    name: field(text, { ask: 'Your name?' }),
  }
  await using conversation = new Conversation(pageOf(fields))
  await conversation.say('Hello')
  expect(shown(conversation).schema).toMatchObject({
    properties: { pin: { writeOnly: true }, code: { writeOnly: true, enum: ['a', 'b'] }, name: { title: 'name' } },
    required: ['pin', 'code', 'name'],
  })
  expect((shown(conversation).schema.properties as JsonObject).name).not.toHaveProperty('writeOnly')
  await said(conversation, '1234')
  await submit(conversation, { code: 'a' })
  expect(shown(conversation).schema.required).toEqual(['name'])
})
