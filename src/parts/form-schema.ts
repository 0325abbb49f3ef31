/** The schemas that a `form` may have: MCP's elicitation, 2025-06-18, "Requested Schema". */
import { flowCodeError } from '../errors/engine-errors.js'
import { isPlainObject, type JsonObject } from '../util/json.js'
import { shownName } from '../util/shown-name.js'
import { shownValue } from '../util/shown-value.js'

/** What a keyword may hold. */
interface Kind {
  readonly is: (value: unknown) => boolean
  readonly named: string
}

const text: Kind = { is: (value) => typeof value === 'string', named: 'a text' }
const number: Kind = { is: (value) => typeof value === 'number', named: 'a number' }
const integer: Kind = { is: Number.isInteger, named: 'a whole number' }
const flag: Kind = { is: (value) => typeof value === 'boolean', named: 'true or false' }
const texts: Kind = { is: (value) => Array.isArray(value) && value.every(text.is), named: 'a list of texts' }
const someTexts: Kind = {
  is: (value) => texts.is(value) && (value as readonly unknown[]).length > 0,
  named: 'a list of texts that is not empty',
}
const formats: readonly unknown[] = ['email', 'uri', 'date', 'date-time']
const format: Kind = { is: (value) => formats.includes(value), named: `one of ${formats.join(', ')}` }

type Keywords = Readonly<Record<string, Kind>>

const words: Keywords = { type: text, title: text, description: text }
/** Of JSON Schema, 2020-12, Validation, section 9.4: a password. MCP does not have it. */
const secret: Keywords = { writeOnly: flag }
const bounds: Keywords = { minimum: number, maximum: number }
const lengths: Keywords = { minLength: integer, maxLength: integer }
const ofObject: Keywords = {
  ...{ $schema: text, ...words },
  properties: { is: isPlainObject, named: 'an object' },
  required: texts,
  additionalProperties: flag,
}
/** The keywords of each type of field. */
const ofField: ReadonlyMap<unknown, Keywords> = new Map([
  ['string', { ...words, ...secret, default: text, ...lengths, format, enum: someTexts, enumNames: texts }],
  ['number', { ...words, default: number, ...bounds }],
  ['integer', { ...words, default: integer, ...bounds }],
  ['boolean', { ...words, default: flag }],
])

/**
 * Checks a schema.
 *
 * @returns the names of its fields
 * @throws `FlowCodeError`
 */
export function checkFormSchema(schema: JsonObject): readonly string[] {
  if (!isPlainObject(schema) || schema.type !== 'object' || !isPlainObject(schema.properties)) {
    throw flowCodeError(`form needs a schema of type 'object' with properties; got ${shownValue(schema)}.`)
  }
  checkKeywords('its schema', schema, ofObject)
  const fields = Object.keys(schema.properties)
  if (fields.length === 0) throw flowCodeError('form needs a schema with at least one property.')
  for (const [name, field] of Object.entries(schema.properties)) checkField(`the field '${shownName(name)}'`, field)
  const { required = [] } = schema
  if ((required as readonly string[]).every((name) => fields.includes(name))) return fields
  throw flowCodeError('form: required must list properties of its schema.')
}

function checkField(owner: string, field: unknown): void {
  const allowed = isPlainObject(field) ? ofField.get(field.type) : undefined
  if (allowed === undefined) {
    const types = [...ofField.keys()].join(', ')
    throw flowCodeError(`form: ${owner} must have the type ${types}; got ${shownValue(field)}.`)
  }
  const { enum: values, enumNames: names } = field as Readonly<Record<string, readonly unknown[] | undefined>>
  checkKeywords(owner, field as object, allowed)
  if (names === undefined || names.length === values?.length) return
  throw flowCodeError(`form: ${owner} needs one of its enumNames for each of its enum.`)
}

function checkKeywords(owner: string, schema: object, allowed: Keywords): void {
  for (const [keyword, value] of Object.entries(schema)) {
    const kind = Object.hasOwn(allowed, keyword) ? allowed[keyword] : undefined
    if (kind === undefined) {
      throw flowCodeError(
        `form: ${owner} may not have '${shownName(keyword)}'. Allowed: ${Object.keys(allowed).join(', ')}.`,
      )
    }
    if (!kind.is(value))
      throw flowCodeError(`form: ${keyword} of ${owner} must be ${kind.named}; got ${shownValue(value)}.`)
  }
}

/** A schema without the `pattern` of its fields, as schema libraries write it: a page would run it on what users type. */
export function withoutPatterns(schema: JsonObject): JsonObject {
  const { properties } = Object(schema) as JsonObject
  if (!isPlainObject(properties)) return schema
  const fields = Object.entries(properties).map(([name, field]) => {
    if (!isPlainObject(field)) return [name, field]
    const { pattern: _pattern, ...rest } = field
    return [name, rest]
  })
  return { ...schema, properties: Object.fromEntries(fields) as JsonObject }
}
