/** The server of a chat: where its routes are, and what every request carries. */

/** A connection on which nothing comes for so many milliseconds is closed. A server sends something every 15 s (`heartbeatMs`). */
export const silenceMs = 45_000

/** What every reply has that is not that of a turn. Of something in front of the server that refuses, nothing. */
interface ShortReply {
  readonly success?: boolean
  readonly message?: string
}

/** Headers for a request, or a function that makes them anew for each, such as one with a token that is renewed. */
export type ChatHeaders =
  | Record<string, string>
  | Headers
  | (() => Record<string, string> | Headers | Promise<Record<string, string> | Headers>)

/** The routes of one server. */
export class ChatServer {
  readonly #url: string
  readonly #headers: ChatHeaders
  readonly #credentials: RequestInit['credentials']
  readonly #fetch: typeof fetch | undefined

  /**
   * @param url - Where the routes are mounted, such as `/ai`.
   * @param send - What stands in for `fetch`.
   */
  constructor(
    url: string,
    headers: ChatHeaders,
    credentials: RequestInit['credentials'],
    send: typeof fetch | undefined,
  ) {
    this.#url = url.replace(/\/+$/, '')
    this.#headers = headers
    this.#credentials = credentials
    this.#fetch = send
  }

  /**
   * The reply of a route that does not run a turn.
   *
   * @throws `Error` if the server was not reached, refused, or did not answer in time.
   */
  async ask<Reply>(method: 'GET' | 'POST', route: string, session: string): Promise<Reply> {
    const connection = new AbortController()
    const silence = setTimeout(() => connection.abort(new Error('No reply came.')), silenceMs)
    try {
      const headers = await this.headers(session)
      const response = await this.send(route, { method, signal: connection.signal, headers })
      const reply = (await response.json().catch(() => ({}))) as ShortReply
      connection.signal.throwIfAborted()
      if (reply.success === true) return reply as Reply
      throw new Error(reply.message ?? `The conversation was refused with the status ${response.status}.`)
    } finally {
      clearTimeout(silence)
    }
  }

  /** @throws `TypeError` if `fetch` cannot read the URL, such as a path outside of a page. */
  checkUrl(): void {
    if (this.#fetch === undefined) new Request(this.#url)
  }

  /**
   * The headers of a request: those of the option, and its own. That of the session has no underscores, so it passes every proxy.
   *
   * @throws What the function of the option throws; `Error` if a value cannot be in a header.
   */
  async headers(session: string, own: Readonly<Record<string, string>> = {}): Promise<Headers> {
    const given = typeof this.#headers === 'function' ? await this.#headers() : this.#headers
    try {
      const headers = new Headers(given)
      for (const [name, value] of Object.entries(own)) headers.set(name, value)
      if (session !== '') headers.set('Chat-Session-Id', session)
      return headers
    } catch (error) {
      // A TypeError would be taken for that of a lost network.
      throw new Error((error as Error).message, { cause: error })
    }
  }

  /** Sends a request to a route. */
  send(route: string, request: RequestInit): Promise<Response> {
    const credentials = this.#credentials === undefined ? {} : { credentials: this.#credentials }
    // Browsers refuse to call `fetch` with a receiver.
    const send = this.#fetch ?? fetch
    return send(`${this.#url}/${route}`, { ...request, ...credentials })
  }
}
