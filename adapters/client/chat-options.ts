import type { ChatStorage } from './chat-storage.js'

/** Headers for a request, or a function that makes them anew for each, such as one with a token that is renewed. */
export type ChatHeaders =
  | Record<string, string>
  | Headers
  | (() => Record<string, string> | Headers | Promise<Record<string, string> | Headers>)

/** What `createChat` takes. */
export interface ChatOptions {
  /** Where the routes are mounted: `/ai` in a page, `https://shop.example/ai` elsewhere. */
  readonly url: string
  /** The name of the flow. */
  readonly flow: string
  /**
   * Kept in the context of the flow, from the first message of each conversation: goes with every message. Plain JSON.
   */
  readonly config?: Readonly<Record<string, unknown>>
  /**
   * Keeps the session and the messages without an outcome for the next load of the page: `sessionStorage` for each tab
   * its own, `localStorage` for one conversation in the browser. Default: nothing is kept.
   */
  readonly storage?: ChatStorage
  /**
   * Under which name the storage keeps it. Default `turnkeeper:<url>:<flow>`. Name the user in it where several share a
   * browser.
   */
  readonly storageKey?: string
  /**
   * Headers of every request, such as `Authorization`, or a function that makes them. What it throws fails the turn,
   * except a `TypeError`: docs/client.md.
   */
  readonly headers?: ChatHeaders
  /** Whether cookies go to another origin: as the option of `fetch`. */
  readonly credentials?: NonNullable<RequestInit['credentials']>
  /** Stands in for `fetch`. */
  readonly fetch?: typeof fetch
}

/** @throws `TypeError` if an option is missing, or is not what it must be. */
export function checkOptions(options: ChatOptions): void {
  const { url, flow, headers, fetch: send = fetch } = { ...options }
  check(
    isUrl(url),
    'url',
    "a string that says where the routes are mounted, without a query, such as '/ai' or 'https://shop.example/ai'",
  )
  check(typeof flow === 'string' && flow !== '', 'flow', 'the name of a registered flow')
  check(typeof headers !== 'string', 'headers', 'an object or a function')
  check(typeof send === 'function', 'fetch', 'a function')
}

function check(isRight: unknown, name: string, expected: string): void {
  if (!isRight) throw new TypeError(`createChat: ${name} must be ${expected}.`)
}

/** Whether it is an address, or a path in some page. Whether there is a page shows when a message is sent. */
function isUrl(url: unknown): boolean {
  try {
    return (
      typeof url === 'string' && !/[?#]/.test(url) && new URL(url, 'http://page.example').protocol.startsWith('http')
    )
  } catch {
    return false
  }
}
