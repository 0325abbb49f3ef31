/**
 * The events of a streamed reply, one by one, however the network splits the bytes.
 *
 * @param {ReadableStream<Uint8Array>} body
 * @returns {AsyncGenerator<{ type: string, id: string, data: any }, void, void>}
 */
export async function* readEvents(body) {
  let text = ''
  const decoder = new TextDecoder()
  const reader = body.getReader()
  try {
    while (true) {
      const { done, value } = await reader.read()
      if (done) return
      const blocks = (text + decoder.decode(value, { stream: true })).split('\n\n')
      text = blocks.pop() ?? ''
      for (const block of blocks) {
        const [, type, id = '', data] = /^event: ([^\n]*)\nid: ([^\n]*)\ndata: ([^\n]*)$/.exec(block) ?? []
        // What does not match is a comment that keeps the connection open.
        if (type !== undefined && data !== undefined) yield { type, id, data: JSON.parse(data) }
      }
    }
  } finally {
    await reader.cancel()
  }
}
