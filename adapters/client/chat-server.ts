/** The server of a chat: where its routes are, and what every request carries. */
import type { ChatOptions } from './chat-options.js'

/** A server sends something every 15 s (`heartbeatMs`). */
const silenceMs = 45_000

/** One request, from the making of its headers to the end of its reply. */
export interface Connection {
  /** Fires when the connection is closed. */
  readonly signal: AbortSignal
  /** To be called when the headers are made, and at each piece of the reply. */
  onBytes(): void
  close(): void
}

/** A connection is closed when nothing comes for 45 seconds. */
export function openConnection(): Connection {
  const connection = new AbortController()
  let silence: ReturnType<typeof setTimeout> | undefined
  const close = (reason?: unknown): void => {
    clearTimeout(silence)
    connection.abort(reason)
  }
  const onBytes = (): void => {
    clearTimeout(silence)
    // As that of a lost network.
    silence = setTimeout(() => close(new TypeError('No reply came.')), silenceMs)
  }
  onBytes()
  return { signal: connection.signal, onBytes, close }
}

/**
 * The fields of every reply that is not the reply of a turn. A reply of a proxy in front of the server has none of
 * them.
 */
interface ShortReply {
  readonly success?: boolean
  readonly message?: string
}

/** The options of a chat that say where its server is, and how it is reached. */
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
   * The reply of a route that does not run a turn.
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

  /** What is said of a reply that is not that of the server. */
  refusalOf({ status }: Response): string {
    return `The request was refused with the status ${status} by ${this.#url}.`
  }

  /**
   * The headers of a request: those of the option, and its own that are not empty. That of the session has no
   * underscores, so it passes every proxy.
   *
   * @throws What the function of the option throws, and a `TypeError` if it does not settle before the connection is
   * closed; `Error` if no request can have the URL or the headers.
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
      // A TypeError would be taken for that of a lost network.
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
