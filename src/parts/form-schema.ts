/** The schemas that a `form` may have: MCP's elicitation, 2025-06-18, "Requested Schema". */
import { flowCodeError } from '../errors/engine-errors.js'
import { isPlainObject, type JsonObject } from '../util/json.js'
import { shownValue } from '../util/shown-value.js'

/** By the type of a field: what it may say, beside its type, title, description and default. */
const keywords: Readonly<Record<string, readonly string[]>> = {
  string: ['minLength', 'maxLength', 'format', 'enum', 'enumNames'],
  number: ['minimum', 'maximum'],
  integer: ['minimum', 'maximum'],
  boolean: [],
}
const common = ['type', 'title', 'description', 'default']
const ofObject = ['$schema', 'type', 'title', 'description', 'properties', 'required', 'additionalProperties']

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
  for (const [name, field] of Object.entries(schema.properties)) checkField(name, field)
  const { required = [] } = schema
  if (!Array.isArray(required) || !required.every((name) => fields.includes(name as string))) {
    throw flowCodeError('form: required must list properties of its schema.')
  }
  return fields
}

function checkField(name: string, field: unknown): void {
  const allowed = isPlainObject(field) ? keywords[String(field.type)] : undefined
  if (allowed === undefined) {
    throw flowCodeError(
      `form: the field '${name}' must have the type ${Object.keys(keywords).join(', ')}; got ${shownValue(field)}.`,
    )
  }
  checkKeywords(`the field '${name}'`, field as object, [...common, ...allowed])
  const { enum: values } = field as { readonly enum?: unknown }
  if (values === undefined || (Array.isArray(values) && values.every((one) => typeof one === 'string'))) return
  throw flowCodeError(`form: the enum of the field '${name}' must be a list of texts.`)
}

function checkKeywords(owner: string, schema: object, allowed: readonly string[]): void {
  const unknown = Object.keys(schema).find((keyword) => !allowed.includes(keyword))
  if (unknown === undefined) return
  throw flowCodeError(`form: ${owner} may not have '${unknown}'. Allowed: ${allowed.join(', ')}.`)
}
