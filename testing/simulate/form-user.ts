/**
 * A user of a form: what is said to the open question, and what a page sends. Most answers fit the
 * schemas and the question.
 */
import { inputFor, jsonSchemaOfField, type NamedField, type Option } from '../../src/forms/form-fields.js'
import type { FormWords } from '../../src/forms/words.js'
import type { JsonObject, JsonValue, ModelRequest } from '../../src/index.js'
import { correctionOf, type FormOfSession } from '../flow-steps/form-steps.js'
import type { ScriptedReply } from '../scripted-model/scripted-model.js'
import type { ActorView } from './plan.js'

/** The open question of a form. */
export interface OpenQuestion {
  readonly form: FormOfSession
  /** What the form asked last. */
  readonly reply: string
  /** The buttons of the question. */
  readonly options: readonly Option[]
  /** What the author says that a page sends, if the author does. */
  readonly payload: JsonValue | undefined
}

type Draw = ActorView['pick']

const unasked: Pick<OpenQuestion, 'reply' | 'options'> = { reply: '', options: [] }

/** What a user does at the question of a field, and at the review; the first leads to the end. */
const atField = [...new Array<'answer'>(6).fill('answer'), 'own', 'wrong', 'skip', 'change', 'correct'] as const
const atReview = ['yes', 'yes', 'yes', 'no', 'own', 'change', 'correct'] as const

/** What a user says; `undefined`: what an actor of the simulation says. */
export function messageTo({ form, reply, options, payload }: OpenQuestion, pick: Draw): string | undefined {
  const { fields, words } = form
  if (fields.length === 0) return undefined
  const asked = fields.find(({ name }) => name === form.asked)
  const answerTo = (one: NamedField): string | undefined => {
    const given = Object(payload)[one.name] as JsonValue | undefined
    if (given !== undefined && given !== null) return textOf(given)
    const { likely, right } = answersTo(one, words, one === asked ? { reply, options } : unasked)
    const among = pick([likely, right])
    return among.length === 0 ? undefined : textOf(pick(among))
  }
  switch (pick(asked === undefined ? atReview : atField)) {
    case 'yes':
      return words.yes[0]
    case 'no':
      return words.no[0]
    case 'skip':
      return words.skip[0]
    case 'answer':
      return asked && answerTo(asked)
    case 'wrong':
      return asked && textOf(pick(answersTo(asked, words, { reply, options }).wrong))
    case 'change': {
      const pattern = words.change.find((one) => !one.includes('{value}'))
      return pattern?.replace('{field}', () => pick(fields).label)
    }
    case 'correct': {
      const one = pick(fields)
      return correctionOf(words, one.label, answerTo(one) ?? '???')
    }
    default:
      return undefined
  }
}

/** What a page sends: some fields right, some wrong, some empty, some left out. */
export function submissionOf({ fields, words }: FormOfSession, pick: Draw): JsonObject {
  const sent = fields.flatMap((one): readonly (readonly [string, JsonValue])[] => {
    const { likely, wrong } = answersTo(one, words, unasked)
    const kind = pick(['right', 'right', 'right', 'right', 'wrong', 'empty', 'left out'])
    const among = { right: likely, wrong, empty: [null], 'left out': [] }[kind] ?? []
    return among.length === 0 ? [] : [[one.name, pick(among)]]
  })
  return Object.fromEntries(sent)
}

/**
 * A model that mostly reads a message into the field that a form asks; it says `'All right.'` to anything else.
 *
 * @param asked - The field.
 */
export function formModel(asked: string | undefined): (request: ModelRequest, pick: Draw) => ScriptedReply {
  return (request, pick) => readingOf(request, asked, pick)
}

function readingOf({ messages, tools }: ModelRequest, asked: string | undefined, pick: Draw): ScriptedReply {
  const { properties } = tools.find(({ name }) => name === 'set_fields')?.inputSchema ?? {}
  const last = messages.at(-1)
  const said = last?.role === 'user' ? last.parts.find((part) => part.type === 'text')?.text : undefined
  const isKnown = asked !== undefined && Object.hasOwn(Object(properties), asked)
  if (said === undefined || !isKnown || pick([false, false, false, true])) return 'All right.'
  return { toolCalls: [{ name: 'set_fields', input: { [asked]: said } }] }
}

function textOf(value: JsonValue): string {
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}

/** Answers to the question of a field. */
interface Answers {
  /** What can be chosen, or what the question names; if there is nothing, the same as `right`. */
  readonly likely: readonly JsonValue[]
  /** What the schema takes. What the form checks besides is not known. */
  readonly right: readonly JsonValue[]
  readonly wrong: readonly JsonValue[]
}

function answersTo(
  one: NamedField,
  words: FormWords,
  { reply, options }: Pick<OpenQuestion, 'reply' | 'options'>,
): Answers {
  const isRight = (value: JsonValue): boolean => accepts(one, value, options, words)
  const listed = Array.isArray(one.choices) ? one.choices.map((choice) => choice.value ?? choice) : []
  const chosen = [...options.map(({ label }) => label), ...listed]
  const values = [...wordsOf(reply), ...valuesFor(jsonSchemaOfField(one))]
  const right = [...chosen, ...values].filter(isRight)
  // Days, times and names begin like this.
  const named = wordsOf(reply).filter((word) => /^[\p{Lu}\d]/u.test(word) && isRight(word))
  const [likely = []] = [chosen, named, right].filter(({ length }) => length > 0)
  return { likely, right, wrong: [...values.filter((value) => !isRight(value)), '???', ''] }
}

/** The words of a question: often it names what is right. */
function wordsOf(reply: string): string[] {
  const words = reply.split(/\s+/).map((word) => word.replace(/^[^\p{L}\p{N}]+|[^\p{L}\p{N}]+$/gu, ''))
  return [...new Set(words.filter((word) => word !== ''))]
}

function accepts(one: NamedField, value: JsonValue, options: readonly Option[], words: FormWords): boolean {
  try {
    const result = one.schema['~standard'].validate(inputFor(one, value, options, words))
    if (!(result instanceof Promise)) return result.issues === undefined
    // The form will know. Prevents an unhandled rejection.
    result.catch(() => undefined)
    return true
  } catch {
    return false
  }
}

const texts = ['Ada Lovelace', '12', '2030-05-17', '10:30', 'ada@example.com', 'https://example.com', '+49 731 1234567']

/** Values for a JSON Schema, some of which may not fit it. */
function valuesFor({ type, enum: listed, const: only, examples, default: preset, ...rest }: JsonObject): JsonValue[] {
  const named = [listed, examples].flatMap((values) => (Array.isArray(values) ? values : []))
  const own = [...named, ...[only, preset].filter((value) => value !== undefined)]
  if (type === 'boolean') return [...own, true, false]
  if (type === 'number' || type === 'integer') return [...own, ...numbersFor(rest)]
  const lengths = [rest.minLength, rest.maxLength].filter((length) => typeof length === 'number' && length < 1000)
  return [...own, ...texts, ...lengths.map((length) => 'x'.repeat(length as number))]
}

function numbersFor(bounds: JsonObject): number[] {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf } = bounds
  const near = [minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf].flatMap((bound) =>
    typeof bound === 'number' && Number.isSafeInteger(bound) ? [bound, bound + 1, bound - 1] : [],
  )
  return [1, 2, 12, ...near, 0, -1]
}
