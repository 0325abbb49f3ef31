/**
 * Escapes texts that databases would change or refuse: Postgres cannot store NUL, and none of the databases can store a
 * lone surrogate. Such texts are stored as JSON, all others unchanged. Equal texts stay equal and different texts
 * different, so keys can be compared in their stored form.
 */

/** NUL, and lone surrogates. */
const hostile = /[\0\p{Surrogate}]/u

/** The stored form of `text`. */
export function encodeText(text: string): string {
  return text.startsWith('"') || hostile.test(text) ? JSON.stringify(text) : text
}

/** Reverses {@link encodeText}. */
export function decodeText(stored: string): string {
  return stored.startsWith('"') ? (JSON.parse(stored) as string) : stored
}

/** The chunks in the JSON list of `[name, text]` that a statement returned; `null` means an empty list. */
export function decodeChunks(json: string | null): Map<string, string> {
  const pairs = JSON.parse(json ?? '[]') as (readonly [string, string])[]
  return new Map(pairs.map(([name, text]) => [decodeText(name), decodeText(text)]))
}
