/** The schemas of forms: flat, of texts, numbers and yes-or-no fields. */
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import type { JsonObject } from '../util/json.js'
import { form } from './index.js'

const town = { type: 'string' }
const withSchema = (schema: unknown, more: object = {}) =>
  form({ name: 'address', schema: schema as JsonObject, ...more })
const withField = (field: unknown) => withSchema({ type: 'object', properties: { town: field } })
const flowError = (message: string) => expect.objectContaining({ code: 'FLOW_ERROR', message })

test('takes each keyword that it allows, and copies the schema', () => {
  const schema = {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    ...{ type: 'object', title: 'Delivery', description: 'Where to.', additionalProperties: false },
    properties: {
      mail: {
        type: 'string',
        title: 'Mail',
        description: 'a',
        default: '',
        minLength: 3,
        maxLength: 9,
        format: 'email',
      },
      glaze: { type: 'string', enum: ['g', 'b'], enumNames: ['green', 'blue'] },
      pin: { type: 'string', writeOnly: true },
      weight: { type: 'number', minimum: 0.5, maximum: 9.5, default: 1.5 },
      pots: { type: 'integer', minimum: 1, maximum: 9, default: 1 },
      gift: { type: 'boolean', default: false },
    },
    required: ['mail', 'pots'],
  }
  const part = withSchema(schema)
  expect(part.schema).toEqual(schema)
  schema.properties.mail.title = 'Changed'
  expect(part.schema).not.toEqual(schema)
})

test.each([['email'], ['uri'], ['date'], ['date-time']])('takes the format %s', (format) => {
  expect(() => withField({ type: 'string', format })).not.toThrow()
})

test('required may be empty', () => {
  expect(() => withSchema({ type: 'object', properties: { town }, required: [] })).not.toThrow()
})

describe('the schema is refused:', () => {
  const whole = (got: string) => `form needs a schema of type 'object' with properties; got ${got}.`
  test.each<[string, unknown, string]>([
    ['missing', undefined, 'form needs plain JSON: schema is undefined, which JSON cannot carry.'],
    ['null', null, whole('null')],
    ['a list', [], whole('a list')],
    ['of another type', { type: 'array', properties: { town } }, whole('an object')],
    ['of two types', { type: ['object'], properties: { town } }, whole('an object')],
    ['without properties', { type: 'object' }, whole('an object')],
    ['with no property', { type: 'object', properties: {} }, 'form needs a schema with at least one property.'],
    [
      'with a reference',
      { type: 'object', properties: { town }, $ref: '#' },
      "form: its schema may not have '$ref'. Allowed: $schema, type, title, description, properties, required, additionalProperties.",
    ],
    [
      'a title that is no text',
      { type: 'object', properties: { town }, title: { html: 'a' } },
      'form: title of its schema must be a text; got an object.',
    ],
    [
      'more fields by a schema',
      { type: 'object', properties: { town }, additionalProperties: town },
      'form: additionalProperties of its schema must be true or false; got an object.',
    ],
    [
      'required is no list',
      { type: 'object', properties: { town }, required: 'town' },
      "form: required of its schema must be a list of texts; got the text 'town'.",
    ],
    [
      'required names another field',
      { type: 'object', properties: { town }, required: ['toString'] },
      'form: required must list properties of its schema.',
    ],
    [
      'a key that changes prototypes',
      JSON.parse('{"type":"object","properties":{"__proto__":{"type":"string"}}}'),
      'form needs plain JSON: schema.properties has a key named __proto__, which is reserved.',
    ],
  ])('%s', (_what, schema, message) => {
    expect(() => withSchema(schema)).toThrow(flowError(message))
  })
})

