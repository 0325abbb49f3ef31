/** Schemas and checks of all kinds, and what is wrong with some. */
import type { StandardSchemaV1 } from '@standard-schema/spec'
import { type } from 'arktype'
import * as v from 'valibot'
import { describe, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { buttons, flowOfForm, said, stored } from '../../../testing/contract/forms/test-forms.js'
import { Conversation } from '../../../testing/index.js'
import { type Field, type FieldOptions, field } from '../index.js'

const ask = 'Which day?'

/** A conversation with a form of one field. */
async function begun<Output>(
  schema: StandardSchemaV1<unknown, Output>,
  options: Partial<FieldOptions<NoInfer<Output>, never, false>> = {},
): Promise<Conversation> {
  const day: Field = field<Output>(schema, { ask, ...options })
  const conversation = new Conversation(flowOfForm({ day }))
  await conversation.say('Hello')
  return conversation
}

/** A schema that no library has made. */
function schemaOf<Output>(
  validate: StandardSchemaV1<unknown, Output>['~standard']['validate'],
): StandardSchemaV1<unknown, Output> {
  return { '~standard': { version: 1, vendor: 'a test', validate } }
}

describe('a schema', () => {
  const isDay = (value: unknown): value is string => typeof value === 'string' && value.endsWith('day')
  test.each<[string, StandardSchemaV1<unknown, string>]>([
    ['of Zod', z.string().refine(isDay, 'That is no day.')],
    ['of Valibot, which says no JSON Schema', v.pipe(v.string(), v.endsWith('day', 'That is no day.'))],
    [
      'of ArkType',
      type('string').narrow((value, context) => isDay(value) || context.reject({ message: 'That is no day.' })),
    ],
    [
      'without a library',
      schemaOf((value) => (isDay(value) ? { value } : { issues: [{ message: 'That is no day.' }] })),
    ],
    [
      'that is asynchronous',
      schemaOf(async (value) => (isDay(value) ? { value } : { issues: [{ message: 'That is no day.' }] })),
    ],
    ['of Zod that is asynchronous', z.string().refine(async (value) => isDay(value), 'That is no day.')],
  ])('%s decides, and its issue is said', async (_what, schema) => {
    await using conversation = await begun(schema)
    conversation.expectParts([])
    expect(await said(conversation, 'tomorrow')).toBe('That is no day. Which day?')
    expect(await said(conversation, 'Friday')).toBe('day: Friday\nIs that right?')
    expect(await said(conversation, 'change day to never')).toBe('That is no day. Which day?')
    expect((await stored(conversation)).values).toEqual({ day: 'Friday' })
  })

  test('of ArkType has buttons for its values', async () => {
    await using conversation = await begun(type("'Friday' | 'Monday'"))
    expect([...buttons(conversation)].sort()).toEqual(['Friday', 'Monday'])
  })

  test('without JSON Schema reads texts: numbers stay texts, and it has no buttons', async () => {
    const seen = vi.fn()
    const schema = schemaOf((value) => {
      seen(value)
      return { value: Number(value) }
    })
    await using conversation = await begun(schema)
    conversation.expectParts([])
    await conversation.say(' 5 ')
    expect(seen.mock.calls).toEqual([['5']])
    expect((await stored(conversation)).values).toEqual({ day: 5 })
  })

  test('may make another value, which is stored and checked', async () => {
    const iso = z.string().transform((said) => (said === 'tomorrow' ? '2026-12-02' : said))
    const check = vi.fn((day: string) => day > '2026' || 'That is over.')
    await using conversation = await begun(iso, { check })
    expect(await said(conversation, 'tomorrow')).toBe('day: 2026-12-02\nIs that right?')
    expect(check.mock.lastCall?.[0]).toBe('2026-12-02')
    expect(await said(conversation, 'change day to 2020-01-01')).toBe('That is over. Which day?')
  })

  test('with several issues says all, with their places', async () => {
    const schema = schemaOf<string>(() => ({
      issues: [{ message: 'Too short.' }, { message: 'No town.', path: ['address', { key: 'town' }] }],
    }))
    await using conversation = await begun(schema)
    expect(await said(conversation, 'a')).toBe('Too short.; address.town: No town. Which day?')
  })

  test.each([
    ['That is wrong.', 'That is wrong. Which day?'],
    ['Wrong!', 'Wrong! Which day?'],
    ['What', 'What\nWhich day?'],
    ['must be a day (was "a")', 'must be a day (was "a")\nWhich day?'],
    ['違います。', '違います。 Which day?'],
  ])('says its issue before the question, on a line of its own if it is no sentence: %s', async (message, reply) => {
    await using conversation = await begun(schemaOf<string>(() => ({ issues: [{ message }] })))
    expect(await said(conversation, 'a')).toBe(reply)
  })

  test('is asked before check, which gets only what fits', async () => {
    const check = vi.fn(() => true as const)
    await using conversation = await begun(z.string().min(5, 'Too short.'), { check })
    await said(conversation, 'day', 'skip')
    expect(check).not.toHaveBeenCalled()
  })

  test('that throws is the failure of the turn', async () => {
    await using conversation = await begun(
      schemaOf(() => {
        throw new Error('The database is down.')
      }),
    )
    await conversation.say('Friday')
    conversation.expectError('FLOW_ERROR', 'The database is down.')
  })

  test.each<[string, StandardSchemaV1<unknown, unknown>, string]>([
    [
      'a date',
      z.coerce.date(),
      'Form.state.values.day is an instance of Date, which JSON cannot carry: use date.toISOString().',
    ],
    [
      'a date in an object',
      z.string().transform((said) => ({ at: new Date(said) })),
      'Form.state.values.day.at is an instance of Date, which JSON cannot carry: use date.toISOString().',
    ],
  ])('whose output is %s fails the turn with its place', async (_what, schema, message) => {
    await using conversation = await begun(schema)
    await conversation.say('2026-12-01')
    conversation.expectError('FLOW_ERROR', message)
  })

  test.each<[string, StandardSchemaV1<unknown, unknown>]>([
    ['a function', z.string().transform((said) => () => said)],
    ['not a number', z.string().transform(() => Number.NaN)],
    ['a bigint', z.string().transform((said) => BigInt(said.length))],
    ['a map', z.string().transform((said) => new Map([[said, 1]]))],
  ])('whose output is %s fails the turn', async (_what, schema) => {
    await using conversation = await begun(schema)
    await conversation.say('Friday')
    conversation.expectError('FLOW_ERROR')
    expect((await stored(conversation)).values).toEqual({})
  })
})

describe('check', () => {
  test('may be asynchronous', async () => {
    const check = async (day: string) => day !== 'Sunday' || `We are closed on ${day}.`
    await using conversation = await begun(z.string(), { check })
    expect(await said(conversation, 'Sunday')).toBe('We are closed on Sunday. Which day?')
    expect(await said(conversation, 'Friday')).toBe('day: Friday\nIs that right?')
  })

  test('gets the value, no others, and the turn', async () => {
    const check = vi.fn(() => true as const)
    await using conversation = await begun(z.string(), { check })
    await conversation.say('Friday')
    expect(check.mock.lastCall).toEqual(['Friday', {}, expect.objectContaining({ number: 2, message: 'Friday' })])
  })

  test.each([false, undefined, null, '', '  ', 0, 1, {}, []])('must return true or a text, not %j', async (result) => {
    await using conversation = await begun(z.string(), { check: () => result as never })
    await conversation.say('Friday')
    conversation.expectError(
      'FLOW_ERROR',
      "check of the field 'day' must return true, or a text that says what is wrong.",
    )
  })

  test('that fails is the failure of the turn', async () => {
    await using conversation = await begun(z.string(), { check: () => Promise.reject(new Error('No calendar.')) })
    await conversation.say('Friday')
    conversation.expectError('FLOW_ERROR', 'No calendar.')
  })
})

describe('ask', () => {
  test.each([[undefined], [7], [null], [{}]])('must give a text, not %j', async (question) => {
    const conversation = new Conversation(flowOfForm({ day: field(z.string(), { ask: () => question as never }) }))
    await using _ = conversation
    await conversation.say('Hello')
    conversation.expectError('FLOW_ERROR', 'A form must ask with texts.')
  })

  test('may be a function of the turn, and asynchronous', async () => {
    await using conversation = await begun(z.string(), {
      ask: async (_values, { number }) => `Turn ${number}: which day?`,
    })
    conversation.expectReply('Turn 1: which day?')
    expect(await said(conversation, '')).toBe('The day is needed. Turn 2: which day?')
  })
})
