// The OpenAPI document covers everything in the adapter's lists, and leaves out what an option switches off.
import { Hono } from 'hono'
import { describe, expect, test } from 'vitest'
import { errorFacts } from '../../src/errors/error-facts.js'
import { InvalidInputError } from '../../src/index.js'
import { createFakeEngine } from '../../testing/contract/http/fake-engine.js'
import * as headerNames from '../fetch/core/header-names.js'
import { createFetchHandler } from '../fetch/index.js'
import { restartReasons, sessionStates } from '../fetch/reply/outcome.js'
import { routeMethods, servedRoutes } from '../fetch/routes/served-routes.js'
import { flowRoutes } from '../hono/index.js'
import { type OpenApiDocumentOptions, openApiDocument } from './index.js'

interface Described {
  readonly description: string
  readonly headers: Record<string, unknown>
  readonly content?: Record<string, unknown>
}
interface Operation {
  readonly operationId: string
  readonly parameters: readonly { readonly name: string }[]
  readonly responses: Record<string, Described>
}

const everything: OpenApiDocumentOptions = {
  ...{ session: true, health: true, streamDetails: true },
  tickets: { open: () => Promise.reject(new Error('No ticket is opened.')) },
  cors: { origin: 'https://shop.example', credentials: true },
}

function operationsOf(options: OpenApiDocumentOptions = {}): Record<string, Operation> {
  const { paths } = openApiDocument(options)
  return Object.fromEntries(
    Object.entries(paths).flatMap(([path, item]) =>
      Object.entries(item).map(([method, operation]) => [`${method.toUpperCase()} ${path}`, operation as never]),
    ),
  )
}

const runOf = (options: OpenApiDocumentOptions = {}): Operation => operationsOf(options)['POST /ai/run'] as Operation
const schemasOf = (options: OpenApiDocumentOptions): Record<string, never> =>
  openApiDocument(options).components.schemas as never
/** The names of parameters and of reply headers, in lower case. */
const namesIn = ({ parameters = [], responses }: Operation): string[] => [
  ...parameters.map(({ name }) => name.toLowerCase()),
  ...Object.values(responses).flatMap(({ headers }) => Object.keys(headers).map((name) => name.toLowerCase())),
]

