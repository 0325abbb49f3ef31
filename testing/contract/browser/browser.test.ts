// A page on another origin talks to the flows: real cross-origin requests of a real browser, which alone decides what a
// page may send and read.
import type { Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, expect, type TestContext, test } from 'vitest'
import { closeBrowser, launchBrowser, openPage } from './chromium.js'
import { type FlowServer, type RunningServer, serveFlows, servePage } from './servers.js'

let allowed: RunningServer
let foreign: RunningServer
let server: FlowServer

beforeAll(launchBrowser)

afterAll(closeBrowser)

beforeEach(async () => {
  allowed = await servePage()
  foreign = await servePage()
  server = await serveFlows(allowed.origin)
})

afterEach(async () => {
  await Promise.all([allowed.close(), foreign.close(), server.close()])
})

/** Opens the page of an origin; ends the test if there is no browser. */
function open(context: TestContext, { origin }: RunningServer): Promise<Page> {
  return openPage(context, origin)
}

interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string | null>>
  readonly body: string
}

interface Call {
  readonly path: string
  readonly method?: string
  readonly body?: string
  readonly headers?: Readonly<Record<string, string>>
}

const readable = [
  'CHAT_SESSION_ID',
  'Chat-Session-Id',
  'Chat-Reply',
  'Chat-Completed',
  'Chat-Session-State',
  'Chat-Error',
  'Content-Type',
]

/** A request from the page, and what its scripts can see of the answer; `undefined` if the browser refused. */
function call(page: Page, { path, method = 'POST', body, headers = {} }: Call): Promise<Answer | undefined> {
  const request = { url: `${server.origin}${path}`, method, body, headers, readable }
  return page.evaluate(async ({ url, method, body, headers, readable }) => {
    let response: Response
    try {
      response = await fetch(url, body === undefined ? { method, headers } : { method, headers, body })
    } catch {
      return undefined
    }
    return {
      status: response.status,
      headers: Object.fromEntries(readable.map((name) => [name, response.headers.get(name)])),
      body: await response.text(),
    }
  }, request)
}

function run(page: Page, message: string, headers: Readonly<Record<string, string>> = {}): Promise<Answer | undefined> {
  return call(page, {
    path: '/ai/run',
    body: JSON.stringify({ flowName: 'Words', message }),
    headers: { 'Content-Type': 'application/json', ...headers },
  })
}

test('[1-6 2.1-2 4.1-4 4.1-10] a page on another origin holds a conversation', async (context) => {
  const page = await open(context, allowed)
  const first = await run(page, 'one')
  const session = first?.headers.CHAT_SESSION_ID ?? ''
  expect(session).toMatch(/^[\w-]{32}$/)
  expect(first?.status).toBe(200)
  expect(JSON.parse(first?.body ?? '')).toEqual({
    success: true,
    completed: false,
    message: '1: one',
    session,
    contentType: 'text/plain',
  })
  expect(first?.headers).toMatchObject({ 'Chat-Reply': 'envelope', 'Chat-Completed': 'false' })
  // A browser sends a preflight if a request carries JSON or its own header.
  expect(server.requests).toEqual(['OPTIONS /ai/run', 'POST /ai/run'])

  const second = await run(page, 'two', { CHAT_SESSION_ID: session })
  expect(JSON.parse(second?.body ?? '')).toMatchObject({ message: '2: one two', session })
  expect(second?.headers.CHAT_SESSION_ID).toBe(session)

  const last = await run(page, 'done', { CHAT_SESSION_ID: session })
  expect(JSON.parse(last?.body ?? '')).toMatchObject({ success: true, completed: true, message: 'Goodbye.' })
  expect(last?.headers['Chat-Completed']).toBe('true')
})

test('[4.1-6 4.1-7 4.1-8] the page reads a raw reply, and the session ID in the header', async (context) => {
  const page = await open(context, allowed)
  const first = await run(page, 'one')
  const session = first?.headers.CHAT_SESSION_ID ?? ''
  expect(await run(page, 'table', { CHAT_SESSION_ID: session })).toEqual({
    status: 200,
    headers: {
      CHAT_SESSION_ID: session,
      'Chat-Session-Id': null,
      'Chat-Reply': 'raw',
      'Chat-Completed': 'false',
      'Chat-Session-State': 'running',
      'Chat-Error': null,
      'Content-Type': 'text/csv; charset=utf-8',
    },
    body: 'word\none\ntable',
  })
})

test('[4.1-3 4.1-9] the page reads why a turn failed', async (context) => {
  const page = await open(context, allowed)
  const body = JSON.stringify({ flowName: 'Nothing', message: 'one' })
  const answer = await call(page, { path: '/ai/run', body, headers: { 'Content-Type': 'application/json' } })
  expect(answer?.status).toBe(400)
  expect(answer?.headers).toMatchObject({
    'Chat-Reply': 'envelope',
    'Chat-Completed': 'true',
    'Chat-Session-State': 'none',
    'Chat-Error': 'FLOW_NOT_FOUND',
  })
  expect(JSON.parse(answer?.body ?? '').message).toBe("Flow class 'Nothing' not registered.")
})

test('[4.2-2 4.3-2 4.3-3 4.3-4] the page lists the flows and ends its session', async (context) => {
  const page = await open(context, allowed)
  const flows = await call(page, { path: '/ai/flows', method: 'GET' })
  expect(JSON.parse(flows?.body ?? '')).toEqual(['Words'])
  const session = (await run(page, 'one'))?.headers.CHAT_SESSION_ID ?? ''
  expect(await server.engine.getSession(session)).toBeDefined()
  const end = await call(page, { path: '/ai/end', headers: { CHAT_SESSION_ID: session } })
  expect(end?.status).toBe(200)
  expect(JSON.parse(end?.body ?? '')).toEqual({ success: true, session })
  expect(await server.engine.getSession(session)).toBeUndefined()
})

test('the page may use the header without underscores', async (context) => {
  const page = await open(context, allowed)
  const first = await run(page, 'one', { 'Chat-Session-Id': '' })
  const session = first?.headers['Chat-Session-Id'] ?? ''
  expect(session).toMatch(/^[\w-]{32}$/)
  const second = await run(page, 'two', { 'Chat-Session-Id': session })
  expect(JSON.parse(second?.body ?? '')).toMatchObject({ message: '2: one two', session })
  expect(second?.headers['Chat-Session-Id']).toBe(session)
})

test('a page of an origin that is not allowed is refused by the browser, and nothing is run', async (context) => {
  const page = await open(context, foreign)
  const started: string[] = []
  server.engine.on('turn:start', ({ turnId }) => started.push(turnId))
  expect(await run(page, 'one')).toBeUndefined()
  // The preflight did not pass, so the request itself was never sent.
  expect(server.requests).toEqual(['OPTIONS /ai/run'])
  // Plain text is sent without a preflight, as a form would: it arrives, and is refused.
  const body = JSON.stringify({ flowName: 'Words', message: 'one' })
  expect(await call(page, { path: '/ai/run', body, headers: { 'Content-Type': 'text/plain' } })).toBeUndefined()
  expect(server.requests).toEqual(['OPTIONS /ai/run', 'POST /ai/run'])
  expect(await call(page, { path: '/ai/flows', method: 'GET' })).toBeUndefined()
  expect(started).toEqual([])
})
