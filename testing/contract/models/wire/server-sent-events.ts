// Server-sent events as the providers write them, and the ways in which a network may cut them into pieces.

/** An event with its name, as OpenAI's Responses API and Anthropic send them. */
export function namedEvent(data: { readonly type: string; readonly [field: string]: unknown }): string {
  return `event: ${data.type}\ndata: ${JSON.stringify(data)}\n\n`
}

/** An event without a name. */
export function dataEvent(data: unknown, lineEnd = '\n'): string {
  return `data: ${JSON.stringify(data)}${lineEnd}${lineEnd}`
}

/** A text in the small pieces that models give: none ends within a character. */
export function piecesOf(text: string): readonly string[] {
  const characters = Array.from(text)
  const pieces: string[] = []
  for (let start = 0; start < characters.length; start += 5) pieces.push(characters.slice(start, start + 5).join(''))
  return pieces
}

/** How the bytes of a stream come. */
export type Chunking = (events: readonly string[]) => readonly Uint8Array[]

const encoder = new TextEncoder()

function everyBytes(events: readonly string[], size: number): readonly Uint8Array[] {
  const bytes = encoder.encode(events.join(''))
  const chunks: Uint8Array[] = []
  for (let start = 0; start < bytes.length; start += size) chunks.push(bytes.slice(start, start + size))
  return chunks
}

function eachEvent(events: readonly string[]): readonly Uint8Array[] {
  return events.map((event) => encoder.encode(event))
}

/** Some pieces end within a character: the texts of the tests have some of two, three and four bytes. */
function withinCharacters(events: readonly string[]): readonly Uint8Array[] {
  return eachEvent(events).flatMap((bytes) => {
    const wide = bytes.findIndex((byte) => byte >= 0xc0)
    return wide < 0 ? [bytes] : [bytes.slice(0, wide + 1), bytes.slice(wide + 1)]
  })
}

/** The ways, by their names. */
export const chunkings: Readonly<
  Record<'eventByEvent' | 'allAtOnce' | 'byteByByte' | 'withinEvents' | 'withinCharacters', Chunking>
> = {
  eventByEvent: eachEvent,
  allAtOnce: (events) => [encoder.encode(events.join(''))],
  byteByByte: (events) => everyBytes(events, 1),
  withinEvents: (events) => everyBytes(events, 67),
  withinCharacters,
}
