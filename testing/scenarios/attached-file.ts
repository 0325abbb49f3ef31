/** A file beside the scenario file, as an attachment of a message. */

import type { FlowRunInput } from '../../src/index.js'
import { HttpContentType } from '../../src/index.js'
import { ExpectationError } from '../expectations/expectation-error.js'
import { readBytes } from '../recording/read-folder.js'

/** The media types, by the end of the file's name. */
const mediaTypes: Readonly<Record<string, string>> = {
  csv: HttpContentType.Csv,
  gif: HttpContentType.Gif,
  jpeg: HttpContentType.Jpeg,
  jpg: HttpContentType.Jpeg,
  json: HttpContentType.Json,
  pdf: HttpContentType.Pdf,
  png: HttpContentType.Png,
  txt: HttpContentType.Plain,
  webp: HttpContentType.Webp,
}

/**
 * Reads the file.
 *
 * @param scenarioFile - The path of the scenario file.
 * @throws `ExpectationError` (rejects) if there is no such file.
 */
export async function attachedFile(
  scenarioFile: string,
  name: string,
): Promise<NonNullable<FlowRunInput['attachments']>[number]> {
  const folder = scenarioFile.replace(/[^\\/]*$/, '')
  const bytes = await readBytes(folder + name).catch((cause: unknown) => {
    throw new ExpectationError(`The file cannot be read. It must be beside this scenario file: ${name}`, { cause })
  })
  const data = bytes.toString('base64')
  const mediaType = mediaTypes[/[^.]*$/.exec(name.toLowerCase())?.[0] ?? ''] ?? HttpContentType.OctetStream
  if (mediaType.startsWith('image/')) return { type: 'image', mediaType, data }
  return { type: 'file', mediaType, name: name.replace(/^.*[\\/]/, ''), data }
}
