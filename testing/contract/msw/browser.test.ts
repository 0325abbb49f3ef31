// The same handlers in a browser: MSW's own service worker answers a page in headless Chromium. It runs in Debian's
// Chromium, or in the one that CHROMIUM_PATH names. Without one these tests are skipped by name; in CI they fail.
import { existsSync, readFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import { createRequire } from 'node:module'
import type { AddressInfo } from 'node:net'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { type Browser, chromium, type Page } from 'playwright-core'
import { afterAll, beforeAll, expect, type TestContext, test } from 'vitest'
import { Page as DocsPage } from '../testing-page/page.js'
import type { PageGlobals } from './page.js'

const executablePath = process.env.CHROMIUM_PATH ?? '/usr/bin/chromium'
const args = ['--headless', '--no-sandbox', '--disable-gpu', '--no-first-run', '--disable-background-networking']

const docsPage = new DocsPage('testing-front-ends')
let browser: Browser | undefined
let server: Server
let origin: string

beforeAll(async () => {
  const { outputFiles } = await build({
    entryPoints: [fileURLToPath(new URL('page.ts', import.meta.url))],
    bundle: true,
    format: 'esm',
    platform: 'browser',
    write: false,
    logLevel: 'silent',
  })
  // The program of docs/testing-front-ends.md, in a page of its own.
  const { outputFiles: documented } = await build({
    stdin: {
      contents: `${docsPage.text('setupWorker')}globalThis.started = Promise.resolve()\n`,
      resolveDir: fileURLToPath(new URL('.', import.meta.url)),
    },
    alias: { 'turnkeeper/testing/msw': fileURLToPath(new URL('../../msw/index.ts', import.meta.url)) },
    bundle: true,
    format: 'esm',
    platform: 'browser',
    write: false,
    logLevel: 'silent',
  })
  const html = (script: string): string[] => [
    'text/html',
    `<!doctype html><link rel="icon" href="data:,"><script type="module" src="${script}"></script>`,
  ]
  const files = new Map([
    ['/', html('/page.js')],
    ['/page.js', ['text/javascript', outputFiles[0]?.text ?? '']],
    ['/documented', html('/documented.js')],
    ['/documented.js', ['text/javascript', documented[0]?.text ?? '']],
    [
      '/mockServiceWorker.js',
      ['text/javascript', readFileSync(createRequire(import.meta.url).resolve('msw/mockServiceWorker.js'), 'utf8')],
    ],
  ])
  server = createServer(({ url = '' }, response) => {
    const [type, text] = files.get(url) ?? []
    response.writeHead(text === undefined ? 404 : 200, { 'Content-Type': `${type ?? 'text/plain'}; charset=utf-8` })
    response.end(text ?? 'Not found: the service worker should have answered.')
  })
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve)
  })
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  if (existsSync(executablePath)) browser = await chromium.launch({ executablePath, args })
})

afterAll(async () => {
  await browser?.close()
  server.closeAllConnections()
  await new Promise((resolve) => {
    server.close(resolve)
  })
})

/** Opens the page; ends the test if there is no browser. */
async function open(context: TestContext, path = '/'): Promise<Page> {
  if (browser === undefined) {
    if (process.env.CI) throw new Error(`There is no Chromium at ${executablePath}. Set CHROMIUM_PATH.`)
    return context.skip(`There is no Chromium at ${executablePath}. Set CHROMIUM_PATH.`)
  }
  const page = await browser.newPage()
  await page.goto(new URL(path, origin).href)
  await page.waitForFunction(() => 'started' in globalThis)
  await page.evaluate(async () => {
    await (globalThis as unknown as PageGlobals).started
  })
  return page
}

interface Answer {
  readonly status: number
  readonly session: string | null
  readonly kind: string | null
  readonly completed: string | null
  readonly body: string
}

