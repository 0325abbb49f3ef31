/** Serves the Fetch handler and compares every reply with the OpenAPI document of its options. */
import { createFetchHandler, type FlowRoutesOptions } from '../../../adapters/fetch/index.js'
import { isResponse } from '../../../adapters/fetch/request/authorize.js'
import { type OpenApiDocument, openApiDocument } from '../../../adapters/openapi/index.js'
import type { Serve } from '../http/serve.js'

/** Checks a value by the schema at a JSON pointer, and returns what is wrong. */
export type CheckSchema = (pointer: string, value: unknown) => readonly unknown[]

type Described = Readonly<Record<string, { readonly [key: string]: unknown } | undefined>>

/** The description of one reply in a document. */
interface DescribedReply {
  readonly headers: Described
  readonly content?: Described
}

const basePath = '/ai'
/** Of HTTP, not of the routes: the type is in `content`, and the others belong to the connection. */
const transportHeaders = ['content-type', 'content-length', 'connection']

/** @param createCheck - makes what checks bodies by the schemas of a document; without it they are not checked */
export function documentedServe(createCheck?: (document: OpenApiDocument) => CheckSchema): Serve {
  return (engine, options = {}) => {
    const document = openApiDocument({ ...options, openApi: options.openApi ?? false })
    const check = createCheck?.(document)
    const byApplication = new WeakSet<Request>()
    const handler = createFetchHandler(engine, { ...options, ...noting(options, byApplication) })
    return async (path, init) => {
      const request = new Request(`http://chat.example${basePath}${path}`, init)
      const reply = await handler(request)
      // What the application answers by itself is not in the document.
      return byApplication.has(request) ? reply : compare(document, request, reply, check)
    }
  }
}

function noting({ authorize }: FlowRoutesOptions, byApplication: WeakSet<Request>): FlowRoutesOptions {
  if (authorize === undefined || authorize === 'none') return {}
  return {
    async authorize(request) {
      const answer = await authorize(request)
      if (isResponse(answer)) byApplication.add(request)
      return answer
    },
  }
}

function compare(
  document: OpenApiDocument,
  request: Request,
  reply: Response,
  check: CheckSchema | undefined,
): Response | Promise<Response> {
  const { pathname } = new URL(request.url)
  const method = request.method.toLowerCase()
  const place = `${request.method} ${pathname}: ${reply.status}`
  const item = document.paths[pathname] as Described | undefined
  const operation = item?.[method] ?? Object.values(document.paths[`${basePath}/run`] ?? {})[0]
  const { responses } = operation as { readonly responses: Readonly<Record<string, DescribedReply>> }
  // A path or a method that is not in the document is refused as every operation says.
  const expected = item === undefined ? 404 : item[method] === undefined ? 405 : reply.status
  if (reply.status !== expected) throw new Error(`${place}: the document has no such route or method.`)
  const described = responses[expected]
  if (described === undefined) throw new Error(`${place}: the document does not have this status.`)
  compareHeaders(reply, described, `${place}`)
  const pointer = `/paths/${pathname.replaceAll('/', '~1')}/${method}/responses/${reply.status}`
  const known = item?.[method] === undefined ? undefined : check
  return compareBody(reply, described, known && ((part, value) => known(`${pointer}${part}`, value)), place)
}

function compareHeaders(reply: Response, { headers }: DescribedReply, place: string): void {
  const names = new Set([...Object.keys(headers).map((name) => name.toLowerCase()), ...transportHeaders])
  for (const [name, value] of reply.headers) {
    if (!names.has(name)) throw new Error(`${place}: the document does not have the header ${name}.`)
    if (name !== 'chat-error') continue
    const { schema } = { ...headers['Chat-Error'] } as { readonly schema?: { readonly enum: readonly string[] } }
    if (!schema?.enum.includes(value)) throw new Error(`${place}: the document does not have the code ${value}.`)
  }
}

async function compareBody(
  reply: Response,
  { content = {} }: DescribedReply,
  check: CheckSchema | undefined,
  place: string,
): Promise<Response> {
  if (reply.body === null) return reply
  const type = reply.headers.get('Chat-Reply') === 'raw' ? '*/*' : (reply.headers.get('content-type') ?? '')
  if (!Object.hasOwn(content, type)) throw new Error(`${place}: the document does not have the type ${type}.`)
  if (check === undefined || type === '*/*') return reply
  if (type === 'text/event-stream') return new Response(watch(reply.body, checkEvents), reply)
  complain(check('/content/application~1json/schema', await reply.clone().json()))
  return reply

  function complain(problems: readonly unknown[]): void {
    if (problems.length > 0) throw new Error(`${place}: ${JSON.stringify(problems)}`)
  }

  function checkEvents(text: string): void {
    for (const [, event, id, data = ''] of text.matchAll(/^event: (.*)\nid: (.*)\ndata: (.*)\n\n/gm)) {
      const value = { event, id, data: JSON.parse(data) }
      complain(check?.('/content/text~1event-stream/schema/contentSchema/items', value) ?? [])
    }
  }
}

/** The same body, read no further ahead; its text is passed on at its end. */
function watch(body: ReadableStream<Uint8Array>, onEnd: (text: string) => void): ReadableStream<Uint8Array> {
  const reader = body.getReader()
  const decoder = new TextDecoder()
  let text = ''
  return new ReadableStream(
    {
      async pull(controller) {
        const { done, value } = await reader.read()
        text += decoder.decode(value, { stream: !done })
        if (value !== undefined) controller.enqueue(value)
        if (!done) return
        onEnd(text)
        controller.close()
      },
      cancel: (reason) => reader.cancel(reason),
    },
    { highWaterMark: 0 },
  )
}
