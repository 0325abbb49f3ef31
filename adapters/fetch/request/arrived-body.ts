/**
 * The short way to a body that a Node server has received already. `Content-Length` does not bound the body of a
 * `Request`: middleware that inflates a body may leave the header as it was, and such a body is refused once it is
 * counted. What a socket's message has in its buffer can be measured, and most bodies are there whole when they are
 * read. All others are read as a stream, which costs far more CPU (docs/decisions/0130-what-a-body-may-cost.md).
 */

/** What is used of Node's `IncomingMessage`. `readableFlowing` is `null` while nobody has begun to read. */
interface Message {
  readonly readableFlowing: unknown
  readonly readableLength: unknown
  read(): Uint8Array | null
}

/**
 * Takes the body, if it has arrived whole. `@hono/node-server` keeps the message in a property of its own `Request`; a
 * `Request` that was made with another body has none.
 *
 * @param declared - what `Content-Length` says, within the limit
 * @returns At most `declared` bytes; `undefined` where the body has to be read as a stream.
 */
export function takeArrivedBody(request: Request, declared: number): Uint8Array | undefined {
  for (const key of Object.getOwnPropertySymbols(request)) {
    const message = (request as unknown as Record<symbol, Partial<Message> | null | undefined>)[key]
    if (message?.readableFlowing !== null || message.readableLength !== declared) continue
    const bytes = message.read?.() ?? new Uint8Array()
    // A stream with an encoding gives text, and one of objects anything: neither comes from a server.
    if (bytes instanceof Uint8Array) return bytes
  }
  return undefined
}
