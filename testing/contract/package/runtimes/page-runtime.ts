/// <reference types="node" />
// The handler in a page of Chromium. It is called with a `Request` and gives a `Response`; both cross into the page in
// pieces, so that a test can read a stream while it is made, and leave it.
import { chromium, type Page } from 'playwright-core'
import type { Running } from './running.js'

/** Debian's Chromium, or the one that CHROMIUM_PATH names. */
export const pageProgram: string = process.env.CHROMIUM_PATH ?? '/usr/bin/chromium'

const args = ['--headless', '--no-sandbox', '--disable-gpu', '--no-first-run', '--disable-background-networking']

/** What the tests of a page need in it. `handle` is of servers/page.js. */
interface PageGlobals {
  handle(request: Request): Promise<Response>
  requests: Map<number, { client: AbortController; reader?: ReadableStreamDefaultReader<Uint8Array> | undefined }>
}

interface SentRequest {
  readonly id: number
  readonly path: string
  readonly method: string
  readonly headers: readonly (readonly [string, string])[]
  readonly body: string | undefined
  /** Whether the body goes as a stream, without `Content-Length`. */
  readonly streamed: boolean
}

interface Head {
  readonly status: number
  readonly headers: readonly (readonly [string, string])[]
}

/** Opens a page that has run the program. Nothing of it goes over a network. */
export async function openPageRuntime(program: string): Promise<Running> {
  const browser = await chromium.launch({ executablePath: pageProgram, args })
  try {
    const page = await browser.newPage()
    await page.route('**/*', (route) => route.fulfill({ contentType: 'text/html', body: '<!doctype html>' }))
    await page.goto('https://app.example/')
    await page.evaluate(program)
    await page.evaluate(() => {
      ;(globalThis as unknown as PageGlobals).requests = new Map()
    })
    let next = 0
    return {
      version: browser.version(),
      send: (path, init) => sendInPage(page, ++next, path, init),
      close: () => browser.close(),
    }
  } catch (error) {
    await browser.close()
    throw error
  }
}

async function sendInPage(page: Page, id: number, path: string, init: RequestInit = {}): Promise<Response> {
  const streamed = init.body instanceof ReadableStream
  const request: SentRequest = {
    id,
    path,
    method: init.method ?? 'GET',
    headers: [...new Headers(init.headers)],
    body: init.body == null ? undefined : await new Response(init.body).text(),
    streamed,
  }
  const leave = (): Promise<void> => page.evaluate(leaveInPage, id)
  init.signal?.addEventListener('abort', () => void leave())
  const head = page.evaluate(beginInPage, request)
  const { status, headers } = await (init.signal == null ? head : Promise.race([head, rejectOnAbort(init.signal)]))
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      const text = await page.evaluate(readInPage, id)
      if (text === undefined) controller.close()
      else controller.enqueue(Buffer.from(text, 'base64'))
    },
    cancel: leave,
  })
  return new Response(request.method === 'HEAD' ? null : body, { status, headers: headers as [string, string][] })
}

function rejectOnAbort(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason))
  })
}

// These run in the page.

async function beginInPage({ id, path, method, headers, body, streamed }: SentRequest): Promise<Head> {
  const { handle, requests } = globalThis as unknown as PageGlobals
  const client = new AbortController()
  requests.set(id, { client })
  const stream = streamed ? { body: new Blob([body ?? '']).stream(), duplex: 'half' } : { body: body ?? null }
  const request = new Request(`https://app.example${path}`, {
    method,
    headers: headers as [string, string][],
    signal: client.signal,
    ...stream,
  })
  const response = await handle(request)
  requests.set(id, { client, reader: response.body?.getReader() })
  return { status: response.status, headers: [...response.headers] }
}

async function readInPage(id: number): Promise<string | undefined> {
  const { requests } = globalThis as unknown as PageGlobals
  const { done = true, value } = (await requests.get(id)?.reader?.read()) ?? {}
  return done || value === undefined ? undefined : btoa(String.fromCharCode(...value))
}

async function leaveInPage(id: number): Promise<void> {
  const { requests } = globalThis as unknown as PageGlobals
  requests.get(id)?.client.abort()
  await requests.get(id)?.reader?.cancel()
}
