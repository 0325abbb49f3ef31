/**
 * The images and files that came with a message: their forms are checked, and they are copied. The provider of a model
 * decides whether the model can read them; nothing is fetched or decoded here.
 */
import { InvalidInputError, invalidInput } from '../../errors/engine-errors.js'
import type { FilePart, ImagePart } from '../../model/message.js'
import { isPlainObject, jsonSize } from '../../util/json.js'
import { isBase64, isMediaType } from '../../util/patterns.js'
import { type EngineLimits, limitExceeded } from '../engine-limits.js'

/** No `@` in the authority: an address with a password would be stored with it. */
const addressPattern = /^https?:\/\/[^\s\p{Cc}/?#\\@]+(?:[/?#\\][^\s\p{Cc}]*)?$/iu

const none: readonly never[] = Object.freeze([])

/**
 * Checks the attachments of a turn and copies them, frozen.
 *
 * @throws {@link InvalidInputError} that names the index and the field.
 * @throws {@link LimitExceededError} where they are larger than `maxAttachmentBytes`.
 */
export function checkAttachments(given: unknown, limits: EngineLimits): readonly (ImagePart | FilePart)[] {
  if (given === undefined) return none
  if (!Array.isArray(given)) throw invalidInput('attachments must be a list.')
  const checked = Object.freeze(Array.from(given, checkAttachment))
  if (jsonSize(checked) > limits.maxAttachmentBytes) {
    throw limitExceeded(limits, 'maxAttachmentBytes', 'The size of the attachments')
  }
  return checked
}

function checkAttachment(given: unknown, index: number): ImagePart | FilePart {
  const refuse = (problem: string): Error => invalidInput(`attachments[${index}]${problem}.`)
  if (!isPlainObject(given)) throw refuse(' must be a plain object')
  const { type, mediaType, data, url, name, ...others } = given
  if (type !== 'image' && type !== 'file') throw refuse(".type must be 'image' or 'file'")
  const unknown = type === 'image' && name !== undefined ? 'name' : Object.keys(others)[0]
  if (unknown !== undefined) throw refuse(` of type '${type}' has an unknown field '${unknown}'`)
  // Without parameters: providers compare it word for word.
  if (typeof mediaType !== 'string' || !isMediaType(mediaType) || (type === 'image' && !/^image\//i.test(mediaType))) {
    const example = type === 'image' ? 'image/png' : 'application/pdf'
    throw refuse(`.mediaType must be a media type like '${example}', without parameters`)
  }
  if ((data === undefined) === (url === undefined)) throw refuse(' must have either data or url')
  if (data !== undefined && (typeof data !== 'string' || data === '' || !isBase64(data))) {
    throw refuse('.data must be bytes in base64: the standard alphabet, padded, without line breaks')
  }
  if (url !== undefined && (typeof url !== 'string' || !addressPattern.test(url) || !URL.canParse(url))) {
    throw refuse('.url must be an absolute http or https address without credentials')
  }
  if (name !== undefined && (typeof name !== 'string' || name === '' || /\p{Cc}/u.test(name))) {
    throw refuse('.name must be a string that is not empty, without control characters')
  }
  const source = data === undefined ? { url } : { data }
  const part = { type, mediaType: mediaType.toLowerCase(), ...source, ...(name === undefined ? {} : { name }) }
  return Object.freeze(part) as ImagePart | FilePart
}
