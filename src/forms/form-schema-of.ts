/** The fields of a form as a flat JSON Schema, as MCP's elicitation (2025-06-18) allows: for pages, and for a model's tool. */
import type { JsonObject } from '../util/json.js'
import { jsonSchemaOfField, type NamedField, type Option } from './form-fields.js'

const types: readonly unknown[] = ['string', 'number', 'integer', 'boolean']
const formats: readonly unknown[] = ['email', 'uri', 'date', 'date-time']

/**
 * A schema of fields. It has no bounds: the form checks what it gets, and says what is wrong in the author's words.
 *
 * @param options - What can be chosen, by field.
 * @param isKnown - Whether a field has a value.
 * @param isForPage - Whether fields that are not optional are required. A model may give any of them.
 */
export function schemaOfFields(
  fields: readonly NamedField[],
  options: ReadonlyMap<string, readonly Option[]>,
  isKnown: (one: NamedField) => boolean,
  isForPage: boolean,
): JsonObject {
  const properties = fields.map((one) => [one.name, propertyOf(one, options.get(one.name) ?? [], isForPage)])
  // A page does not get a secret back, so it cannot send it again.
  const required = fields
    .filter((one) => one.optional !== true && !(one.secret && isKnown(one)))
    .map(({ name }) => name)
  return {
    type: 'object',
    properties: Object.fromEntries(properties) as JsonObject,
    ...(isForPage ? { required } : { additionalProperties: false }),
  }
}

function propertyOf(one: NamedField, options: readonly Option[], isForPage: boolean): JsonObject {
  const { type: given, format } = jsonSchemaOfField(one)
  // JSON Schema 2020-12, Validation, section 9.4: pages show a password input.
  const common = one.secret ? { title: one.label, writeOnly: true } : { title: one.label }
  const type = types.includes(given) ? (given as string) : 'string'
  if (options.length > 0 && type !== 'boolean') {
    const values = { ...common, type: 'string', enum: options.map(({ value }) => value) }
    return isForPage ? { ...values, enumNames: options.map(({ label }) => label) } : values
  }
  return type === 'string' && formats.includes(format)
    ? { ...common, type, format: format as string }
    : { ...common, type }
}
