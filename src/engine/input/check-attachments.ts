/**
 * The images and files that came with a message: their forms are checked, and they are copied. The provider of a model
 * decides whether the model can read them; nothing is fetched or decoded here.
 */
import { InvalidInputError, invalidInput } from '../../errors/engine-errors.js'
import type { FilePart, ImagePart } from '../../model/message.js'
import { isPlainObject, jsonSize } from '../../util/json.js'
import { isBase64, isMediaType } from '../../util/patterns.js'
import { shownName } from '../../util/shown-name.js'
import { type EngineLimits, limitExceeded } from '../core/engine-limits.js'

/** No `@` in the authority: a password in the URL would be stored. */
const addressPattern = /^https?:\/\/[^\s\p{Cc}/?#\\@]+(?:[/?#\\][^\s\p{Cc}]*)?$/iu

const exampleTypes = { image: 'image/png', file: 'application/pdf' } as const

interface FieldRule {
  readonly field: 'data' | 'url' | 'name'
  readonly isValid: (value: string) => boolean
  /** The expected value, for the error message. */
  readonly form: string
}

/** The fields that may be missing, in the order in which they are checked. */
const optionalFields: readonly FieldRule[] = [
  {
    field: 'data',
    isValid: (value) => value !== '' && isBase64(value),
    form: 'bytes in base64: the standard alphabet, padded, without line breaks',
  },
  {
    field: 'url',
    isValid: (value) => addressPattern.test(value) && URL.canParse(value),
    form: 'an absolute http or https address without credentials',
  },
  {
    field: 'name',
    isValid: (value) => value !== '' && !/\p{Cc}/u.test(value),
    form: 'a string that is not empty, without control characters',
  },
]

const none: readonly never[] = Object.freeze([])

/**
 * Checks the attachments of a turn and copies them, frozen.
 *
 * @throws {@link InvalidInputError} that names the index and the field.
 * @throws {@link LimitExceededError} if they are larger than `maxAttachmentBytes`
 */
export function checkAttachments(given: unknown, limits: EngineLimits): readonly (ImagePart | FilePart)[] {
  if (given === undefined) return none
  if (!Array.isArray(given)) throw invalidInput('attachments must be a list.')
  const { maxAttachmentBytes } = limits
  const checked = Object.freeze(Array.from(given, (item, index) => checkAttachment(item, index, maxAttachmentBytes)))
  if (jsonSize(checked) > maxAttachmentBytes) {
    throw limitExceeded(limits, 'maxAttachmentBytes', 'The size of the attachments')
  }
  return checked
}

function checkAttachment(given: unknown, index: number, maxLength: number): ImagePart | FilePart {
  const refuse = (problem: string): Error => invalidInput(`attachments[${index}]${problem}.`)
  if (!isPlainObject(given)) throw refuse(' must be a plain object')
  const { type, mediaType, data, url, name, ...others } = given
  if (type !== 'image' && type !== 'file') throw refuse(".type must be 'image' or 'file'")
  const unknown = type === 'image' && name !== undefined ? 'name' : Object.keys(others)[0]
  if (unknown !== undefined) throw refuse(` of type '${type}' has an unknown field '${shownName(unknown)}'`)
  if (!isMediaTypeOf(type, mediaType)) {
    throw refuse(`.mediaType must be a media type like '${exampleTypes[type]}', without parameters`)
  }
  if ((data === undefined) === (url === undefined)) throw refuse(' must have either data or url')
  const optional = { data, url, name }
  const wrong = optionalFields.find((rule) => !isAbsentOrValid(rule, optional[rule.field], maxLength))
  if (wrong !== undefined) throw refuse(`.${wrong.field} must be ${wrong.form}`)
  const source = data === undefined ? { url } : { data }
  const part = { type, mediaType: mediaType.toLowerCase(), ...source, ...(name === undefined ? {} : { name }) }
  return Object.freeze(part) as ImagePart | FilePart
}

/** Without parameters: providers compare it word for word. */
function isMediaTypeOf(type: 'image' | 'file', value: unknown): value is string {
  return typeof value === 'string' && isMediaType(value) && (type === 'file' || /^image\//i.test(value))
}

/** A text over `maxLength` is not read, because its size is refused: parsing a long address takes far longer. */
function isAbsentOrValid({ isValid }: FieldRule, value: unknown, maxLength: number): boolean {
  return value === undefined || (typeof value === 'string' && (value.length > maxLength || isValid(value)))
}