describe('the document has', () => {
  test('every route that is served, with its methods and a name for each', () => {
    const expected = servedRoutes({ ...everything, openApi: true }).flatMap((route) =>
      [...routeMethods[route], 'OPTIONS'].map((method) => `${method} /ai/${route}`),
    )
    const operations = operationsOf(everything)
    expect(Object.keys(operations)).toEqual(expected)
    expect(Object.keys(operationsOf({ openApi: false }))).toEqual([
      'POST /ai/run',
      'GET /ai/flows',
      'HEAD /ai/flows',
      'POST /ai/end',
      'POST /ai/cancel',
    ])
    const ids = Object.values(operations).map(({ operationId }) => operationId)
    expect(new Set(ids).size).toBe(ids.length)
    expect(ids.slice(0, 6)).toEqual([
      'runTurn',
      'runTurnPreflight',
      'listFlows',
      'listFlowsHead',
      'listFlowsPreflight',
      'endSession',
    ])
  })

  test('every header that the adapter knows by name', () => {
    const names = new Set(Object.values(operationsOf(everything)).flatMap(namesIn))
    const missing = Object.values(headerNames).filter((name) => !names.has(name.toLowerCase()))
    expect(missing).toEqual([])
  })

  test('every code at its status, by both tables', () => {
    const codesAt = ({ responses }: Operation) =>
      Object.entries(responses).map(([status, { description }]) => [status, description])
    expect(codesAt(runOf())).toEqual([
      ['200', 'A success.'],
      ['400', expect.stringMatching(/^INVALID_INPUT, .*, INTERNAL_ERROR$/)],
      ['404', 'ROUTE_NOT_FOUND'],
      ['405', 'METHOD_NOT_ALLOWED'],
    ])
    expect(runOf().responses[400]?.description.split(', ')).toEqual([...Object.keys(errorFacts), 'INTERNAL_ERROR'])
    expect(codesAt(runOf({ statuses: 'precise' }))).toEqual([
      ['200', 'A success.'],
      ['400', 'INVALID_INPUT'],
      ['404', 'FLOW_NOT_FOUND, SESSION_NOT_FOUND, ROUTE_NOT_FOUND'],
      ['405', 'METHOD_NOT_ALLOWED'],
      ['408', 'LIMIT_EXCEEDED'],
      [
        '409',
        'SESSION_CONFLICT, SESSION_FLOW_MISMATCH, SESSION_FLOW_INVARIANT, SESSION_ENDED, EVENT_NOT_TAKEN, SESSION_BUSY, TURN_SUPERSEDED',
      ],
      ['413', 'LIMIT_EXCEEDED'],
      ['415', 'INVALID_INPUT'],
      ['422', 'IDEMPOTENCY_MISMATCH, LIMIT_EXCEEDED, BUDGET_EXCEEDED'],
      ['429', 'LIMIT_EXCEEDED'],
      ['499', 'TURN_ABORTED'],
      ['500', 'FLOW_ERROR, TOOL_ERROR, FLOW_REGISTRATION, SESSION_STORE_ERROR, SCHEDULE_ERROR, INTERNAL_ERROR'],
      ['502', 'MODEL_ERROR, MODEL_BLOCKED'],
      ['503', 'ENGINE_BUSY, ENGINE_CLOSED'],
      ['504', 'TURN_TIMEOUT'],
    ])
    const ticket = operationsOf(everything)['POST /ai/ticket'] as Operation
    const ofTicket = new Map(codesAt(ticket) as [string, string][])
    expect([ofTicket.get('409'), ofTicket.get('503'), ofTicket.get('400')]).toEqual([
      expect.stringContaining('EVENT_NOT_TAKEN'),
      'ENGINE_BUSY, ENGINE_CLOSED, EVENT_NOT_TAKEN',
      'INVALID_INPUT, LIMIT_EXCEEDED, INTERNAL_ERROR',
    ])
    const withRetry = Object.entries(runOf({ statuses: 'precise' }).responses).filter(
      ([, { headers }]) => headers['Retry-After'],
    )
    expect(withRetry.map(([status]) => status)).toEqual(['429', '503'])
    expect(Object.keys(operationsOf(everything)['GET /ai/health']?.responses ?? {})).toEqual([
      '200',
      '400',
      '404',
      '405',
      '503',
    ])
  })

  test('every state, every reason, and a schema for each event that is sent', () => {
    const { SessionState, SessionEvent, ErrorCode, StreamEvent } = schemasOf(everything) as Record<string, never> as {
      readonly [name: string]: { enum: unknown; oneOf: { properties: { event: { const: string } } }[] } & {
        properties: Record<string, { enum: unknown }>
      }
    }
    expect([SessionState?.enum, SessionEvent?.properties.restarted?.enum]).toEqual([sessionStates, restartReasons])
    expect(ErrorCode?.enum).toHaveLength(Object.keys(errorFacts).length + 3)
    const types = StreamEvent?.oneOf.map(({ properties }) => properties.event.const)
    expect(types).toEqual(['session', 'step', 'text-delta', 'tool-start', 'tool-end', 'reset', 'result', 'error'])
  })

  test('references that lead somewhere', () => {
    const document = openApiDocument({ ...everything, statuses: 'precise' })
    const references = new Set(
      Array.from(JSON.stringify(document).matchAll(/"\$ref":"#\/([^"]+)"/g), ([, path = '']) => path),
    )
    const lost = [...references].filter(
      (path) =>
        path.split('/').reduce<unknown>((found, name) => (found as Record<string, unknown>)?.[name], document) ===
        undefined,
    )
    expect([references.size > 20, lost]).toEqual([true, []])
  })
})

