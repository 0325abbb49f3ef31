/**
 * The fields of a form as a flat JSON Schema: what MCP's elicitation (2025-06-18) allows, and `writeOnly`. For pages, and
 * for a model's tool.
 */
import type { Turn } from '../flow/turn.js'
import { markPart, type ReplyPart } from '../model/reply-part.js'
import { deepFreeze, type JsonObject } from '../util/json.js'
import type { Answers } from './answers.js'
import { jsonSchemaOfField, type NamedField, type Option } from './form-fields.js'
import { fitsReply } from './form-reply.js'

const types: readonly unknown[] = ['string', 'number', 'integer', 'boolean']
const formats: readonly unknown[] = ['email', 'uri', 'date', 'date-time']

/** A form with its values, as pages show it. */
export async function formPart(
  id: string,
  answers: Answers,
  turn: Turn,
  errors: Readonly<Record<string, string>> | undefined,
): Promise<ReplyPart> {
  const { fields } = answers
  // A page does not get a secret back, so it cannot send it again.
  const required = fields.filter((one) => one.optional !== true && !(one.secret && answers.has(one)))
  const shown = fields.filter((one) => answers.has(one) && !one.secret).map(({ name }) => name)
  const values = Object.entries(answers.values).filter(
    ([name, value]) => shown.includes(name) && typeof value !== 'object',
  )
  const properties = await propertiesOf(fields, answers, true, turn)
  const schema = { type: 'object', properties, required: required.map(({ name }) => name) }
  const empty: ReplyPart = { type: 'form', name: id, schema }
  const part: ReplyPart = { ...empty, values: Object.fromEntries(values) as JsonObject, ...(errors && { errors }) }
  // A part has a bound, and the text of the reply has the errors, too.
  return deepFreeze(markPart(fitsReply(part) ? part : empty))
}

/**
 * The properties of a JSON Schema, by field. They have no bounds: the form checks what it gets, and names problems in
 * the author's words.
 *
 * @param isForPage - Whether options have their labels, too.
 */
export async function propertiesOf(
  fields: readonly NamedField[],
  answers: Answers,
  isForPage: boolean,
  turn: Turn,
): Promise<JsonObject> {
  const properties: Record<string, JsonObject> = {}
  for (const one of fields) properties[one.name] = propertyOf(one, await answers.optionsOf(one, turn), isForPage)
  return properties
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
