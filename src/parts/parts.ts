/** The builders of parts. Each checks its part at once, so that the error names the line that made it. */
import { flowCodeError } from '../errors/engine-errors.js'
import { FlowError } from '../errors/flow-error.js'
import { comparableText } from '../model/comparable-text.js'
import { markPart, maxPartBytes, type ReplyPart } from '../model/reply-part.js'
import { copyJson, deepFreeze, isPlainObject, type JsonObject, type JsonValue, utf8Length } from '../util/json.js'
import { isMediaType } from '../util/patterns.js'
import { shownValue } from '../util/shown-value.js'
import { checkFormSchema, withoutPatterns } from './form-schema.js'

type Part<Type extends ReplyPart['type']> = Extract<ReplyPart, { readonly type: Type }>

const maxNameLength = 200
const maxJsonDepth = 16
const customName = /^[A-Za-z][\w.-]{0,63}$/
/** In `turnkeeper/ui-message`, a `custom` part with one of these names would look like another part. */
const takenNames: readonly string[] = ['choices', 'card', 'form', 'file', 'reset']

/**
 * A list to choose from: buttons. `turn.choice` is the option that the next message chose.
 *
 * @param name - What is chosen: 1 to 200 characters.
 * @param options - At least one. Values, of at most 200 characters, and labels are not empty, and no two are the same.
 * None is the number of another option, which a text channel shows.
 * @throws `FlowCodeError`
 * @example
 * ```ts
 * return reply('Which day?').withParts([
 *   choices('day', [{ value: '2026-12-01', label: 'Tuesday' }, { value: '2026-12-04', label: 'Friday' }]),
 * ])
 * ```
 */
export function choices(
  name: string,
  options: readonly { readonly value: string; readonly label: string }[],
): Part<'choices'> {
  return made('choices', () => {
    checkText('choices', 'name', name, maxNameLength)
    if (!Array.isArray(options) || options.length === 0) {
      throw flowCodeError(`choices needs a list of at least one option; got ${shownValue(options)}.`)
    }
    const values = new Set<string>()
    const labels = new Set<string>()
    // Unlike `map`, this does not skip holes.
    const copied = Array.from(options, (option: unknown, index) => {
      const { value, label } = Object(option) as { readonly value?: unknown; readonly label?: unknown }
      const checked = {
        value: checkText('choices', `options[${index}].value`, value, maxNameLength),
        label: checkText('choices', `options[${index}].label`, label),
      }
      addOnce(values, checked.value, 'value', checked.value)
      addOnce(labels, comparableText(checked.label), 'label', checked.label)
      return checked
    })
    checkDistinct(copied)
    return { name, options: copied }
  })
}

/**
 * A title and rows of a label and a value: an order, an appointment, a price.
 *
 * @throws `FlowCodeError`
 * @example
 * ```ts
 * return reply('Here is your order.').withParts([card({ title: 'Order 4711', rows: [['Status', 'on its way']] })])
 * ```
 */
export function card(part: {
  readonly title: string
  readonly rows: readonly (readonly [string, string])[]
}): Part<'card'> {
  return made('card', () => {
    const { title, rows } = Object(part) as typeof part
    checkText('card', 'title', title)
    if (!Array.isArray(rows)) throw flowCodeError(`card needs a list of rows; got ${shownValue(rows)}.`)
    const copied = Array.from(rows, (row: unknown, index): [string, string] => {
      const [label, value, ...more] = Array.isArray(row) ? row : []
      if (typeof label === 'string' && typeof value === 'string' && more.length === 0) return [label, value]
      throw flowCodeError(`card needs rows of two texts, a label and a value; rows[${index}] is not one.`)
    })
    return { title, rows: copied }
  })
}

/**
 * Fields to fill in on the page. The page sends them as the user's event called `name`: declare it with
 * `event({ name, byUser: true, input })`.
 *
 * @param part - `schema`: a JSON Schema of type `object` whose properties are texts, numbers or booleans (what MCP
 * allows in an elicitation), such as `z.toJSONSchema` makes; each `pattern` is left out. `values`: what the fields hold
 * at first. `errors`: what is wrong, by field. Both default to nothing.
 * @throws `FlowCodeError`
 * @example
 * ```ts
 * form({ name: 'address', schema: { type: 'object', properties: { town: { type: 'string' } }, required: ['town'] } })
 * ```
 */
export function form(part: {
  readonly name: string
  readonly schema: object
  readonly values?: JsonObject
  readonly errors?: Readonly<Record<string, string>>
}): Part<'form'> {
  return made('form', () => {
    const { name, schema, values, errors } = Object(part) as typeof part
    checkText('form', 'name', name, maxNameLength)
    const copied = withoutPatterns(plain('form', 'schema', schema) as JsonObject)
    const fields = checkFormSchema(copied)
    const filled = values === undefined ? undefined : byField('values', values, fields)
    const wrong = errors === undefined ? undefined : byField('errors', errors, fields)
    const nested = Object.entries(filled ?? {}).find(([, value]) => typeof value === 'object')
    if (nested) throw flowCodeError(`form needs values.${nested[0]}: a text, a number, true or false.`)
    for (const [field, text] of Object.entries(wrong ?? {})) checkText('form', `errors.${field}`, text)
    return {
      name,
      schema: copied,
      ...(filled && { values: filled }),
      ...(wrong && { errors: wrong as Record<string, string> }),
    }
  })
}

