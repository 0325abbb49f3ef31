/**
 * How a text is kept in a column of text. SQL databases change some texts or refuse them: Postgres has no NUL, and
 * neither keeps half of a surrogate pair. Those are written as JSON; all others stay as they are. Equal texts stay
 * equal and different ones different, so that a key can be compared as it is kept.
 */

/** NUL, and surrogates without their other half. */
const hostile = /[\0\p{Surrogate}]/u

/** What a column keeps for `text`. */
export function encodeText(text: string): string {
  return text.startsWith('"') || hostile.test(text) ? JSON.stringify(text) : text
}

/** What {@link encodeText} was given. */
export function decodeText(kept: string): string {
  return kept.startsWith('"') ? (JSON.parse(kept) as string) : kept
}

/** Chunks as the JSON list of `[name, text]` that a statement gave; `null` is none. */
export function decodeChunks(json: string | null): Map<string, string> {
  const pairs = JSON.parse(json ?? '[]') as (readonly [string, string])[]
  return new Map(pairs.map(([name, text]) => [decodeText(name), decodeText(text)]))
}