describe('the document leaves out what is switched off:', () => {
  test('streams', () => {
    const contentOf = (operation: Operation) => Object.keys(operation.responses[200]?.content ?? {})
    expect(contentOf(runOf())).toEqual(['application/json', 'text/event-stream', '*/*'])
    expect(contentOf(runOf({ stream: false }))).toEqual(['application/json', '*/*'])
    expect(namesIn(runOf({ stream: false }))).not.toContain('last-event-id')
    expect(JSON.stringify(openApiDocument({ stream: false }))).not.toMatch(/event-stream"|StreamEvent|ResultEvent/)
  })

  test('events that name steps and tools', () => {
    expect(Object.keys(schemasOf({})).filter((name) => name.endsWith('Event'))).toEqual([
      ...['StreamEvent', 'SessionEvent', 'TextDeltaEvent', 'ResetEvent', 'ResultEvent', 'ErrorEvent'],
    ])
  })

  test('CORS, and the parts that the origin option makes unnecessary', () => {
    expect(JSON.stringify(openApiDocument())).not.toMatch(/Access-Control|Vary|Preflight/)
    const any = operationsOf({ cors: { origin: '*' } })
    expect(namesIn(any['POST /ai/run'] as Operation)).not.toContain('vary')
    expect(namesIn(any['POST /ai/run'] as Operation)).not.toContain('access-control-allow-credentials')
    const preflight = any['OPTIONS /ai/run']?.responses[204]?.headers ?? {}
    expect(Object.keys(preflight).sort()).toEqual([
      ...['Access-Control-Allow-Headers', 'Access-Control-Allow-Methods', 'Access-Control-Allow-Origin'],
      ...['Access-Control-Max-Age', 'Allow', 'Cache-Control', 'Chat-Request-Id', 'X-Content-Type-Options'],
    ])
  })

  test('bodies of HEAD', () => {
    const { responses } = operationsOf(everything)['HEAD /ai/health'] as Operation
    expect(Object.values(responses).filter(({ content }) => content !== undefined)).toEqual([])
  })
})

test('headers that the application adds to raw replies are in it, whatever their names', () => {
  const rawHeaders = { 'X-Frame-Options': 'DENY', constructor: 'x', 'cache-control': 'private', Pragma: null }
  const names = Object.keys(runOf({ rawHeaders }).responses[200]?.headers ?? {})
  expect(names).toEqual(expect.arrayContaining(['X-Frame-Options', 'constructor', 'Cache-Control']))
  expect([names.includes('Pragma'), names.includes('cache-control')]).toEqual([false, false])
})

test('title, version and servers are those of the options', () => {
  expect(openApiDocument()).toMatchObject({ openapi: '3.1.0', info: { title: 'Flows', version: '1.0.0' } })
  expect('servers' in openApiDocument()).toBe(false)
  expect(openApiDocument({ title: 'Shop', version: '2', servers: ['/proxied'] })).toMatchObject({
    info: { title: 'Shop', version: '2' },
    servers: [{ url: '/proxied' }],
  })
})

test('if the routes are at the root, so are the paths', () => {
  const { paths } = openApiDocument({ basePath: '/' })
  expect(Object.keys(paths)).toEqual(['/run', '/flows', '/end', '/cancel', '/openapi.json'])
})

test.each(['/', '/v1/chat', '/a%20b/ai'])(
  'a document that is served at %s has the paths as the client wrote them',
  async (mount) => {
    const prefix = mount === '/' ? '' : mount
    const request = new Request(`http://chat.example${prefix}/openapi.json?x=1`)
    const openApi = openApiDocument()
    const mounted = new Hono().route(
      mount === '/a%20b/ai' ? '/:tenant/ai' : mount,
      flowRoutes(createFakeEngine(), { openApi }),
    )
    const handler = createFetchHandler(createFakeEngine(), { openApi, basePath: mount })
    for (const reply of [await mounted.fetch(request), await handler(request)]) {
      const { paths } = (await reply.json()) as { readonly paths: object }
      expect(Object.keys(paths)).toEqual(
        ['run', 'flows', 'end', 'cancel', 'openapi.json'].map((route) => `${prefix}/${route}`),
      )
    }
  },
)

test("the application's additions to a document are served unchanged", async () => {
  const described = openApiDocument({ basePath: '/' })
  const orders = { get: { operationId: 'readOrder' } }
  const openApi = { ...described, security: [{ user: [] }], paths: { ...described.paths, '/orders/{id}': orders } }
  const reply = await createFetchHandler(createFakeEngine(), { openApi })(
    new Request('http://chat.example/ai/openapi.json'),
  )
  const { paths, security } = (await reply.json()) as typeof openApi
  expect(security).toEqual([{ user: [] }])
  expect(paths).toMatchObject({ '/ai/run': {}, '/orders/{id}': orders })
})

test.each([true, 'yes', null, [], { title: 'Shop' }])('a handler takes no other document: %j', (openApi) => {
  const create = () => createFetchHandler(createFakeEngine(), { openApi } as never)
  expect(create).toThrow(InvalidInputError)
  expect(create).toThrow(
    'createFetchHandler: openApi must be a document made by openApiDocument of turnkeeper/openapi.',
  )
})

test.each<[unknown, string]>([
  [{ openApi: true }, 'openApi must be a document made by openApiDocument of turnkeeper/openapi.'],
  [{ title: '' }, 'title must be a string that is not empty.'],
  [{ version: 2 }, 'version must be a string that is not empty.'],
  [{ title: 5 }, 'title must be a string that is not empty.'],
  [{ servers: 'x' }, "servers must be a list of addresses, such as ['https://api.shop.example']."],
  [{ servers: [''] }, "servers must be a list of addresses, such as ['https://api.shop.example']."],
  [{ basePath: 'ai' }, "basePath must be '/' or a path such as '/ai', with no slash at its end."],
  [{ titel: 'x' }, "there is no option 'titel'."],
])('wrong options of a document fail: %j', (options, problem) => {
  expect(() => openApiDocument(options as never)).toThrow(InvalidInputError)
  expect(() => openApiDocument(options as never)).toThrow(`openApiDocument: ${problem}`)
})
