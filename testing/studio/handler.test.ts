// The studio over real HTTP, as an attacker sees it: another page, another name of this machine, another process.
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { request as httpRequest, type IncomingHttpHeaders } from 'node:http'
import { connect } from 'node:net'
import { networkInterfaces, tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { Flow, LogicStep, reply, type Turn } from '../../src/index.js'
import { createStudioHandler, type StudioHandler } from './handler.js'
import { listen } from './listen.js'

class Echo extends LogicStep {
  static override readonly id = 'Echo'
  override run({ message }: Turn) {
    return reply(`You said: ${message}`)
  }
}
class Chat extends Flow {
  static override readonly id = 'Chat'
  override steps() {
    return [Echo]
  }
}

const page = '<!doctype html><title>Studio</title><style>p{color:red}</style><div></div><script>alert(1)</script>'
let folder: string
let handler: StudioHandler
let server: Awaited<ReturnType<typeof listen>>

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'studio-'))
  handler = createStudioHandler({ flows: [Chat], folder, page })
  server = await listen(handler.fetch, 0)
})

afterEach(async () => {
  await Promise.all([handler.close(), server.close()])
  rmSync(folder, { recursive: true })
})

interface Answer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly text: string
}

interface Asked {
  readonly path?: string
  readonly method?: string
  readonly headers?: Readonly<Record<string, string | undefined>>
  readonly body?: string
}

/** A request of the page, apart from what is asked otherwise. `undefined` leaves a header out. */
function ask({
  path = '/api/begin',
  method = 'POST',
  headers = {},
  body = '{"flow":"Chat"}',
}: Asked = {}): Promise<Answer> {
  const host = `127.0.0.1:${server.port}`
  const all = {
    host,
    origin: `http://${host}`,
    'x-studio-token': handler.token,
    'content-type': 'application/json',
    ...headers,
  }
  const sent = Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined))
  return new Promise((resolve, reject) => {
    const outgoing = httpRequest(
      { host: '127.0.0.1', port: server.port, path, method, headers: sent },
      async (incoming) => {
        let text = ''
        for await (const piece of incoming) text += piece
        resolve({ status: incoming.statusCode ?? 0, headers: incoming.headers, text })
      },
    )
    outgoing.on('error', reject)
    outgoing.end(method === 'GET' || method === 'OPTIONS' ? undefined : body)
  })
}

async function call(name: string, body: object): Promise<unknown> {
  const { status, text } = await ask({ path: `/api/${name}`, body: JSON.stringify(body) })
  expect([status, text.includes('problem')]).toEqual([200, false])
  return JSON.parse(text)
}

/** The updates of a handler, without a server. */
function updatesOf({ fetch: answer, token }: StudioHandler): Promise<Response> {
  const origin = 'http://localhost:4400'
  const headers = { origin, 'x-studio-token': token, 'content-type': 'application/json' }
  return answer(new Request(`${origin}/api/updates`, { method: 'POST', headers, body: '{}' }))
}

describe('the page', () => {
  test('may run only its own script and style, and call only its own server', async () => {
    const { status, headers, text } = await ask({ path: '/', method: 'GET', headers: { origin: undefined } })
    expect([status, text]).toEqual([200, page])
    expect(headers['content-security-policy']).toBe(
      "default-src 'none'; script-src 'sha256-bhHHL3z2vDgxUt0W3dWQOrprscmda2Y5pLsLg4GF+pI='; style-src 'sha256-p0bF+un5yUb9MBO6xRb8kPHlY2BdpHVtLiFkDrZPF64='; connect-src 'self'; img-src data:; frame-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'",
    )
    expect(headers).toMatchObject({
      'cache-control': 'no-store',
      'cross-origin-opener-policy': 'same-origin',
      'cross-origin-resource-policy': 'same-origin',
      'referrer-policy': 'no-referrer',
      'x-content-type-options': 'nosniff',
      'x-frame-options': 'DENY',
    })
  })

  test('has no token: only its address has it', async () => {
    expect((await ask({ path: '/', method: 'GET' })).text).not.toContain(handler.token)
    expect(handler.token).toMatch(/^[\w-]{43}$/)
  })
})

