/**
 * Raw replies: the text or bytes alone, with headers that make them harmless in a browser. The option `rawHeaders`
 * changes those.
 */
import type { RunResponseType } from '../../../src/index.js'
import { invalidInput } from '../../../src/util/options.js'
import { isContentType } from '../../../src/util/patterns.js'
import type { HeaderRecord } from '../core/header-names.js'
import { safeHeaders } from './common-headers.js'

const ownHeaders = /^(?:content-type|content-length|transfer-encoding|connection|chat[-_].*|access-control-.*)$/i

/** Types whose scripts a browser would run: HTML, XHTML, SVG and other XML. */
const executable =
  /^(?:text\/html|text\/xsl|(?:text|application)\/xml|multipart\/x-mixed-replace|[^;\s]+\+xml)\s*(?:;|$)/i

/**
 * @throws `InvalidInputError` for a name or value that cannot be a header, and for a header that the adapter sets
 * itself.
 */
export function checkRawHeaders(rawHeaders: Readonly<Record<string, string | null>>, caller: string): void {
  if (typeof rawHeaders !== 'object' || rawHeaders === null)
    throw invalidInput(`${caller}: rawHeaders must be an object.`)
  for (const [name, value] of Object.entries(rawHeaders)) {
    if (ownHeaders.test(name)) throw invalidInput(`${caller}: rawHeaders cannot set '${name}'.`)
    try {
      if (value !== null && typeof value !== 'string') throw new Error('The value is neither a string nor null.')
      new Headers([[name, value ?? '']])
    } catch (cause) {
      throw invalidInput(`${caller}: rawHeaders '${name}' is not a valid header.`, cause)
    }
  }
}

/** The headers of raw replies, by content type. They are made once; a reply only looks up its type. */
export function createRawHeaders(
  overrides: Readonly<Record<string, string | null>> = {},
): (contentType: string) => Readonly<HeaderRecord> {
  const forAny = override(safeHeaders, overrides)
  const forExecutable = override({ ...safeHeaders, 'Content-Security-Policy': 'sandbox' }, overrides)
  return (contentType) => (executable.test(contentType) ? forExecutable : forAny)
}

function override(headers: Readonly<HeaderRecord>, overrides: Readonly<Record<string, string | null>>): HeaderRecord {
  const result = { ...headers }
  for (const [name, value] of Object.entries(overrides)) {
    for (const present of Object.keys(result)) if (present.toLowerCase() === name.toLowerCase()) delete result[present]
    if (value !== null) result[name] = value
  }
  return result
}

/** `undefined` if the type or the bytes cannot be sent; then the envelope carries the message. */
export function rawBody(
  { contentType, message }: RunResponseType,
  encoding: 'base64' | undefined,
): string | Uint8Array<ArrayBuffer> | undefined {
  if (!isContentType(contentType)) return undefined
  if (encoding !== 'base64') return message
  try {
    return Uint8Array.from(atob(message), (character) => character.charCodeAt(0))
  } catch {
    return undefined
  }
}

/** Text types are sent as UTF-8, unless they name another charset. */
export function withCharset(contentType: string): string {
  const unquoted = contentType.replace(/"(?:[^"\\]|\\.)*"/g, '""')
  return /^text\//i.test(contentType) && !/;[ \t]*charset=/i.test(unquoted)
    ? `${contentType}; charset=utf-8`
    : contentType
}