/**
 * A file that the reader can open or save.
 *
 * @param part - `name`: as the reader sees it. `mediaType`: `type/subtype`. `url`: absolute, `https` or `http`, without a
 * user name.
 * @throws `FlowCodeError`
 * @example
 * ```ts
 * file({ name: 'invoice.pdf', mediaType: 'application/pdf', url: 'https://files.example.com/i/4711' })
 * ```
 */
export function file(part: { readonly name: string; readonly mediaType: string; readonly url: string }): Part<'file'> {
  return made('file', () => {
    const { name, mediaType, url } = Object(part) as typeof part
    checkText('file', 'name', name, maxNameLength)
    if (typeof mediaType !== 'string' || !isMediaType(mediaType)) {
      throw flowCodeError(`file needs a mediaType like 'application/pdf'; got ${shownValue(mediaType)}.`)
    }
    return { name, mediaType, url: webAddress(url) }
  })
}

/**
 * Data for a component of your own page.
 *
 * @param name - Which component: a letter, then letters, digits, `.`, `_` and `-`, at most 64; not `choices`, `card`,
 * `form`, `file` or `reset`.
 * @param data - Plain JSON.
 * @throws `FlowCodeError`
 * @example
 * ```ts
 * custom('map', { latitude: 52.52, longitude: 13.4 })
 * ```
 */
export function custom(name: string, data: JsonValue): Part<'custom'> {
  return made('custom', () => {
    if (typeof name !== 'string' || !customName.test(name) || takenNames.includes(name)) {
      throw flowCodeError(
        `custom needs a name of letters, digits, '.', '_' and '-', other than ${takenNames.join(', ')}; got ${shownValue(name)}.`,
      )
    }
    return { name, data: plain('custom', 'data', data) }
  })
}

/**
 * The text of a reply for a channel that shows only text: with its choices as a numbered list below it. The user may
 * answer with the number, the label or the value.
 *
 * @param parts - Default: none.
 * @example
 * ```ts
 * const { response, parts } = await engine.execute(input)
 * await whatsapp.send(textOf(response.message, parts))
 * ```
 */
export function textOf(text: string, parts: readonly ReplyPart[] = []): string {
  const options = parts.flatMap((part) => (part.type === 'choices' ? part.options : []))
  return [text, ...options.map(({ label }, index) => `${index + 1}. ${label}`)].join('\n')
}

function made<Type extends ReplyPart['type']>(type: Type, fields: () => Omit<Part<Type>, 'type'>): Part<Type> {
  let part: Part<Type>
  try {
    part = { type, ...fields() } as Part<Type>
  } catch (error) {
    // A getter or a proxy may throw.
    throw FlowError.isInstance(error) ? error : flowCodeError(`${type} cannot read its arguments.`, error)
  }
  const bytes = utf8Length(JSON.stringify(part))
  if (bytes <= maxPartBytes) return deepFreeze(markPart(part))
  throw flowCodeError(`${type}: a part may have at most ${maxPartBytes} bytes as JSON; this one has ${bytes}.`)
}

function checkText(builder: string, field: string, text: unknown, maxLength = maxPartBytes): string {
  if (typeof text === 'string' && text.trim() !== '' && text.length <= maxLength) return text
  const bound = maxLength === maxPartBytes ? '' : ` of at most ${maxLength} characters`
  throw flowCodeError(`${builder} needs ${field}: a text${bound} that is not empty; got ${shownValue(text)}.`)
}

/** A text channel shows numbers and labels: neither may be the value or the label of another option. */
function checkDistinct(options: readonly { readonly value: string; readonly label: string }[]): void {
  const owners = new Map(options.map((one, index) => [String(index + 1), one]))
  const checkOwner = (text: string, one: (typeof options)[number]): void => {
    const { label } = owners.get(text) ?? one
    if (label === one.label) return
    throw flowCodeError(`choices: the value or the label of '${one.label}' is the number or the label of '${label}'.`)
  }
  for (const one of options) {
    checkOwner(comparableText(one.label), one)
    owners.set(comparableText(one.label), one)
  }
  for (const one of options) checkOwner(comparableText(one.value), one)
}

function addOnce(known: Set<string>, key: string, field: string, shown: string): void {
  if (known.has(key)) throw flowCodeError(`choices has two options with the ${field} '${shown}'.`)
  known.add(key)
}

function plain(builder: string, field: string, value: unknown): JsonValue {
  return copyJson(value, field, maxJsonDepth, (problem, cause) =>
    flowCodeError(`${builder} needs plain JSON: ${problem}.`, cause),
  )
}

function byField(field: 'values' | 'errors', given: unknown, fields: readonly string[]): JsonObject {
  if (!isPlainObject(given)) throw flowCodeError(`form needs ${field} by field; got ${shownValue(given)}.`)
  const unknown = Object.keys(given).find((name) => !fields.includes(name))
  if (unknown !== undefined) throw flowCodeError(`form has ${field} for '${unknown}', which is not in its schema.`)
  return plain('form', field, given) as JsonObject
}

/** The address as `URL` writes it. Anything that a page could run, `javascript:` included, is refused. */
function webAddress(url: unknown): string {
  const parsed = typeof url === 'string' && URL.canParse(url) ? new URL(url) : undefined
  const isWeb = parsed !== undefined && ['http:', 'https:'].includes(parsed.protocol)
  if (isWeb && parsed.username === '' && parsed.password === '') return parsed.href
  throw flowCodeError('file needs an absolute url of https or http, without a user name and a password.')
}
