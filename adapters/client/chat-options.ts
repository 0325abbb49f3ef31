import type { ChatHeaders } from './chat-server.js'
import type { ChatStorage } from './chat-storage.js'

/** What `createChat` takes. */
export interface ChatOptions {
  /** Where the routes are mounted: `/ai` in a page, `https://shop.example/ai` elsewhere. */
  readonly url: string
  /** The name of the flow. */
  readonly flow: string
  /** Kept in the context of the flow, from the first message of each conversation: goes with every message. Plain JSON. */
  readonly config?: Readonly<Record<string, unknown>>
  /**
   * Keeps the session and the messages without an outcome for the next load of the page: `sessionStorage` for each tab its own,
   * `localStorage` for one conversation in the browser. Default: nothing is kept.
   */
  readonly storage?: ChatStorage
  /** Under which name the storage keeps it. Default `turnkeeper:<url>:<flow>`. Name the user in it where several share a browser. */
  readonly storageKey?: string
  /** Headers of every request, such as `Authorization`, or a function that makes them. What it throws fails the turn, except a `TypeError`: docs/client.md. */
  readonly headers?: ChatHeaders
  /** Whether cookies go to another origin: as the option of `fetch`. */
  readonly credentials?: NonNullable<RequestInit['credentials']>
  /** Stands in for `fetch`. */
  readonly fetch?: typeof fetch
}

/** @throws `TypeError` if `url` or `flow` is missing, and if `url` cannot be read. */
export function checkOptions({ url, flow }: ChatOptions): void {
  if (typeof url !== 'string') throw new TypeError("createChat needs url: where the routes are mounted, such as '/ai'.")
  if (!isUrl(url)) throw new TypeError(`createChat cannot read the url ${url}.`)
  if (typeof flow !== 'string' || flow === '')
    throw new TypeError('createChat needs flow: the name of a registered flow.')
}

/** Whether it is an address, or a path in some page. Whether there is a page shows when a message is sent. */
function isUrl(url: string): boolean {
  try {
    return new URL(url, 'http://page.example') !== undefined
  } catch {
    return false
  }
}
