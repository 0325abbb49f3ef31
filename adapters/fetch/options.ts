/** The options of the HTTP adapters: what they are, and their defaults. */
import type { OpenApiDocument } from './core/openapi-document.js'
import type { CorsOptions } from './cors.js'
import type { StatusMode } from './reply/statuses.js'
import type { Authorize } from './request/authorize.js'

/** The options that the Fetch handler and the Hono routes share. All are optional. */
export interface FlowRoutesOptions {
  /**
   * The most bytes a request body may have. A longer one is refused with a failure envelope and nothing is run; on a
   * socket, as many bytes again are read and thrown away before the connection is closed, so that the client gets to
   * read the answer. `Infinity` switches the limit off.
   *
   * @defaultValue 1 048 576 (1 MiB)
   *
   * @example
   * ```ts
   * createFetchHandler(engine, { maxBodyBytes: 64 * 1024 })
   * ```
   */
  readonly maxBodyBytes?: number

  /**
   * How long a request body may take to arrive whole, in milliseconds. A later one is refused with a failure envelope,
   * and nothing is run. At most 2 147 483 647; `Infinity` switches the limit off.
   *
   * @defaultValue 30 000
   *
   * @example
   * ```ts
   * createFetchHandler(engine, { bodyTimeoutMs: 5_000 })
   * ```
   */
  readonly bodyTimeoutMs?: number

  /**
   * Which web pages of other origins may call the routes from a browser. Without it no CORS header is sent and
   * `OPTIONS` is 405, so that browsers keep other origins out.
   *
   * @defaultValue off
   *
   * @example
   * ```ts
   * createFetchHandler(engine, { cors: { origin: ['https://shop.example', 'https://www.shop.example'] } })
   * ```
   */
  readonly cors?: CorsOptions

  /**
   * Says who calls, before a body is read and before anything is run. It is called on each route but `health`, and not
   * on a preflight. Without it everyone may call, and a session ID alone continues its session. **If it returns
   * nothing, or an object without `principal`, the caller is let in without an owner**: see `requirePrincipal`.
   *
   * @defaultValue everyone may call, and sessions have no owner
   *
   * @example
   * ```ts
   * createFetchHandler(engine, {
   *   authorize: async (request) => {
   *     const user = await findUser(request.headers.get('authorization'))
   *     if (user === undefined) return new Response('Sign in first.', { status: 401 })
   *     return { principal: user.id, context: { plan: user.plan } }
   *   },
   * })
   * ```
   */
  readonly authorize?: Authorize

  /**
   * Whether every caller must have a principal. With `true` a request is refused, as if `authorize` had thrown, where
   * `authorize` returns nothing or an object without `principal`. Needs `authorize`.
   *
   * @defaultValue `false`
   *
   * @example
   * ```ts
   * createFetchHandler(engine, { authorize: (request) => ({ principal: userOf(request) }), requirePrincipal: true })
   * ```
   */
  readonly requirePrincipal?: boolean

  /**
   * Whether a caller may run a flow, and finds it in the list of flows. `principal` is that of `authorize`, `undefined`
   * for a caller without one. It is asked for registered flows only; a former name by the current one. A run of a
   * refused flow is answered as that of a flow which is not registered. If it throws, or returns anything but `true` or
   * `false`, nothing is run.
   *
   * @defaultValue every caller may run every flow
   *
   * @example
   * ```ts
   * createFetchHandler(engine, {
   *   authorize,
   *   authorizeFlow: (principal, flowName) => flowName !== 'Refunds' || isStaff(principal),
   * })
   * ```
   */
  readonly authorizeFlow?: (
    principal: string | undefined,
    flowName: string,
    request: Request,
  ) => boolean | Promise<boolean>

  /**
   * Which status a failure has. `'contract'`: every failure of run, end and cancel is 400. `'precise'`: by error code
   * 404, 408, 409, 413, 415, 422, 429, 499, 500, 502, 503 or 504, and 400 for the rest of the bad requests. The body is
   * the same envelope either way. An unknown path is 404 and a wrong method 405 in both.
   *
   * @defaultValue `'contract'`
   *
   * @example
   * ```ts
   * createFetchHandler(engine, { statuses: 'precise' }) // a lost race for a session is 409
   * ```
   */
  readonly statuses?: StatusMode

  /**
   * Headers laid over those of raw replies: `X-Content-Type-Options: nosniff`, `Cache-Control: no-store` and, for types
   * that a browser would execute (HTML, XHTML, SVG, XML), `Content-Security-Policy: sandbox`. `null` takes one away.
   * Those that you add go out with raw replies of every type. The adapter's own headers cannot be set here.
   *
   * @defaultValue none: the three above stand
   *
   * @example
   * ```ts
   * // Scripts in HTML replies run, but as a page of no origin.
   * createFetchHandler(engine, { rawHeaders: { 'Content-Security-Policy': 'sandbox allow-scripts' } })
   * ```
   */
  readonly rawHeaders?: Readonly<Record<string, string | null>>

