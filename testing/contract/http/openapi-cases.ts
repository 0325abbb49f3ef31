// GET /openapi.json: off by default, the document of the routes as the client sees them.
import { expect } from 'vitest'
import { openApiDocument } from '../../../adapters/openapi/index.js'
import { createEngine, failure, runTurn, type Serve, type TestFunction } from './serve.js'

type Sent = ReturnType<typeof openApiDocument>

export function openApiCases(test: TestFunction, serve: Serve): void {
  test('without the option openApi there is no document', async () => {
    for (const options of [{}, { openApi: false }] as const) {
      const send = await serve(createEngine(), options)
      const reply = await send('/openapi.json')
      const message = 'Not found. The routes are POST run, GET flows, POST end and POST cancel, below the base path.'
      expect([reply.status, await reply.json()]).toMatchObject([404, { message: expect.stringContaining(message) }])
    }
  })

  test('the document has the served routes at their paths', async () => {
    const options = { session: true, statuses: 'precise' } as const
    const openApi = openApiDocument({ ...options, title: 'Shop' })
    const send = await serve(createEngine(), { ...options, openApi })
    const reply = await send('/openapi.json')
    expect([reply.status, reply.headers.get('content-type')]).toEqual([200, 'application/json'])
    const document = (await reply.json()) as Sent
    const basePath = (Object.keys(document.paths)[0] ?? '').slice(0, -'/run'.length)
    const expected = openApiDocument({ ...options, title: 'Shop', basePath: basePath || '/' })
    expect(document).toEqual(JSON.parse(JSON.stringify(expected)))
    expect(document.info).toEqual({ title: 'Shop', version: '1.0.0' })
    const routes = Object.keys(document.paths).map((path) => path.slice(basePath.length))
    expect(routes).toEqual(['/run', '/flows', '/end', '/cancel', '/session', '/openapi.json'])
    const statuses = await Promise.all(
      routes.slice(1).map((route) => send(route, { method: methodOf(document, route) })),
    )
    expect(statuses.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200])
    expect((await runTurn(send, { flowName: 'Greeting' })).reply.status).toBe(200)
  })

  test('HEAD has the headers of the document, and another method is refused', async () => {
    const send = await serve(createEngine(), { openApi: openApiDocument() })
    const head = await send('/openapi.json', { method: 'HEAD' })
    expect([head.status, await head.text(), head.headers.get('content-type')]).toEqual([200, '', 'application/json'])
    const post = await send('/openapi.json', { method: 'POST' })
    expect([post.status, post.headers.get('Allow'), await post.json()]).toEqual([
      405,
      'GET, HEAD',
      failure('Method not allowed. Use GET or HEAD.'),
    ])
  })

  test('who is refused does not get the document', async () => {
    const authorize = () => new Response(null, { status: 401 })
    const send = await serve(createEngine(), { openApi: openApiDocument(), authorize })
    expect((await send('/openapi.json')).status).toBe(401)
  })
}

/** The first method of a route, as the document has it. */
function methodOf({ paths }: Sent, route: string): string {
  const found = Object.entries(paths).find(([path]) => path.endsWith(route))
  return Object.keys(found?.[1] ?? {})[0]?.toUpperCase() ?? ''
}
