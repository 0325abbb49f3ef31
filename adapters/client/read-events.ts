/**
 * Reads server-sent events from the body of a reply: the WHATWG HTML standard, section 9.2.6, without `retry`, which says how
 * `EventSource` waits. `EventSource` itself can send neither a `POST` nor headers.
 */

/** One event as it came. */
export interface ServerSentEvent {
  readonly type: string
  readonly id: string
  readonly data: string
}

/**
 * The events one by one, however the network splits the bytes. Comments are left out. What follows the last empty line when the body
 * ends is not an event: it was cut.
 *
 * @param onBytes - Called for each piece of the body, comments included.
 */
export async function* readEvents(
  body: ReadableStream<Uint8Array>,
  onBytes: () => void,
): AsyncGenerator<ServerSentEvent, void, void> {
  let fields: Record<string, string> = {}
  for await (const line of readLines(body, onBytes)) {
    if (line !== '') addField(fields, line)
    else {
      const { event = 'message', id = '', data } = fields
      fields = {}
      if (data !== undefined) yield { type: event, id, data }
    }
  }
}

/** The lines that were ended; leaving the loop closes the connection. */
async function* readLines(body: ReadableStream<Uint8Array>, onBytes: () => void): AsyncGenerator<string, void, void> {
  const decoder = new TextDecoder()
  const reader = body.getReader()
  let unread = ''
  try {
    while (true) {
      const { done, value } = await reader.read()
      if (done) return
      onBytes()
      const lines = (unread + decoder.decode(value, { stream: true })).split('\n')
      unread = lines.pop() ?? ''
      for (const line of lines) yield line.replace(/\r$/, '')
    }
  } finally {
    await reader.cancel().catch(() => undefined)
  }
}

function addField(fields: Record<string, string>, line: string): void {
  const [, name = '', value = ''] = /^([^:]*):? ?(.*)$/s.exec(line) ?? []
  fields[name] = name === 'data' && fields.data !== undefined ? `${fields.data}\n${value}` : value
}