  /**
   * Whether a client gets its reply as server-sent events if it asks for that. With `false` it gets the plain reply.
   *
   * @defaultValue `true`
   *
   * @example
   * ```ts
   * createFetchHandler(engine, { stream: false })
   * ```
   */
  readonly stream?: boolean

  /**
   * Whether streamed replies have the events that name steps and tools: `step`, `tool-start`, `tool-end`. The names say
   * how the application is built.
   *
   * @defaultValue `false`
   *
   * @example
   * ```ts
   * createFetchHandler(engine, { streamDetails: true }) // for a page that shows what the assistant is doing
   * ```
   */
  readonly streamDetails?: boolean

  /**
   * How long a streamed reply may be silent, in milliseconds, before a comment goes out: it keeps proxies and clients
   * from taking a connection for dead while a model thinks. At most 2 147 483 647; `Infinity` for none.
   *
   * @defaultValue 15 000
   *
   * @example
   * ```ts
   * createFetchHandler(engine, { heartbeatMs: 5_000 }) // for a proxy that closes after ten silent seconds
   * ```
   */
  readonly heartbeatMs?: number

  /**
   * What becomes of a turn whose client goes away before the reply is there, streamed or not. `'cancel'`: it is
   * aborted, and the session stays as it was. `'finish'`: it goes on, and a request with the same `Idempotency-Key`
   * gets its outcome. On a runtime that ends work with its request `'finish'` needs `waitUntil`; without one set
   * `'cancel'` there.
   *
   * @defaultValue `'finish'` for requests with an `Idempotency-Key`, `'cancel'` for others
   *
   * @example
   * ```ts
   * createFetchHandler(engine, { onDisconnect: 'cancel' }) // a client that goes away always stops its turn
   * ```
   */
  readonly onDisconnect?: 'cancel' | 'finish'

  /**
   * Receives what a turn leaves behind for after its reply, the writing of a summary, and each turn that goes on
   * without its client (`onDisconnect: 'finish'`), on a runtime that stops when the reply is sent. A handler that is
   * called with the runtime's own context uses that one: see `createFetchHandler`.
   *
   * @defaultValue nothing: the runtime goes on anyway
   *
   * @example
   * ```ts
   * import { waitUntil } from '@vercel/functions'
   *
   * createFetchHandler(engine, { waitUntil })
   * ```
   */
  readonly waitUntil?: (work: Promise<unknown>) => void

  /**
   * Whether there is a route `GET session`, with which a page that was loaded again shows the conversation: the turns
   * stored in the session that the header `CHAT_SESSION_ID` names, of the caller's own sessions only. Needs an engine
   * with `getSession`.
   *
   * @defaultValue `false`
   *
   * @example
   * ```ts
   * createFetchHandler(engine, { authorize, requirePrincipal: true, session: true })
   * ```
   */
  readonly session?: boolean

  /**
   * Whether there is a route `GET health`, for probes and load balancers: 200 if the engine is ready, 503 if it is
   * closing or its store does not answer; with `?check=live` 200 as long as the process answers. `authorize` is not
   * called for it, and its reply says nothing else. An object in front of the engine needs `isReady`.
   *
   * @defaultValue `false`: the path is 404
   *
   * @example
   * ```ts
   * createFetchHandler(engine, { health: true })
   * ```
   */
  readonly health?: boolean

  /**
   * The document that a route `GET openapi.json` answers with: `openApiDocument` of `turnkeeper/openapi` makes it. Its
   * paths become those that the client sees. `authorize` is called for the route as for any other.
   *
   * @defaultValue `false`: the path is 404
   *
   * @example
   * ```ts
   * import { openApiDocument } from 'turnkeeper/openapi'
   *
   * createFetchHandler(engine, { openApi: openApiDocument({ title: 'Shop', version: '2.3.0' }) })
   * ```
   */
  readonly openApi?: OpenApiDocument | false

  /**
   * Receives what `authorize`, `authorizeFlow` or `cors.origin` threw, and any other error the adapter did not expect.
   * The client gets a fixed sentence, never this error. What it throws itself is dropped.
   *
   * @defaultValue `console.error`
   *
   * @example
   * ```ts
   * createFetchHandler(engine, { onError: (error) => log.error({ error }, 'chat route failed') })
   * ```
   */
  readonly onError?: (error: unknown) => void
}

/** The options of `createFetchHandler`. */
export interface FetchHandlerOptions extends FlowRoutesOptions {
  /**
   * The path that the routes stand below: they are `<basePath>/run`, `<basePath>/flows`, `<basePath>/end` and
   * `<basePath>/cancel`, and with their options `<basePath>/session`, `<basePath>/health` and
   * `<basePath>/openapi.json`. Starts with a slash and does not end with one; `'/'` puts them at the root. Any other
   * path is 404.
   *
   * @defaultValue `'/ai'`
   *
   * @example
   * ```ts
   * createFetchHandler(engine, { basePath: '/v1/chat' }) // POST /v1/chat/run
   * ```
   */
  readonly basePath?: string
}
