/** The options of the HTTP adapters, with their defaults. */
import type { JsonValue, SendEventInput } from '../../src/index.js'
import type { OpenApiDocument } from './core/openapi-document.js'
import type { CorsOptions } from './cors.js'
import type { StatusMode } from './reply/statuses.js'
import type { AttachmentsOption } from './request/attachments.js'
import type { Authorize } from './request/authorize.js'

/** The options that the Fetch handler and the Hono routes share. All are optional. */
export interface FlowRoutesOptions {
  /**
   * The largest request body, in bytes. A larger one is refused with a failure envelope, and no turn runs. On a socket,
   * up to as many bytes again are read and discarded before the connection closes, so that the client can read the
   * reply. `Infinity` switches the limit off.
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
   * How long a whole request body may take to arrive, in milliseconds. A slower one is refused with a failure envelope,
   * and no turn runs. At most 2 147 483 647; `Infinity` switches the limit off.
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
   * The most values that the JSON of a request body may have, counted by its commas, colons and opening brackets before
   * it is parsed. More are refused with a failure envelope, and no turn runs. `Infinity` switches the limit off.
   *
   * @defaultValue 30 000
   *
   * @example
   * ```ts
   * createFetchHandler(engine, { maxJsonValues: 1_000 })
   * ```
   */
  readonly maxJsonValues?: number

  /**
   * Which attachments clients may send with a turn. `false`: none. `'bytes'`: bytes in base64, of the usual media
   * types. An object also admits addresses that a function of the application allows, or more media types.
   *
   * @defaultValue `'bytes'`
   *
   * @example
   * ```ts
   * createFetchHandler(engine, {
   *   attachments: { addresses: ({ host }) => host === 'files.shop.example', mediaTypes: ['image/heic'] },
   * })
   * ```
   */
  readonly attachments?: AttachmentsOption

  /**
   * Which other origins may call the routes from a browser. Without it the handler sends no CORS header and answers
   * `OPTIONS` with 405, so browsers keep other origins out.
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
   * Identifies the caller, before the body is read and before anything runs. It is called for every route except
   * `health` and `ticket`, and not for a preflight. Without it everyone may call, and anyone with a session ID can continue that
   * session. **If it returns nothing, or an object without `principal`, the caller is let in without an owner**: see
   * `requirePrincipal`. `'none'` says that everyone may call; if the option is missing, and the setting `NODE_ENV` is
   * `production`, the engine's logger gets a warning.
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
  readonly authorize?: Authorize | 'none'

  /**
   * Whether every caller must have a principal. With `true`, a request is refused as if `authorize` had thrown if
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
   * Whether a caller may run a flow, see it in the list of flows, and read, delete or cancel in its sessions.
   * `principal` comes from `authorize`; it is `undefined` for a caller without one. Called for registered flows only,
   * and with the current name if the request used a former one. A refused flow is answered exactly like an unregistered
   * one, and its sessions like unknown ones. If the function throws, or returns anything but `true` or `false`, nothing
   * is done. Needs an engine with `getSession`.
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
   * The HTTP status of a failure. `'contract'`: every failure of run, end and cancel is 400. `'precise'`: the error
   * code decides (404, 408, 409, 413, 415, 422, 429, 499, 500, 502, 503 or 504; 400 for other bad requests). Both send
   * the same envelope, and in both an unknown path is 404 and a wrong method 405.
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
   * Headers added to the defaults of raw replies: `X-Content-Type-Options: nosniff`, `Cache-Control: no-store` and, for
   * types that a browser would execute (HTML, XHTML, SVG, XML), `Content-Security-Policy: sandbox`. `null` removes one.
   * Headers that you add go out with raw replies of every type. The adapter's own headers cannot be set here.
   *
   * @defaultValue none: only the three above
   *
   * @example
   * ```ts
   * // Scripts in HTML replies run, but as a page of no origin.
   * createFetchHandler(engine, { rawHeaders: { 'Content-Security-Policy': 'sandbox allow-scripts' } })
   * ```
   */
  readonly rawHeaders?: Readonly<Record<string, string | null>>

  /**
   * Whether a client that asks for server-sent events gets them. With `false` it gets the plain reply.
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
   * Whether streamed replies include the events `step`, `tool-start` and `tool-end`. They name steps and tools, and so
   * reveal how the application is built.
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
   * How long a streamed reply may be silent, in milliseconds, before the handler sends a comment, so that proxies and
   * clients keep the connection open while a model thinks. At most 2 147 483 647; `Infinity` for no comments.
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
   * What happens to a turn whose client disconnects before the reply is complete, streamed or not. `'cancel'`: the turn
   * is aborted, and the session stays as it was. `'finish'`: the turn goes on, and a request with the same
   * `Idempotency-Key` gets its outcome. If the runtime ends work with its request, `'finish'` needs `waitUntil`; set
   * `'cancel'` if there is none.
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
   * Keeps the runtime alive for work that outlives the reply: the writing of a summary, and a turn whose client went
   * away (`onDisconnect: 'finish'`). Needed only on a runtime that stops once the reply is sent. If the handler is
   * called with the runtime's own context, it uses that context instead: see `createFetchHandler`.
   *
   * @defaultValue none: the runtime keeps running anyway
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
   * Whether there is a route `GET session`, so that a reloaded page can show the conversation. It returns the stored
   * turns of the session that the header `CHAT_SESSION_ID` names, if the caller owns it. Needs an engine with
   * `getSession`.
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
   * The tickets that the route `POST ticket` takes: `tickets()` of `turnkeeper/tickets`. Whoever has a ticket may send
   * its event, so `authorize` is not called; the reply says whether the event was taken, and nothing else. Needs an
   * engine with `sendEvent` and `getSummary`.
   *
   * @defaultValue off: the path is 404
   *
   * @example
   * ```ts
   * import { tickets } from 'turnkeeper/tickets'
   *
   * createFetchHandler(engine, { tickets: tickets({ secrets: [ticketSecret] }) })
   * ```
   */
  readonly tickets?: {
    /** The input of `engine.sendEvent` that the ticket stands for. @throws `InvalidInputError` for any other text */
    open(ticket: string, payload?: JsonValue): Promise<SendEventInput>
  }

  /**
   * Whether there is a route `GET health`, for probes and load balancers: 200 if the engine is ready, 503 if it is
   * closing or its store does not answer; with `?check=live` 200 as long as the process answers. The reply contains
   * nothing else, and `authorize` is not called. An engine wrapper needs `isReady`.
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
   * The document that the route `GET openapi.json` returns; make it with `openApiDocument` of `turnkeeper/openapi`. The
   * handler adapts its paths to those that the client sees. `authorize` is called for this route too.
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
   * Receives errors thrown by `authorize`, `authorizeFlow` or `cors.origin`, and any other unexpected error of the
   * adapter. The client gets a fixed sentence, never this error. An error that `onError` itself throws is dropped.
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
   * The base path of the routes: `<basePath>/run`, `<basePath>/flows`, `<basePath>/end` and `<basePath>/cancel`; with
   * their options also `<basePath>/session`, `<basePath>/ticket`, `<basePath>/health` and `<basePath>/openapi.json`. It starts with a slash
   * and does not end with one; `'/'` puts the routes at the root. Any other path is 404.
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
