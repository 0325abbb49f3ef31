/**
 * Lambda behind a function URL, for the test: an HTTP server that makes an event of each request, and hands it to a
 * sandbox that is free. There are two; a request waits while both are at work.
 */
import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { Worker } from 'node:worker_threads'

export type HandlerName = 'handler' | 'streamingHandler'

interface Sandbox {
  readonly worker: Worker
  readonly thaw: Int32Array
  /** Resolves when it is frozen again. Absent while it is. */
  busy?: Promise<void> | undefined
}

/** The messages of a sandbox. */
export type Said =
  | { readonly kind: 'head'; readonly statusCode: number; readonly headers: Record<string, string> }
  | { readonly kind: 'chunk'; readonly chunk: Uint8Array }
  | { readonly kind: 'end' }
  | { readonly kind: 'frozen' }

/** The function, deployed. */
export interface FakeLambda {
  /** The URL of each sandbox. A request goes there if the sandbox is free, otherwise to the other one. */
  readonly urls: readonly [string, string]
  /** Whether one of the sandboxes is at work. */
  isBusy(): boolean
  /** Resolves when both are frozen. */
  frozen(): Promise<void>
  close(): Promise<void>
}

/** Starts the sandboxes of one of the two handlers of the bundle. */
export async function startLambda(
  bundle: string,
  handlerName: HandlerName,
  env: Readonly<Record<string, string>>,
): Promise<FakeLambda> {
  const sandboxes = await Promise.all([0, 1].map(() => startSandbox(bundle, handlerName, env)))

  async function answer(preferred: number, request: IncomingMessage, response: ServerResponse): Promise<void> {
    const event = await eventOf(request)
    for (;;) {
      const free = [sandboxes[preferred], ...sandboxes].find((sandbox) => sandbox?.busy === undefined)
      if (free !== undefined) {
        run(free, event, response)
        return
      }
      await Promise.race(sandboxes.map(({ busy }) => busy))
    }
  }

  const servers = await Promise.all(
    [0, 1].map(async (index) => {
      const server = createServer((request, response) => void answer(index, request, response))
      await once(server.listen(0, '127.0.0.1'), 'listening')
      return server
    }),
  )
  const [first = '', second = ''] = servers.map(urlOf)
  return {
    urls: [first, second],
    isBusy: () => sandboxes.some(({ busy }) => busy !== undefined),
    async frozen() {
      await Promise.all(sandboxes.map(({ busy }) => busy))
    },
    async close() {
      for (const server of servers) server.close()
      for (const sandbox of sandboxes) {
        thawSandbox(sandbox)
        await sandbox.worker.terminate()
      }
    },
  }
}

function urlOf(server: Server): string {
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

async function startSandbox(
  bundle: string,
  handlerName: HandlerName,
  env: Readonly<Record<string, string>>,
): Promise<Sandbox> {
  const thaw = new Int32Array(new SharedArrayBuffer(4))
  const worker = new Worker(new URL('sandbox.mjs', import.meta.url), {
    workerData: { bundle, handlerName, thaw },
    env: { ...process.env, ...env },
  })
  const sandbox: Sandbox = { worker, thaw }
  await once(worker, 'message')
  return sandbox
}

/** Runs one event. If the client leaves, the handler goes on. */
function run(sandbox: Sandbox, event: object, response: ServerResponse): void {
  sandbox.busy = new Promise((resolve) => {
    sandbox.worker.on('message', function read(said: Said): void {
      if (said.kind === 'head') response.writeHead(said.statusCode, said.headers)
      if (said.kind === 'chunk') response.write(said.chunk)
      if (said.kind === 'end') response.end()
      if (said.kind !== 'frozen') return
      sandbox.worker.off('message', read)
      sandbox.busy = undefined
      resolve()
    })
  })
  sandbox.worker.postMessage(event)
  thawSandbox(sandbox)
}

function thawSandbox({ thaw }: Sandbox): void {
  Atomics.store(thaw, 0, 1)
  Atomics.notify(thaw, 0)
}

/** An event in the payload format 2.0, which function URLs and HTTP APIs share. */
async function eventOf(request: IncomingMessage): Promise<object> {
  const { pathname, search } = new URL(request.url ?? '/', 'http://127.0.0.1')
  return {
    version: '2.0',
    routeKey: '$default',
    rawPath: pathname,
    rawQueryString: search.slice(1),
    headers: request.headers,
    requestContext: {
      domainName: 'function.lambda-url.example',
      http: { method: request.method, path: pathname, protocol: 'HTTP/1.1', sourceIp: '127.0.0.1', userAgent: '' },
    },
    body: await text(request),
    isBase64Encoded: false,
  }
}
