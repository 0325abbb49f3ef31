/**
 * The studio over HTTP, as a Fetch handler: the page, and the calls of the page. A request needs the token,
 * a name of this machine, and the page's own origin; everything it sends and takes is JSON.
 */
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { StudioRoutes, StudioUpdate } from './api/types.js'
import { withoutSecrets } from './line/environment.js'
import { detailOf, viewOf } from './line/line-view.js'
import { Studio, type StudioOptions } from './studio.js'

/** The handler of a studio. */
export interface StudioHandler {
  /** What the page must know: it stands in the fragment of its URL, `http://127.0.0.1:<port>/#<token>`. */
  readonly token: string
  /** Answers a request. Serve it on 127.0.0.1 only. */
  fetch(request: Request): Promise<Response>
  /** Cancels the turns under way. */
  close(): Promise<void>
}

/** The options of {@link createStudioHandler}. */
export interface StudioHandlerOptions extends StudioOptions {
  /** The token of the page. Default: 32 random bytes. A process that takes another's place gets the same one. */
  readonly token?: string
  /** The page. Default: the one of this package. @internal */
  readonly page?: string
}

const hosts = ['127.0.0.1', 'localhost', '[::1]']

type Routes = {
  readonly [Name in keyof StudioRoutes]: (
    given: StudioRoutes[Name][0],
  ) => StudioRoutes[Name][1] | Promise<StudioRoutes[Name][1]>
}

/**
 * Makes the handler of a studio, for a server of your own; `npx turnkeeper studio ./flows.js` serves it by itself.
 *
 * @throws `InvalidInputError` with `NODE_ENV=production`, and for wrong options.
 * @example
 * ```ts
 * const { fetch, token } = createStudioHandler({ flows: [Booking], setup: { providers: [anthropic] } })
 * createServer(toNodeListener(fetch)).listen(4400, '127.0.0.1')
 * console.log(`http://127.0.0.1:4400/#${token}`)
 * ```
 */
export function createStudioHandler(options: StudioHandlerOptions): StudioHandler {
  const { token = randomBytes(32).toString('base64url'), page, ...more } = options
  const studio = new Studio(more)
  const routes = routesOf(studio)
  const html = page ?? readFileSync(new URL('page.html', import.meta.url), 'utf8')
  const pageHeaders = { ...headers('text/html; charset=utf-8'), 'content-security-policy': policyOf(html) }
  return {
    token,
    async fetch(request) {
      const { pathname } = new URL(request.url)
      const refused = refusalOf(request, pathname, token)
      if (refused !== undefined) return json({ problem: refused[1] }, refused[0])
      if (pathname === '/') return new Response(html, { headers: pageHeaders })
      if (pathname === '/api/updates') return updatesOf(studio)
      return answer(routes, pathname.slice('/api/'.length), request)
    },
    close: () => studio.close(),
  }
}

/** Calls a route. What it throws is a refusal. */
async function answer(routes: Routes, name: string, request: Request): Promise<Response> {
  if (!Object.hasOwn(routes, name)) return json({ problem: 'Not found.' }, 404)
  try {
    return json(await routes[name as keyof Routes]((await request.json()) as never))
  } catch (error) {
    return json({ problem: error instanceof Error ? error.message : String(error) }, 400)
  }
}

function routesOf(studio: Studio): Routes {
  const done = async (turn: Promise<string | undefined>): Promise<{ problem?: string | undefined }> => ({
    problem: await turn,
  })
  return {
    begin: ({ flow }) => ({ line: studio.begin(flow).id }),
    line: ({ line }) => viewOf(studio.line(line), studio.lines),
    turn: ({ line, turn }) => detailOf(studio.line(line), turn),
    send: ({ line, ...input }) => done(studio.line(line).send(input)),
    event: ({ line, ...event }) => done(studio.line(line).sendEvent(event)),
    advance: ({ line, ms }) => done(studio.line(line).advance(ms)),
    stop: ({ line }) => done(studio.line(line).stop()),
    fork: ({ line, turn }) => ({ line: studio.fork(studio.line(line), turn).id }),
    replay: ({ line, turn }) => ({ line: studio.replay(studio.line(line), turn).id }),
    answer: ({ line, question, answer: said }) => done(studio.line(line).answer(question, said)),
    save: ({ line, as, name }) => ({ files: studio.save(studio.line(line), as, name) }),
    open: ({ document }) => ({ line: studio.open(document).id }),
  }
}

/** Why a request gets no answer, and its status; `undefined` if it gets one. */
function refusalOf(request: Request, pathname: string, token: string): readonly [number, string] | undefined {
  const { host, hostname } = new URL(request.url)
  const { headers: given, method } = request
  // Another name may lead here by DNS rebinding.
  if (!hosts.includes(hostname)) return [403, 'Use 127.0.0.1 or localhost.']
  if (pathname === '/') return method === 'GET' ? undefined : [405, 'Use GET.']
  if (method !== 'POST') return [405, 'Use POST.']
  if (given.get('origin') !== `http://${host}`) return [403, 'The origin is another page.']
  if (!isToken(given.get('x-studio-token'), token)) {
    return [401, 'The token is wrong. Open the address that the studio printed.']
  }
  if (given.get('content-type')?.split(';')[0]?.trim() === 'application/json') return undefined
  return [415, 'Send application/json.']
}

function isToken(given: string | null, token: string): boolean {
  const [one, other] = [given ?? '', token].map((text) => createHash('sha256').update(text).digest())
  return timingSafeEqual(one as Buffer, other as Buffer)
}

/** The updates, a line of JSON for each, until the page leaves. */
function updatesOf(studio: Studio): Response {
  let stop = (): void => undefined
  const body = new ReadableStream<string>({
    start(controller) {
      const send = (update: StudioUpdate): void => controller.enqueue(`${withoutSecrets(update)}\n`)
      stop = studio.listen(send)
      send(studio.list)
    },
    cancel: () => stop(),
  })
  return new Response(body.pipeThrough(new TextEncoderStream()), { headers: headers('application/x-ndjson') })
}

function json(value: unknown, status = 200): Response {
  return new Response(withoutSecrets(value), { status, headers: headers('application/json') })
}

function headers(contentType: string): Record<string, string> {
  return {
    'content-type': contentType,
    'cache-control': 'no-store',
    'cross-origin-opener-policy': 'same-origin',
    'cross-origin-resource-policy': 'same-origin',
    'referrer-policy': 'no-referrer',
    'x-content-type-options': 'nosniff',
    'x-frame-options': 'DENY',
  }
}

/** Allows exactly the script and the style of the page, and calls of its server. */
function policyOf(html: string): string {
  const hashOf = (tag: string): string => {
    const [, text = ''] = new RegExp(`<${tag}[^>]*>(.*?)</${tag}>`, 's').exec(html) ?? []
    return `'sha256-${createHash('sha256').update(text).digest('base64')}'`
  }
  return [
    "default-src 'none'",
    `script-src ${hashOf('script')}`,
    `style-src ${hashOf('style')}`,
    "connect-src 'self'",
    'img-src data:',
    "frame-src 'self'",
    "form-action 'none'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ].join('; ')
}
