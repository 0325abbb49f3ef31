/** What `field()` and `fields()` refuse. */
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { flowOfForm, said } from '../../testing/contract/forms/test-forms.js'
import { Conversation } from '../../testing/index.js'
import { FlowCodeError } from '../errors/engine-errors.js'
import { type FieldOptions, type FormFields, field } from './index.js'

const text = z.string()
const ask = 'Your name?'
const options = 'ask, label, needs, check, choices, optional, secret'

function refusal(act: () => unknown): string {
  try {
    act()
  } catch (error) {
    expect(error).toBeInstanceOf(FlowCodeError)
    return (error as Error).message
  }
  return 'nothing'
}

describe('field() refuses', () => {
  test.each<[unknown, string]>([
    [undefined, 'undefined'],
    [null, 'null'],
    ['text', "the text 'text'"],
    [{}, 'an object'],
    [{ '~standard': {} }, 'an object'],
    [{ '~standard': { validate: true } }, 'an object'],
    [() => text, 'a function without a name'],
  ])('%j as a schema', (schema, shown) => {
    expect(refusal(() => field(schema as never, { ask }))).toBe(
      `field needs a Standard Schema (Zod, Valibot, ArkType); got ${shown}.`,
    )
  })

  test.each<[string, unknown, string]>([
    ['no options', undefined, 'field: ask must be a string or function; got undefined.'],
    ['no question', {}, 'field: ask must be a string or function; got undefined.'],
    ['an empty question', { ask: '' }, "field: ask must be a string or function; got the text ''."],
    ['a number as the question', { ask: 7 }, 'field: ask must be a string or function; got 7.'],
    ['a question that is null', { ask: null }, 'field: ask must be a string or function; got null.'],
    ['an empty label', { ask, label: '' }, "field: label must be a string; got the text ''."],
    [
      'a label that is a function',
      { ask, label: () => 'a' },
      "field: label must be a string; got the function 'label'.",
    ],
    ['a text as needs', { ask, needs: 'day' }, "field: needs must be a list; got the text 'day'."],
    ['a text as check', { ask, check: 'day' }, "field: check must be a function; got the text 'day'."],
    ['an object as choices', { ask, choices: {} }, 'field: choices must be a list or function; got an object.'],
    ['a text as optional', { ask, optional: 'yes' }, "field: optional must be a boolean; got the text 'yes'."],
    ['a number as secret', { ask, secret: 1 }, 'field: secret must be a boolean; got 1.'],
    ['a null', { ask, label: null }, 'field: label must be a string; got null.'],
    ['an unknown option', { ask, required: true }, `field has no option 'required'. Its options: ${options}.`],
    ['the option of a tool', { ask, jsonSchema: {} }, `field has no option 'jsonSchema'. Its options: ${options}.`],
    ['a name of all objects', { ask, constructor: 1 }, `field has no option 'constructor'. Its options: ${options}.`],
    ['another one', { ask, toString: () => 'a' }, `field has no option 'toString'. Its options: ${options}.`],
  ])('%s', (_what, given, message) => {
    expect(refusal(() => field(text, given as FieldOptions<string, never, false>))).toBe(message)
  })
})

describe('field()', () => {
  test('takes every option, and gives a frozen field', () => {
    const all = {
      ask: () => ask,
      label: 'full name',
      needs: ['day'] as const,
      check: () => true as const,
      choices: ['Ada'],
      optional: true,
      secret: true,
    } as const
    const made = field(text, all)
    expect(made).toEqual({ ...all, schema: text })
    expect(Object.isFrozen(made)).toBe(true)
  })

  test('takes undefined for an option, as if it were not there', () => {
    expect(field(text, { ask, label: undefined, check: undefined } as never)).toMatchObject({ needs: [], ask })
  })

  test('keeps what it was given as it was', () => {
    const given = { ask }
    field(text, given)
    expect(given).toEqual({ ask })
    expect(Object.isFrozen(given)).toBe(false)
  })
})

describe('fields() is refused', () => {
  const one = field(text, { ask })
  test.each<[string, unknown, string]>([
    ['without fields', {}, "fields() of form 'Form' lists no field."],
    ['if it returns nothing', undefined, "fields() of form 'Form' lists no field."],
    ['if it returns null', null, "fields() of form 'Form' lists no field."],
    ['if it is asynchronous', Promise.resolve({ one }), "fields() of form 'Form' lists no field."],
    ['with a schema alone', { name: text }, "fields() of form 'Form': 'name' is not made with field()."],
    ['with nothing for a field', { name: undefined }, "fields() of form 'Form': 'name' is not made with field()."],
    ['with null for a field', { name: null }, "fields() of form 'Form': 'name' is not made with field()."],
    [
      'with options alone',
      { one, name: { schema: text, ask } },
      "fields() of form 'Form': 'name' is not made with field().",
    ],
    [
      'with two labels that are the same',
      { one: field(text, { ask, label: 'Name' }), other: field(text, { ask, label: ' na me' }) },
      "fields() of form 'Form': 'other' has the name or the label of 'one'.",
    ],
    [
      'with two names that are the same to users',
      { firstName: one, first_name: one },
      "fields() of form 'Form': 'first_name' has the name or the label of 'firstName'.",
    ],
    [
      'with a label that is the name of another field',
      { name: one, mail: field(text, { ask, label: 'Name' }) },
      "fields() of form 'Form': 'mail' has the name or the label of 'name'.",
    ],
    [
      'with a name that is the label of another field',
      { mail: field(text, { ask, label: 'Name' }), name: field(text, { ask, label: 'full name' }) },
      "fields() of form 'Form': 'name' has the name or the label of 'mail'.",
    ],
    [
      'with a need that is no field',
      { name: field(text, { ask, needs: ['day'] }) },
      "fields() of form 'Form': 'name' needs 'day', and no field above it has this name.",
    ],
    [
      'with a need that is below',
      { name: field(text, { ask, needs: ['day'] }), day: one },
      "fields() of form 'Form': 'name' needs 'day', and no field above it has this name.",
    ],
    [
      'with a field that needs itself',
      { name: field(text, { ask, needs: ['name'] }) },
      "fields() of form 'Form': 'name' needs 'name', and no field above it has this name.",
    ],
    [
      'with a need that every object has',
      { name: field(text, { ask, needs: ['toString'] }) },
      "fields() of form 'Form': 'name' needs 'toString', and no field above it has this name.",
    ],
  ])('%s', async (_what, declared, message) => {
    await using conversation = new Conversation(flowOfForm(() => declared as FormFields))
    await conversation.say('Hello')
    conversation.expectError('FLOW_ERROR', message)
  })
})

describe('the default label', () => {
  test.each([
    ['day', 'day'],
    ['pickUpDay', 'pick up day'],
    ['pick_up_day', 'pick up day'],
    ['pick-up--day', 'pick up day'],
    ['Day', 'day'],
    ['line2', 'line2'],
    ['deliveryURL', 'delivery url'],
  ])('of %s is its name, in words', async (name, label) => {
    await using conversation = new Conversation(flowOfForm({ [name]: field(text, { ask }) }))
    expect(await said(conversation, 'Hello', 'skip')).toBe(`The ${label} is needed. ${ask}`)
    expect(await said(conversation, `change ${label} to a`)).toBe(`${label}: a\nIs that right?`)
  })
})
