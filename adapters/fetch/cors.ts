/**
 * Cross-origin requests from browsers: which origins may make them, and with which headers. Off unless the option is
 * set. A request from another origin is answered without CORS headers, so the browser hides the reply from the page;
 * the handler does not refuse it.
 */
import { checkOptionNames, invalidInput, type OptionNames } from '../../src/util/options.js'
import {
  codeHeader,
  completedHeader,
  dashedSessionHeader,
  encodingHeader,
  type HeaderRecord,
  keyHeader,
  lastEventHeader,
  replayedHeader,
  replyHeader,
  requestIdHeader,
  restartedHeader,
  sessionHeader,
  stateHeader,
} from './core/header-names.js'

/** The option `cors`. */
export interface CorsOptions {
  /**
   * The origins whose pages may call: one, a list, `'*'` for all, or a function that receives the `Origin` header and
   * returns whether it is allowed. An origin is scheme, host and port as a browser writes them, in lower case and with
   * no slash at the end: `https://shop.example`.
   */
  readonly origin: string | readonly string[] | ((origin: string) => boolean)
  /**
   * Whether pages may send cookies and other credentials, for `authorize` to read. Cannot be combined with `'*'`.
   *
   * @defaultValue `false`
   */
  readonly credentials?: boolean
}

/** The CORS headers for the replies to one request, and for a preflight. */
export interface Cors {
  /** Headers for the reply to a request. */
  headersFor(request: Request): HeaderRecord
  /** The answer to `OPTIONS`; `methods` are the methods that the route accepts. */
  preflight(request: Request, methods: readonly string[]): Response
}

const allowedHeaders = [
  ...['Content-Type', 'Authorization', sessionHeader, dashedSessionHeader],
  ...[keyHeader, lastEventHeader, requestIdHeader],
].join(', ')
const exposedHeaders = [
  ...[sessionHeader, dashedSessionHeader, replyHeader, completedHeader, encodingHeader],
  ...[stateHeader, restartedHeader, replayedHeader, codeHeader, requestIdHeader],
].join(', ')
const maxAgeSeconds = '600'

const corsOptions: OptionNames<CorsOptions> = { origin: true, credentials: true }

/** @throws `InvalidInputError` for an origin that no browser would send, and for `'*'` with credentials. */
export function checkCors(options: CorsOptions, caller: string): void {
  checkOptionNames(caller, options, corsOptions, 'cors')
  const origin: unknown = options.origin
  if (options.credentials !== undefined && typeof options.credentials !== 'boolean') {
    throw invalidInput(`${caller}: cors.credentials must be true or false.`)
  }
  if (typeof origin === 'function') return
  if (typeof origin !== 'string' && !Array.isArray(origin)) {
    throw invalidInput(`${caller}: cors.origin must be an origin, a list of origins, '*' or a function.`)
  }
  if (origin === '*') {
    if (options.credentials === true) {
      throw invalidInput(`${caller}: cors.origin '*' cannot be combined with credentials. List the origins.`)
    }
    return
  }
  for (const item of Array.isArray(origin) ? origin : [origin]) checkOrigin(item, caller)
}

function checkOrigin(origin: unknown, caller: string): void {
  const written = typeof origin === 'string' ? `'${origin}'` : String(origin)
  const problem = `${caller}: cors.origin ${written} is not an origin as browsers send it`
  if (typeof origin !== 'string' || !/^[a-z][a-z0-9+.-]*:\/\/[^\s/?#,*]+$/.test(origin)) {
    throw invalidInput(`${problem}, such as 'https://shop.example' or 'http://localhost:5173'.`)
  }
  // The URL parser knows origins only for these schemes; apps invent others.
  if (!/^https?:/.test(origin)) return
  const parsed = URL.canParse(origin) ? new URL(origin).origin : undefined
  if (parsed === undefined) throw invalidInput(`${problem}, such as 'https://shop.example'.`)
  if (parsed !== origin) throw invalidInput(`${problem}; it would be '${parsed}'.`)
}

/**
 * @param onError - receives what the application's `origin` function threw; that origin is then not allowed
 */
export function createCors(options: CorsOptions, onError: (error: unknown) => void): Cors {
  const { origin: allowed, credentials = false } = options
  const list = new Set<unknown>([allowed].flat())

  function allows(origin: string): boolean {
    if (typeof allowed !== 'function') return list.has(origin)
    try {
      return allowed(origin) === true
    } catch (error) {
      onError(error)
      return false
    }
  }

  function originHeaders(request: Request): HeaderRecord {
    if (allowed === '*') return { 'Access-Control-Allow-Origin': '*' }
    const origin = request.headers.get('origin')
    // The reply differs by origin even if it has no CORS header, so every reply tells caches.
    if (origin === null || !allows(origin)) return { Vary: 'Origin' }
    return {
      Vary: 'Origin',
      'Access-Control-Allow-Origin': origin,
      ...(credentials ? { 'Access-Control-Allow-Credentials': 'true' } : {}),
    }
  }

  return {
    headersFor(request) {
      const headers = originHeaders(request)
      if ('Access-Control-Allow-Origin' in headers) headers['Access-Control-Expose-Headers'] = exposedHeaders
      return headers
    },
    preflight(request, methods) {
      const headers: HeaderRecord = { Allow: [...methods, 'OPTIONS'].join(', '), ...originHeaders(request) }
      if ('Access-Control-Allow-Origin' in headers) {
        headers['Access-Control-Allow-Methods'] = methods.join(', ')
        headers['Access-Control-Allow-Headers'] = allowedHeaders
        headers['Access-Control-Max-Age'] = maxAgeSeconds
      }
      return new Response(null, { status: 204, headers })
    },
  }
}
