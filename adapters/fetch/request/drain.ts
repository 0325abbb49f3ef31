// A reply to a request whose body was too long to read. Closing the connection on unread bytes makes the operating system
// drop the reply as well, so the reply goes out at once, is left open while a bounded rest of the body is read and thrown
// away, and only then ends, together with the connection.
import type { Refusal } from '../reply/refusal.js'

/**
 * The body and the extra headers of such a reply.
 *
 * @param text - the reply
 * @param maxDrainBytes - how much of the rest is read
 */
export function createDrainingBody(
  request: Request,
  unreadBody: NonNullable<Refusal['unreadBody']>,
  text: string,
  maxDrainBytes: number,
): { readonly body: ReadableStream<Uint8Array>; readonly headers: Record<string, string> } {
  const bytes = new TextEncoder().encode(text)
  const reader = unreadBody === 'untouched' ? openReader(request) : unreadBody

  async function drain(): Promise<void> {
    let drained = 0
    while (reader !== undefined && drained < maxDrainBytes) {
      const { done, value } = await reader.read()
      if (done) return
      drained += value.byteLength
    }
    await reader?.cancel()
  }

  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      controller.enqueue(bytes)
      const close = (): void => {
        // Throws where the client went away first and the reply is closed already.
        try {
          controller.close()
        } catch {}
      }
      drain().then(close, close)
    },
    cancel() {
      reader?.cancel().catch(() => {})
    },
  })
  return { body, headers: { 'Content-Length': String(bytes.byteLength), Connection: 'close' } }
}

function openReader(request: Request): ReadableStreamDefaultReader<Uint8Array> | undefined {
  return request.body === null || request.body.locked ? undefined : request.body.getReader()
}