/** A turn, and what the page's scripts see of the answer; a text if `fetch` or the reading of the body failed. */
function run(page: Page, base: string, message: string, session = ''): Promise<Answer | string> {
  const sent = { url: `${base}/ai/run`, body: JSON.stringify({ flowName: 'Words', message }), session }
  return page.evaluate(async ({ url, body, session }) => {
    const headers = { 'Content-Type': 'application/json', ...(session === '' ? {} : { CHAT_SESSION_ID: session }) }
    let response: Response
    try {
      response = await fetch(url, { method: 'POST', headers, body })
    } catch {
      return 'fetch failed'
    }
    const seen = (name: string): string | null => response.headers.get(name)
    try {
      return {
        status: response.status,
        session: seen('CHAT_SESSION_ID'),
        kind: seen('Chat-Reply'),
        completed: seen('Chat-Completed'),
        body: await response.text(),
      }
    } catch {
      return `reading failed, status ${response.status}, session ${seen('CHAT_SESSION_ID')}`
    }
  }, sent)
}

function envelope(message: string, session: string, more: object = {}): string {
  return JSON.stringify({ success: true, completed: false, message, session, contentType: 'text/plain', ...more })
}

test('the program of docs/testing-front-ends.md answers a page', async (context) => {
  const page = await open(context, '/documented')
  const sent = { status: 200, session: 'session-1', kind: 'envelope' }
  const first = envelope('What is your name?', 'session-1')
  expect(await run(page, 'https://api.example', 'Hi')).toEqual({ ...sent, completed: 'false', body: first })
  const last = envelope('Hello!', 'session-1', { completed: true })
  expect(await run(page, 'https://api.example', 'Ada', 'session-1')).toEqual({ ...sent, completed: 'true', body: last })
})

test('a page talks to a script, failures included', async (context) => {
  const page = await open(context)
  const base = 'https://api.example'
  const session = 'session-1'
  const sent = { status: 200, session, kind: 'envelope', completed: 'false' }
  expect(await run(page, base, 'Hi')).toEqual({ ...sent, body: envelope('What is your name?', session) })
  expect(await run(page, base, 'table', session)).toEqual({ ...sent, kind: 'raw', body: 'a,b' })
  expect(await run(page, base, 'conflict', session)).toEqual({
    ...sent,
    status: 400,
    completed: 'true',
    body: envelope("Session 'session-1' was changed or deleted by another request.", session, {
      success: false,
      completed: true,
    }),
  })
  expect(await run(page, base, 'unreached', session)).toBe('fetch failed')
  expect(await run(page, base, 'proxy', session)).toEqual({
    status: 502,
    session: null,
    kind: null,
    completed: null,
    body: '<h1>Bad Gateway</h1>',
  })
  expect(await run(page, base, 'cut', session)).toBe('reading failed, status 200, session session-1')
  expect(await run(page, base, 'bye', session)).toMatchObject({
    completed: 'true',
    body: envelope('Goodbye.', session, { completed: true }),
  })
  const { runs, done } = await page.evaluate(() => {
    const { scripted } = globalThis as unknown as PageGlobals
    scripted.assertDone()
    return { runs: scripted.runs.map(({ message }) => message), done: true }
  })
  expect(runs).toEqual(['Hi', 'table', 'conflict', 'unreached', 'proxy', 'cut', 'bye'])
  expect(done).toBe(true)
  const over = await run(page, base, 'more')
  expect(over).toMatchObject({ status: 400, body: expect.stringContaining('once more than its script says') })
  const mistake = await page.evaluate(() => {
    try {
      ;(globalThis as unknown as PageGlobals).scripted.assertDone()
    } catch (error) {
      return String(error)
    }
    return 'nothing'
  })
  expect(mistake).toContain('request 8, flow \'Words\', a new session, message "more"')
})

test('a page talks to an engine in the same page', async (context) => {
  const page = await open(context)
  const first = await run(page, origin, 'one')
  const session = (first as Answer).session ?? ''
  expect(session).toMatch(/^[\w-]{32}$/)
  expect(await run(page, origin, 'two', session)).toMatchObject({ status: 200, body: envelope('one two', session) })
  const others = await page.evaluate(async (id) => {
    const flows = await (await fetch('/ai/flows')).json()
    const end = await (await fetch('/ai/end', { method: 'POST', headers: { CHAT_SESSION_ID: id } })).json()
    const { engine } = globalThis as unknown as PageGlobals
    return { flows, end, left: (await engine.getSession(id)) !== undefined }
  }, session)
  expect(others).toEqual({ flows: ['Words'], end: { success: true, session }, left: false })
})
