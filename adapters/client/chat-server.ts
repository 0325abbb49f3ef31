/** The server of a chat: its routes, and the headers of every request. */
import type { ChatOptions } from './chat-options.js'

/** A server sends at least a comment every 15 s (`heartbeatMs`). */
const silenceMs = 45_000

/** One request, from its headers to the end of its reply. */
export interface Connection {
  /** Fires when the connection is closed. */
  readonly signal: AbortSignal
  /** Call it when the headers are made, and for each piece of the reply. */
  onBytes(): void
  close(): void
}

/** A connection is closed after 45 seconds of silence. */
export function openConnection(): Connection {
  const connection = new AbortController()
  let silence: ReturnType<typeof setTimeout> | undefined
  const close = (reason?: unknown): void => {
    clearTimeout(silence)
    connection.abort(reason)
  }
  const onBytes = (): void => {
    clearTimeout(silence)
    // The same error type as for a lost network.
    silence = setTimeout(() => close(new TypeError('No reply came.')), silenceMs)
  }
  onBytes()
  return { signal: connection.signal, onBytes, close }
}

/** The fields of every reply except the reply to a turn. A proxy's reply has none of them. */
interface ShortReply {
  readonly success?: boolean
  readonly message?: string
}

/** The options of a chat that concern its server. */
export type ServerOptions = Pick<ChatOptions, 'url' | 'headers' | 'credentials' | 'fetch'>

/** The routes of one server. */
export class ChatServer {
  readonly #options: ServerOptions
  readonly #url: string

  constructor(options: ServerOptions) {
    this.#options = options
    this.#url = options.url.replace(/\/+$/, '')
  }

  /**
   * The reply of a route other than `run`.
   *
   * @throws `Error` if the server was not reached, refused, or did not answer in time.
   */
  async ask<Reply>(method: 'GET' | 'POST', route: string, session: string): Promise<Reply> {
    const { signal, close } = openConnection()
    try {
      const headers = await this.headers(signal, session)
      const response = await this.send(route, { method, signal, headers })
      const reply = (await response.json().catch(() => ({}))) as ShortReply
      signal.throwIfAborted()
      if (reply.success === true) return reply as Reply
      throw new Error(reply.message ?? this.refusalOf(response))
    } finally {
      close()
    }
  }

  /** The error text for a reply that did not come from the server. */
  refusalOf({ status }: Response): string {
    return `The request was refused with the status ${status} by ${this.#url}.`
  }

  /**
   * The headers of a request: the option's headers, and the client's own that are not empty. The session header has no
   * underscores, so it passes every proxy.
   *
   * @throws Any error of the option's function; `TypeError` if the function does not settle before the connection is
   * closed; `Error` if the URL or a header is invalid.
   */
  async headers(signal: AbortSignal, session: string, own?: Readonly<Record<string, string>>): Promise<Headers> {
    let { headers: given, fetch: send } = this.#options
    if (typeof given === 'function') {
      const closed = (reject: (reason: unknown) => void) =>
        signal.addEventListener('abort', () => reject(signal.reason))
      given = await Promise.race([given(), new Promise<never>((_resolve, reject) => closed(reject))])
    }
    let problem = `The url ${this.#url} needs an origin outside of a page`
    try {
      if (send === undefined) new Request(this.#url)
      problem = 'The headers cannot be sent'
      const headers = new Headers(given)
      for (const [name, value] of Object.entries({ ...own, 'Chat-Session-Id': session }))
        if (value !== '') headers.set(name, value)
      return headers
    } catch (error) {
      // A TypeError would look like a lost network.
      throw new Error(`${problem}: ${(error as Error).message}`, { cause: error })
    }
  }

  /** Sends a request to a route. */
  send(route: string, request: RequestInit): Promise<Response> {
    // Browsers refuse to call `fetch` with a receiver.
    const { credentials, fetch: send = fetch } = this.#options
    return send(`${this.#url}/${route}`, { ...request, ...(credentials && { credentials }) })
  }
}
