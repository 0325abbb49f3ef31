/** Rebuilds the body of a request from the result of a body parser. */
import type { IncomingMessage } from 'node:http'

/**
 * The fields in which body parsers leave their result. `rawBody` has the bytes, if the framework is set to keep them.
 */
interface Parsed {
  readonly body?: unknown
  readonly rawBody?: unknown
}

/** These headers describe the bytes on the wire, not the rebuilt body. */
const wireHeaders = ['content-length', 'content-encoding', 'transfer-encoding']

/**
 * The request unchanged if its message was not read; otherwise a request with the parser's result as its body. A parser
 * that skips a request may leave an empty object, so the state of the message decides, not the presence of `body`.
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
    // `GET` and `HEAD` cannot have a body, and some objects are not JSON. The handler decides on the reply.
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