describe('a call is refused', () => {
  test.each<[string, Asked, number]>([
    ['under another name, which DNS rebinding gives', { headers: { host: 'studio.evil.example' } }, 403],
    ['under another name, for the page too', { path: '/', method: 'GET', headers: { host: 'evil.example' } }, 403],
    ['under a name that hides this one', { headers: { host: '127.0.0.1@evil.example' } }, 400],
    ['under a name that begins like this one', { headers: { host: '127.0.0.1.evil.example' } }, 403],
    ['from another page', { headers: { origin: 'https://evil.example' } }, 403],
    ['from another port of this machine', { headers: { origin: 'http://127.0.0.1:1' } }, 403],
    ['from a sandboxed frame', { headers: { origin: 'null' } }, 403],
    ['without an origin', { headers: { origin: undefined } }, 403],
    ['without the token', { headers: { 'x-studio-token': undefined } }, 401],
    ['with another token', { headers: { 'x-studio-token': 'A'.repeat(43) } }, 401],
    ['as a form of another page could send it', { headers: { 'content-type': 'text/plain' } }, 415],
    ['without a type', { headers: { 'content-type': undefined } }, 415],
    ['with another method', { method: 'PUT' }, 405],
    ['with GET', { method: 'GET' }, 405],
    ['as a preflight', { method: 'OPTIONS', headers: { 'access-control-request-method': 'POST' } }, 405],
    ['at an unknown path', { path: '/api/constructor' }, 404],
    ['for a file', { path: '/../../package.json' }, 404],
    ['with no JSON', { body: 'flow=Chat' }, 400],
    ['with a list', { body: '[]' }, 400],
    ['for an unknown flow', { body: '{"flow":"__proto__"}' }, 400],
    ['for an unknown line', { path: '/api/line', body: '{"line":"../../x"}' }, 400],
    ['with a body above 32 MiB', { body: JSON.stringify({ flow: 'x'.repeat(33 * 1024 * 1024) }) }, 400],
  ])('%s', async (_name, asked, status) => {
    const answer = await ask(asked)
    expect(answer.status).toBe(status)
    if (answer.text !== '') expect(JSON.parse(answer.text).problem).toMatch(/\.$|JSON/)
    expect(Object.keys(answer.headers).filter((name) => name.startsWith('access-control'))).toEqual([])
    expect(readdirSync(folder)).toEqual([])
  })

  test('if it is no HTTP', async () => {
    const socket = connect(server.port, '127.0.0.1').on('error', () => undefined)
    socket.end('GET http://evil.example/ HTTP/1.1\r\nHost: evil.example\r\n\r\n')
    let text = ''
    for await (const piece of socket) text += piece
    expect(text).toMatch(/^HTTP\/1\.1 40[03]/)
  })
})

test('no other address of this machine reaches it', async () => {
  const others = Object.values(networkInterfaces()).flatMap((list = []) =>
    list.filter(({ internal, family }) => !internal && family === 'IPv4').map(({ address }) => address),
  )
  for (const address of others) {
    const reached = await new Promise((resolve) => {
      const socket = connect(server.port, address)
      socket.once('connect', () => resolve(true))
      socket.once('error', () => resolve(false))
    })
    expect(reached).toBe(false)
  }
})

