/**
 * From images and files of the engine's messages to the specification's files. Nothing is fetched and nothing decoded
 * here; whether a model can read a kind of file is up to its package.
 */
import { type FilePart, type ImagePart, InvalidInputError } from '../../src/index.js'
import { isBase64 } from '../../src/util/patterns.js'
import type { FileData, SpecificationVersion, UserContent } from './language-model.js'

/** Addresses that a provider can fetch from. Others would tell it of this machine, or of nothing. */
const schemes: readonly string[] = ['https:', 'http:', 'gs:', 's3:']

/**
 * An image or a file, as the specification has it.
 *
 * @throws `InvalidInputError` where it has neither base64 nor an address that a provider can fetch from. The address is
 * not in the message: it may hold a credential.
 */
export function fileContent(part: ImagePart | FilePart, version: SpecificationVersion): UserContent {
  const { mediaType, data, url } = part
  const found = url === undefined ? bytesOf(data, part) : addressOf(url, part)
  const filename = part.type === 'file' ? part.name : undefined
  return {
    type: 'file',
    mediaType,
    data: version === 'v4' ? tagged(found) : found,
    ...(filename === undefined ? {} : { filename }),
  }
}

function tagged(found: string | URL): FileData {
  return typeof found === 'string' ? { type: 'data', data: found } : { type: 'url', url: found }
}

function bytesOf(data: unknown, part: ImagePart | FilePart): string {
  // OpenAI's package takes other text for the ID of a file that anybody in the account has uploaded.
  if (typeof data === 'string' && data !== '' && isBase64(data)) return data
  throw refusal(part, 'data must be base64, without a prefix')
}

function addressOf(url: unknown, part: ImagePart | FilePart): URL {
  const address = URL.canParse(String(url)) ? new URL(String(url)) : undefined
  if (address !== undefined && schemes.includes(address.protocol)) return address
  throw refusal(part, `url must be an absolute address with one of ${schemes.join(', ')}`)
}

function refusal({ type, mediaType }: ImagePart | FilePart, problem: string): Error {
  const kind = String(mediaType).slice(0, 40)
  return new InvalidInputError({ message: `The ${type} of type '${kind}' in a message cannot be sent: ${problem}.` })
}
