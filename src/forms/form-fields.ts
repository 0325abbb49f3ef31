/** The fields of one form: checked, in order, with their labels and with what can be chosen. */
import { flowCodeError } from '../errors/engine-errors.js'
import type { Turn } from '../flow/turn.js'
import { jsonSchemaOf } from '../model/json-schema.js'
import type { JsonObject } from '../util/json.js'
import type { Field, FieldChoice, FormFields } from './field.js'
import { type FormWords, plainText } from './words.js'

/** A field with its name and its label. */
export interface NamedField extends Field {
  readonly name: string
  readonly label: string
  /** All fields that must have their values before it is asked: what it needs, and what those need. */
  readonly before: readonly string[]
}

/** An option, as a button shows it. */
export interface Option {
  readonly value: string
  readonly label: string
}

/**
 * The fields in the order of the questions.
 *
 * @throws `FlowCodeError` if there is none, two have one label, or one needs a field that is not above it
 */
export function namedFields(stepId: string, declared: FormFields): readonly NamedField[] {
  const fields: NamedField[] = []
  const owners = new Map<string, string>()
  for (const [name, one] of Object.entries(Object(declared) as FormFields)) {
    const refuse = (problem: string): Error => flowCodeError(`fields() of form '${stepId}': '${name}' ${problem}.`)
    if (!Array.isArray(one?.needs)) throw refuse('is not made with field()')
    const label = one.label ?? inWords(name)
    for (const word of new Set([plainText(name), plainText(label)])) {
      const other = owners.get(word)
      if (other !== undefined) throw refuse(`has the name or the label of '${other}'`)
      owners.set(word, name)
    }
    const unknown = one.needs.find((need) => !fields.some((above) => above.name === need))
    if (unknown !== undefined) throw refuse(`needs '${unknown}', and no field above it has this name`)
    const before = fields
      .filter((above) => one.needs.includes(above.name))
      .flatMap((above) => [...above.before, above.name])
    fields.push({ ...one, name, label, before: [...new Set(before)] })
  }
  if (fields.length === 0) throw flowCodeError(`fields() of form '${stepId}' lists no field.`)
  return fields
}

/** `pickUpDay` as `pick up day`. */
function inWords(name: string): string {
  return name.replaceAll(/[_-]+|(?<=[a-z])(?=[A-Z])/g, ' ').toLowerCase()
}

/** What the schema accepts, if its library can say it; otherwise texts. */
export function jsonSchemaOfField({ schema, name }: NamedField): JsonObject {
  try {
    return jsonSchemaOf(schema, 'input', `field '${name}'`)
  } catch {
    // It reads what users write, which is text.
    return { type: 'string' }
  }
}

/** What can be chosen for a field, which has the values that it needs. */
export async function optionsOf(
  one: NamedField,
  needed: Readonly<Record<string, unknown>>,
  turn: Turn,
  { yes, no }: FormWords,
): Promise<readonly Option[]> {
  const { choices, name } = one
  if (choices !== undefined) {
    const given: unknown = typeof choices === 'function' ? await choices(needed, turn) : choices
    if (Array.isArray(given) && given.every(isChoice)) return given.map(optionOf)
    throw flowCodeError(`choices of the field '${name}' must be a list of texts, or of { value, label }.`)
  }
  const { type, enum: values } = jsonSchemaOfField(one)
  if (type === 'boolean') {
    const labels = { true: yes[0] ?? 'true', false: no[0] ?? 'false' }
    return Object.entries(labels).map(([value, label]) => ({ value, label }))
  }
  return Array.isArray(values) && values.every((value) => typeof value === 'string') ? values.map(optionOf) : []
}

function isChoice(value: unknown): value is FieldChoice {
  const { value: own, label } = Object(value) as Partial<Option>
  const isText = (text: unknown): boolean => typeof text === 'string' && text.trim() !== ''
  return isText(value) || (isText(own) && isText(label))
}

/** A copy: the author's object may be a row of a database. */
function optionOf(option: FieldChoice): Option {
  const { value, label } = typeof option === 'string' ? { value: option, label: option } : option
  return { value, label }
}

/** What a user, a page or a model gave for a field, as its schema expects it. */
export function inputFor(one: NamedField, given: unknown, options: readonly Option[], words: FormWords): unknown {
  if (typeof given !== 'string') return given
  const text = given.trim()
  const said = plainText(text)
  const isMeant = (word: string): boolean => plainText(word) === said
  const chosen =
    options.find(({ value }) => value === text) ?? options.find(({ value, label }) => isMeant(label) || isMeant(value))
  const input = chosen?.value ?? text
  const { type } = jsonSchemaOfField(one)
  if (type === 'boolean') return flagFor(input, words.yes.some(isMeant), words.no.some(isMeant))
  const isNumber = (type === 'number' || type === 'integer') && Number.isFinite(Number(input))
  return isNumber ? Number(input) : input
}

function flagFor(input: string, isYes: boolean, isNo: boolean): string | boolean {
  if (isYes || input === 'true') return true
  return isNo || input === 'false' ? false : input
}
