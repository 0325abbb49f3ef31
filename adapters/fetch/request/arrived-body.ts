/**
 * A fast path for a body that a Node server has already received. `Content-Length` does not bound the body of a
 * `Request`: middleware that inflates a body may leave the header unchanged, so the bytes must be counted. The buffer
 * of a socket's message can be measured, and most bodies have fully arrived by the time they are read. All others are
 * read as a stream, which costs far more CPU (docs/decisions/http-adapter.md).
 */

/** The used part of Node's `IncomingMessage`. `readableFlowing` is `null` until a read begins. */
interface Message {
  readonly readableFlowing: unknown
  readonly readableLength: unknown
  read(): Uint8Array | null
}

/**
 * Takes the body if it has fully arrived. `@hono/node-server` keeps the message in a property of its `Request`; a
 * `Request` made with another body has none.
 *
 * @param declared - what `Content-Length` says, within the limit
 * @returns at most `declared` bytes; `undefined` if the body must be read as a stream
 */
export function takeArrivedBody(request: Request, declared: number): Uint8Array | undefined {
  for (const key of Object.getOwnPropertySymbols(request)) {
    const message = (request as unknown as Record<symbol, Partial<Message> | null | undefined>)[key]
    if (message?.readableFlowing !== null || message.readableLength !== declared) continue
    const bytes = message.read?.() ?? new Uint8Array()
    // A stream with an encoding gives text, and an object stream gives anything; no server makes either.
    if (bytes instanceof Uint8Array) return bytes
  }
  return undefined
}