describe('a page that has the token', () => {
  test('talks, and gets the updates until it leaves', async () => {
    const line = 'chat-1'
    expect(await call('begin', { flow: 'Chat' })).toEqual({ line })
    const host = `127.0.0.1:${server.port}`
    const leaving = new AbortController()
    const updates = await fetch(`http://${host}/api/updates`, {
      method: 'POST',
      headers: { origin: `http://${host}`, 'x-studio-token': handler.token, 'content-type': 'application/json' },
      body: '{}',
      signal: leaving.signal,
    })
    const reader = (updates.body as ReadableStream<BufferSource>).pipeThrough(new TextDecoderStream()).getReader()
    let text = ''
    const upTo = async (wanted: string): Promise<void> => {
      while (!text.includes(wanted)) text += (await reader.read()).value ?? ''
    }
    await upTo('"lines"')
    expect(await call('send', { line, text: 'Hello' })).toEqual({})
    await upTo('"turns":1')
    expect(await call('line', { line })).toMatchObject({ state: 'running', history: [{ reply: 'You said: Hello' }] })
    expect(await call('turn', { line, turn: 1 })).toMatchObject({ calls: [], models: [] })
    expect(await call('fork', { line, turn: 1 })).toEqual({ line: 'chat-2' })
    expect(await call('advance', { line, ms: 1000 })).toEqual({})
    leaving.abort()
  })

  test('may leave: nothing is sent to it any more', async () => {
    const { body } = await updatesOf(handler)
    await body?.cancel()
    expect(await call('begin', { flow: 'Chat' })).toEqual({ line: 'chat-1' })
  })

  test.each([
    ['[::1]', 200],
    ['localhost', 200],
    ['[::2]', 403],
  ])('uses a name of this machine: %s', async (name, status) => {
    expect((await handler.fetch(new Request(`http://${name}:4400/`))).status).toBe(status)
  })

  test.each([
    ['turn', { turn: 9 }],
    ['fork', { turn: 1.5 }],
    ['replay', { turn: 0 }],
    ['save', { as: 'binary', name: 'x' }],
    ['open', { document: { id: 'x' } }],
  ])('gets a problem for %s with %j', async (name, body) => {
    await call('begin', { flow: 'Chat' })
    const { status, text } = await ask({ path: `/api/${name}`, body: JSON.stringify({ line: 'chat-1', ...body }) })
    expect([status, typeof JSON.parse(text).problem]).toEqual([400, 'string'])
  })

  test.each([
    ['advance', { ms: -1 }, 'The time moves by 0 milliseconds or more.'],
    ['advance', { ms: 'soon' }, 'The time moves by 0 milliseconds or more.'],
    ['advance', { ms: 1e13 }, 'The time moves by 0 milliseconds or more.'],
    ['advance', {}, 'There is no timer.'],
    ['answer', { question: 'x', answer: 'run' }, 'This question is not open any more.'],
    ['send', { text: 1 }, 'userMessage must be a string.'],
    ['event', { name: 'none' }, expect.stringContaining('session')],
  ])('gets the reason if there is no turn: %s with %j', async (name, body, problem) => {
    await call('begin', { flow: 'Chat' })
    const { status, text } = await ask({ path: `/api/${name}`, body: JSON.stringify({ line: 'chat-1', ...body }) })
    expect([status, JSON.parse(text)]).toEqual([200, { problem }])
  })

  test('gets paths as they are', async () => {
    await call('begin', { flow: 'Chat' })
    await call('send', { line: 'chat-1', text: process.cwd() })
    expect(JSON.stringify(await call('line', { line: 'chat-1' }))).toContain(`You said: ${process.cwd()}`)
  })

  test('gets no secret of the environment, whatever says it', async () => {
    process.env.STUDIO_TEST_API_KEY = 'sk-canary-"1234"'
    try {
      await call('begin', { flow: 'Chat' })
      await call('send', { line: 'chat-1', text: `The key is ${process.env.STUDIO_TEST_API_KEY}.` })
      const { text } = await ask({ path: '/api/line', body: '{"line":"chat-1"}' })
      expect(text).not.toContain('canary')
      expect(JSON.parse(text).history[0].reply).toBe('You said: The key is [STUDIO_TEST_API_KEY].')
      class Leaking extends Flow {
        static override readonly id: string = String(process.env.STUDIO_TEST_API_KEY)
        override steps() {
          return [Echo]
        }
      }
      const leaking = createStudioHandler({ flows: [Leaking], folder, page })
      const reader = (await updatesOf(leaking)).body?.getReader()
      const first = new TextDecoder().decode((await reader?.read())?.value)
      await reader?.cancel()
      expect(JSON.parse(first).flows).toEqual(['[STUDIO_TEST_API_KEY]'])
    } finally {
      delete process.env.STUDIO_TEST_API_KEY
    }
  })
})
