/**
 * Translates images and files of the engine's messages into files of the AI SDK specification. Nothing is fetched or
 * decoded here; whether a model can read a type of file is up to its package.
 */
import type { FilePart, ImagePart } from '../../src/index.js'
import { invalidInput } from '../../src/util/options.js'
import { isBase64 } from '../../src/util/patterns.js'
import type { FileData, SpecificationVersion, UserContent } from './language-model.js'

/**
 * Schemes of URLs that a provider can fetch. A URL with another one, such as `file:`, could only refer to this machine.
 */
const schemes: readonly string[] = ['https:', 'http:', 'gs:', 's3:']

/**
 * The specification's content for an image or a file.
 *
 * @throws `InvalidInputError` if it has neither base64 nor a URL that a provider can fetch. The message does not
 * contain the URL, which may hold a credential.
 */
export function fileContent(part: ImagePart | FilePart, version: SpecificationVersion): UserContent {
  const { mediaType, data, url } = part
  const source = url === undefined ? checkedBase64(data, part) : checkedUrl(url, part)
  const filename = part.type === 'file' ? part.name : undefined
  return {
    type: 'file',
    mediaType,
    data: version === 'v4' ? tagged(source) : source,
    ...(filename === undefined ? {} : { filename }),
  }
}

function tagged(source: string | URL): FileData {
  return typeof source === 'string' ? { type: 'data', data: source } : { type: 'url', url: source }
}

function checkedBase64(data: unknown, part: ImagePart | FilePart): string {
  // Without this check, OpenAI's package would take any other text for the ID of a file in the account's storage.
  if (typeof data === 'string' && data !== '' && isBase64(data)) return data
  throw refusal(part, 'data must be base64 without a prefix')
}

function checkedUrl(url: unknown, part: ImagePart | FilePart): URL {
  const parsed = URL.canParse(String(url)) ? new URL(String(url)) : undefined
  if (parsed !== undefined && schemes.includes(parsed.protocol)) return parsed
  throw refusal(part, `url must be an absolute URL with one of the schemes ${schemes.join(', ')}`)
}

function refusal({ type, mediaType }: ImagePart | FilePart, problem: string): Error {
  const kind = String(mediaType).slice(0, 40)
  return invalidInput(`The ${type} of type '${kind}' in a message cannot be sent: ${problem}.`)
}
