// Reads the body of a request as text: bounded in size, and refused where it is not valid UTF-8. What the text means is
// for read-run-body.ts to say.
import { Refusal } from '../reply/refusal.js'

/** Reads one body; throws a {@link Refusal}. An absent body is the empty text. */
export type BodyReader = (request: Request) => Promise<string>

/** @param maxBodyBytes - the most bytes a body may have */
export function createBodyReader(maxBodyBytes: number): BodyReader {
  const decoder = new TextDecoder('utf-8', { fatal: true })

  function tooLarge(unread?: ReadableStreamDefaultReader<Uint8Array> | 'untouched'): Refusal {
    return new Refusal(`The request body is larger than ${maxBodyBytes} bytes (maxBodyBytes).`, 413, unread)
  }

  async function readCounted(request: Request): Promise<Uint8Array> {
    if (request.body === null) return new Uint8Array()
    const reader = request.body.getReader()
    const chunks: Uint8Array[] = []
    let length = 0
    while (true) {
      const { done, value } = await reader.read()
      if (done) return join(chunks, length)
      length += value.byteLength
      if (length > maxBodyBytes) throw tooLarge(reader)
      chunks.push(value)
    }
  }

  return async function readBody(request) {
    const header = request.headers.get('content-length')
    const declared = header !== null && /^\d+$/.test(header) ? Number(header) : undefined
    if (declared !== undefined && declared > maxBodyBytes) throw tooLarge('untouched')
    let bytes: ArrayBuffer | Uint8Array
    try {
      // Reading any body as a stream costs several times the CPU, so a declared length takes the short way.
      bytes = declared === undefined ? await readCounted(request) : await request.arrayBuffer()
    } catch (error) {
      if (error instanceof Refusal) throw error
      // The client went away, or `authorize` has read the body.
      throw new Refusal('The request body could not be read.')
    }
    if (bytes.byteLength > maxBodyBytes) throw tooLarge()
    if (declared !== undefined && bytes.byteLength !== declared) {
      throw new Refusal('The request body does not have the length that Content-Length says.')
    }
    try {
      return decoder.decode(bytes)
    } catch {
      throw new Refusal('The request body is not valid UTF-8.')
    }
  }
}

function join(chunks: readonly Uint8Array[], length: number): Uint8Array {
  const [first] = chunks
  if (chunks.length === 1 && first !== undefined) return first
  const bytes = new Uint8Array(length)
  let offset = 0
  for (const chunk of chunks) {
    bytes.set(chunk, offset)
    offset += chunk.byteLength
  }
  return bytes
}
