// Reads an event stream as a browser does (WHATWG HTML, section 9.2.6), one event at a time, and no more of the
// body than the test asks for.

/** An event, or a comment as one of type `comment`. */
export interface ReadEvent {
  readonly type: string
  readonly id: string
  readonly data: unknown
}

/** The events of one reply. */
export class EventReader {
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>
  readonly #decoder: TextDecoder = new TextDecoder()
  #text = ''

  constructor(reply: Response) {
    const type = reply.headers.get('content-type')
    if (type !== 'text/event-stream' || reply.body === null)
      throw new Error(`The reply is ${type}, not an event stream.`)
    this.#reader = reply.body.getReader()
  }

  /** The next event, or `undefined` at the end. Rejects if the connection is cut. */
  async next(): Promise<ReadEvent | undefined> {
    while (true) {
      const end = /\r\n\r\n|\n\n|\r\r/.exec(this.#text)
      if (end !== null) {
        const block = this.#text.slice(0, end.index)
        this.#text = this.#text.slice(end.index + end[0].length)
        return parse(block)
      }
      const { done, value } = await this.#reader.read()
      if (done) {
        if (this.#text !== '') throw new Error(`The stream ended within an event: ${JSON.stringify(this.#text)}`)
        return undefined
      }
      this.#text += this.#decoder.decode(value, { stream: true })
    }
  }

  /** Reads up to the first event of a type, that one included. Comments are left out. */
  async until(type: string): Promise<ReadEvent[]> {
    const events: ReadEvent[] = []
    while (events.at(-1)?.type !== type) {
      const event = await this.next()
      if (event === undefined) throw new Error(`The stream ended without '${type}': ${JSON.stringify(events)}`)
      if (event.type !== 'comment' || type === 'comment') events.push(event)
    }
    return events
  }

  /** Reads up to the first event of a type, and gives its data. */
  async dataOf(type: string): Promise<unknown> {
    return (await this.until(type)).at(-1)?.data
  }

  /** Goes away: the connection is closed. */
  async cancel(): Promise<void> {
    await this.#reader.cancel().catch(() => {})
  }
}

function parse(block: string): ReadEvent {
  const lines = block.split(/\r\n|\r|\n/)
  if (lines.every((line) => line.startsWith(':'))) return { type: 'comment', id: '', data: block }
  const fields = new Map<string, string>()
  for (const line of lines) {
    const [, name = '', value = ''] = /^([^:]*)(?:: ?(.*))?$/s.exec(line) ?? []
    fields.set(name, name === 'data' && fields.has(name) ? `${fields.get(name)}\n${value}` : value)
  }
  const data: unknown = JSON.parse(fields.get('data') ?? 'null')
  return { type: fields.get('event') ?? 'message', id: fields.get('id') ?? '', data }
}
