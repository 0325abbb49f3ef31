import type { ChatStorage } from './chat-storage.js'

/** Headers for a request, or a function that makes them for each request, for example with a renewed token. */
export type ChatHeaders =
  | Record<string, string>
  | Headers
  | (() => Record<string, string> | Headers | Promise<Record<string, string> | Headers>)

/** The options of `createChat`. */
export interface ChatOptions {
  /** The base URL of the routes: `/ai` in a page, `https://shop.example/ai` elsewhere. */
  readonly url: string
  /** The name of the flow. */
  readonly flow: string
  /**
   * Config for the flow's context, as plain JSON. It is sent with every message; the flow keeps only the config of the
   * first message.
   */
  readonly config?: Readonly<Record<string, unknown>>
  /**
   * Keeps the session and the unanswered messages across reloads: `sessionStorage` gives each tab its own conversation,
   * `localStorage` shares one in the whole browser. Default: nothing is kept.
   */
  readonly storage?: ChatStorage
  /**
   * The storage key. Default `turnkeeper:<url>:<flow>`. If several users share a browser, put the user's name into it.
   */
  readonly storageKey?: string
  /**
   * Headers of every request, such as `Authorization`, or a function that makes them. If the function throws, the turn
   * fails, unless it throws a `TypeError`: docs/client.md.
   */
  readonly headers?: ChatHeaders
  /** Whether cookies are sent to another origin, like the `fetch` option of that name. */
  readonly credentials?: NonNullable<RequestInit['credentials']>
  /**
   * Calls `refresh` so often, in milliseconds, unless the page is hidden, while somebody listens to `change`, and the
   * conversation has begun and not ended. Default: only you call it.
   */
  readonly refreshEveryMs?: number
  /** A replacement for `fetch`. */
  readonly fetch?: typeof fetch
}

/** @throws `TypeError` if an option is missing or invalid. */
export function checkOptions(options: ChatOptions): void {
  const { url, flow, headers, refreshEveryMs: every = 1, fetch: send = fetch } = { ...options }
  check(
    isUrl(url),
    'url',
    "a string that says where the routes are mounted, without a query, such as '/ai' or 'https://shop.example/ai'",
  )
  check(typeof flow === 'string' && flow !== '', 'flow', 'the name of a registered flow')
  check(typeof headers !== 'string', 'headers', 'an object or a function')
  check(every > 0 && every < 2 ** 31, 'refreshEveryMs', 'a number of milliseconds')
  check(typeof send === 'function', 'fetch', 'a function')
}

function check(isRight: unknown, name: string, expected: string): void {
  if (!isRight) throw new TypeError(`createChat: ${name} must be ${expected}.`)
}

/** Whether the text is an absolute URL or a path. A path needs a page; a path outside a page fails when the first message is sent. */
function isUrl(url: unknown): boolean {
  try {
    return (
      typeof url === 'string' && !/[?#]/.test(url) && new URL(url, 'http://page.example').protocol.startsWith('http')
    )
  } catch {
    return false
  }
}
