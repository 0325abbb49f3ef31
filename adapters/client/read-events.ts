/**
 * Reads server-sent events from the body of a reply: the part of the WHATWG HTML standard, section 9.2.6, that the
 * server uses. Lines end with LF or CRLF, and an event without `id` gets an empty one. `EventSource` cannot do this: it
 * can send neither a `POST` nor headers.
 */

/** One event as it came. */
export interface ServerSentEvent {
  readonly type: string
  readonly id: string
  readonly data: string
}

/**
 * The events one by one, however the network splits the bytes. Comments are left out. Text after the last empty line is
 * a truncated event, and is dropped. Leaving the loop closes the connection.
 *
 * @param onBytes - Called for each piece of the body, comments included.
 */
export async function* readEvents(
  body: ReadableStream<Uint8Array>,
  onBytes: () => void,
): AsyncGenerator<ServerSentEvent, void, void> {
  const decoder = new TextDecoder()
  const reader = body.getReader()
  let unread = ''
  try {
    while (true) {
      const { done, value } = await reader.read()
      if (done) return
      onBytes()
      const blocks = (unread + decoder.decode(value, { stream: true })).split(/\r?\n\r?\n/)
      unread = blocks.pop() ?? ''
      for (const block of blocks) {
        const { event = 'message', id = '', data } = fieldsOf(block)
        if (data !== undefined) yield { type: event, id, data }
      }
    }
  } finally {
    await reader.cancel().catch(() => undefined)
  }
}

function fieldsOf(block: string): Record<string, string> {
  const fields: Record<string, string> = {}
  for (const line of block.split(/\r?\n/)) {
    const [, name = '', value = ''] = /^([^:]*):? ?(.*)$/s.exec(line) ?? []
    fields[name] = name === 'data' && fields.data !== undefined ? `${fields.data}\n${value}` : value
  }
  return fields
}