describe('a field is refused:', () => {
  const type = (got: string) =>
    `form: the field 'town' must have the type string, number, integer, boolean; got ${got}.`
  const must = (keyword: string, kind: string) => `form: ${keyword} of the field 'town' must be ${kind}.`
  test.each<[string, unknown, string]>([
    ['null', null, type('null')],
    ['without a type', { enum: ['a'] }, type('an object')],
    ['nested', { type: 'object', properties: {} }, type('an object')],
    ['of a type that objects inherit', { type: 'constructor' }, type('an object')],
    ['of a list of types', { type: ['string'] }, type('an object')],
    [
      'with a constant',
      { type: 'string', const: 'Bath' },
      "form: the field 'town' may not have 'const'. Allowed: type, title, description, writeOnly, default, minLength, maxLength, format, enum, enumNames.",
    ],
    [
      'with a keyword of another type',
      { type: 'boolean', minimum: 1 },
      "form: the field 'town' may not have 'minimum'. Allowed: type, title, description, default.",
    ],
    ['a title that is no text', { type: 'string', title: { html: 'a' } }, must('title', 'a text; got an object')],
    [
      'a description that is no text',
      { type: 'number', description: ['a'] },
      must('description', 'a text; got a list'),
    ],
    [
      'a length that is no number',
      { type: 'string', minLength: 'a' },
      must('minLength', "a whole number; got the text 'a'"),
    ],
    ['half a length', { type: 'string', maxLength: 1.5 }, must('maxLength', 'a whole number; got 1.5')],
    ['a bound that is no number', { type: 'integer', maximum: '9' }, must('maximum', "a number; got the text '9'")],
    [
      'an unknown format',
      { type: 'string', format: 'html' },
      must('format', "one of email, uri, date, date-time; got the text 'html'"),
    ],
    [
      'a default of another type',
      { type: 'boolean', default: 'yes' },
      must('default', "true or false; got the text 'yes'"),
    ],
    ['half a default', { type: 'integer', default: 0.5 }, must('default', 'a whole number; got 0.5')],
    ['an empty enum', { type: 'string', enum: [] }, must('enum', 'a list of texts that is not empty; got a list')],
    [
      'an enum of numbers',
      { type: 'string', enum: [1] },
      must('enum', 'a list of texts that is not empty; got a list'),
    ],
    [
      'names that are no texts',
      { type: 'string', enum: ['a'], enumNames: [1] },
      must('enumNames', 'a list of texts; got a list'),
    ],
    [
      'a name too few',
      { type: 'string', enum: ['a', 'b'], enumNames: ['A'] },
      "form: the field 'town' needs one of its enumNames for each of its enum.",
    ],
    [
      'names without an enum',
      { type: 'string', enumNames: ['A'] },
      "form: the field 'town' needs one of its enumNames for each of its enum.",
    ],
  ])('%s', (_what, field, message) => {
    expect(() => withField(field)).toThrow(flowError(message))
  })
})

describe('values and errors are refused:', () => {
  const schema = { type: 'object', properties: { town } }
  test.each<[string, object, string]>([
    ['a list of values', { values: ['Berlin'] }, 'form needs values by field; got a list.'],
    ['null', { errors: null }, 'form needs errors by field; got null.'],
    ['an instance', { values: new Map() }, "form needs values by field; got an object of the class 'Map'."],
    ['an unknown field', { values: { toString: 'a' } }, "form has values for 'toString', which is not in its schema."],
    [
      'an error of an unknown field',
      { errors: { city: 'a' } },
      "form has errors for 'city', which is not in its schema.",
    ],
    ['a nested value', { values: { town: ['Berlin'] } }, 'form needs values.town: a text, a number, true or false.'],
    ['null as a value', { values: { town: null } }, 'form needs values.town: a text, a number, true or false.'],
    ['NaN', { values: { town: Number.NaN } }, 'form needs plain JSON: values.town is NaN, which JSON cannot carry.'],
    ['an error that is no text', { errors: { town: 7 } }, 'form needs errors.town: a text that is not empty; got 7.'],
    ['no name', { name: '' }, "form needs name: a text of at most 200 characters that is not empty; got the text ''."],
  ])('%s', (_what, more, message) => {
    expect(() => withSchema(schema, more)).toThrow(flowError(message))
  })
})

test('takes what a schema library makes, without the patterns, which a page would run on what users type', () => {
  const Contact = z.object({ mail: z.email(), guests: z.int().min(1).optional(), size: z.enum(['S', 'L']) })
  const { schema } = form({ name: 'contact', schema: z.toJSONSchema(Contact) })
  expect(schema).toMatchObject({ type: 'object', required: ['mail', 'size'] })
  expect(schema.properties).toMatchObject({ mail: { type: 'string', format: 'email' }, guests: { type: 'integer' } })
  expect(JSON.stringify(schema)).not.toContain('pattern')
})
