/** The body of a request whose message was read by a body parser: made anew from what the parser left. */
import type { IncomingMessage } from 'node:http'

/** Where body parsers leave what they read. `rawBody` is the bytes, if the framework is set to keep them. */
interface Parsed {
  readonly body?: unknown
  readonly rawBody?: unknown
}

/** These describe the bytes on the wire, which the new body does not have. */
const wireHeaders = ['content-length', 'content-encoding', 'transfer-encoding']

/**
 * The request as it came, if nobody has read its message; a request with the body that a parser left otherwise. A
 * parser that skips a request may leave an empty object, so what is on the message decides and not whether there is a
 * `body`.
 */
export function withParsedBody(request: Request, incoming: IncomingMessage, parsed: Parsed): Request {
  if (!incoming.readableDidRead) return request
  try {
    const body = bodyOf(parsed)
    if (body === undefined) return request
    const headers = new Headers(request.headers)
    for (const name of wireHeaders) headers.delete(name)
    return new Request(request.url, { method: request.method, headers, body, signal: request.signal })
  } catch {
    // `GET` and `HEAD` can have no body, and not every object is JSON: the handler decides what to reply.
    return request
  }
}

function bodyOf({ body, rawBody }: Parsed): string | Uint8Array<ArrayBuffer> | undefined {
  for (const read of [rawBody, body]) {
    if (typeof read === 'string' || isBytes(read)) return read
  }
  return body === undefined ? undefined : JSON.stringify(body)
}

function isBytes(value: unknown): value is Uint8Array<ArrayBuffer> {
  return value instanceof Uint8Array
}
