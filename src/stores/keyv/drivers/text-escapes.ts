/**
 * How a text is stored. Databases change some texts or refuse them: Postgres cannot store NUL, and none of them stores
 * half of a surrogate pair. Such texts are written as JSON, all others as they are. Equal texts stay equal and
 * different ones different, so that a key can be compared as it is stored.
 */

/** NUL, and surrogates without their other half. */
const hostile = /[\0\p{Surrogate}]/u

/** The form in which `text` is stored. */
export function encodeText(text: string): string {
  return text.startsWith('"') || hostile.test(text) ? JSON.stringify(text) : text
}

/** The text that {@link encodeText} was given. */
export function decodeText(stored: string): string {
  return stored.startsWith('"') ? (JSON.parse(stored) as string) : stored
}

/** Chunks from the JSON list of `[name, text]` that a statement returned; `null` is an empty list. */
export function decodeChunks(json: string | null): Map<string, string> {
  const pairs = JSON.parse(json ?? '[]') as (readonly [string, string])[]
  return new Map(pairs.map(([name, text]) => [decodeText(name), decodeText(text)]))
}
