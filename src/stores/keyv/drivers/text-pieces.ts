/**
 * Splits long texts into pieces, for databases that limit the length of a row. D1 and the storage of a Durable Object
 * accept 2 MB per row. A piece is at most half of that, which leaves room for the other columns.
 */

/** The most bytes of a piece, as UTF-8. */
export const maxPieceBytes = 1_000_000

/** One row of a table of texts. */
export interface TextPiece {
  readonly name: string
  /** From 0. */
  readonly part: number
  readonly body: string
}

/** The pieces of a text, in order: at least one. No character is split. */
export function piecesOf(name: string, text: string): TextPiece[] {
  // A UTF-16 code unit takes at most three bytes.
  if (text.length * 3 <= maxPieceBytes) return [{ name, part: 0, body: text }]
  const pieces: TextPiece[] = []
  const encoder = new TextEncoder()
  const buffer = new Uint8Array(maxPieceBytes)
  for (let start = 0; start < text.length; ) {
    // If the slice ends within a character, the buffer is full before that character.
    const { read } = encoder.encodeInto(text.slice(start, start + maxPieceBytes), buffer)
    pieces.push({ name, part: pieces.length, body: text.slice(start, start + read) })
    start += read
  }
  return pieces
}

/** Joins pieces into texts, by name. The pieces of each text must be in order. */
export function textsOf(pieces: Iterable<TextPiece>): Map<string, string> {
  const bodies = new Map<string, string[]>()
  for (const { name, body } of pieces) {
    const before = bodies.get(name)
    if (before === undefined) bodies.set(name, [body])
    else before.push(body)
  }
  return new Map(Array.from(bodies, ([name, parts]) => [name, parts.join('')]))
}
