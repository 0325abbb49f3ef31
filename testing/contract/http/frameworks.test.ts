// A Fetch handler in Node's own server and in the frameworks that stand on it: all HTTP cases where nobody has read the
// body before, and what is different below a body parser and below a mount.
import { readFileSync } from 'node:fs'
import { type IncomingMessage, request, type Server } from 'node:http'
import { afterEach, beforeAll, describe, expect, test } from 'vitest'
import { createFetchHandler } from '../../../adapters/fetch/index.js'
import type { FlowServices } from '../../../src/index.js'
import { httpCases } from './cases.js'
import { createChat, streamTurn } from './chatting.js'
import type { WaitingServices } from './flows.js'
import { areFrameworksMissing, type FrameworkApp, leftOut, listen, loadApp } from './frameworks.js'
import { GatedModel } from './gated-model.js'
import { createEngine, runRequest, runTurn, type Send, type Serve } from './serve.js'

const cleanUps: (() => Promise<void> | void)[] = []

afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp()
})

type How = 'plain' | 'parsed' | 'mounted'

const frameworks = ['http', 'express', 'fastify', 'koa', 'nest']

describe.skipIf(areFrameworksMissing).each(frameworks)(`%s${leftOut}`, (name) => {
  let app: FrameworkApp

  beforeAll(async () => {
    app = await loadApp(name)
  })

  function serving(how: How): Serve {
    return async (engine, options) => {
      const basePath = how === 'mounted' ? '/api/ai' : '/ai'
      const createServer = app[how]
      if (createServer === undefined) throw new Error(`The file of ${name} has no ${how}.`)
      const server = await listen(createServer(createFetchHandler(engine, { ...options, basePath })))
      cleanUps.push(server.close)
      return (path, init) => fetch(`http://127.0.0.1:${server.port}${basePath}${path}`, init)
    }
  }

  describe('with the body unread', () => {
    httpCases(test, serving('plain'))
  })

  const ways: readonly How[] = name === 'http' ? ['plain'] : ['plain', 'parsed', 'mounted']
  describe.each(ways)('%s', (how) => {
    const serve = serving(how)

    test('a conversation goes on from request to request', async () => {
      const send = await serve(createEngine())
      const first = await runTurn(send, { flowName: 'Greeting' })
      const session = { CHAT_SESSION_ID: first.envelope.session }
      await runTurn(send, { flowName: 'Greeting', message: 'Zoë 🐢' }, session)
      const { reply, envelope } = await runTurn(send, { flowName: 'Greeting', message: 'Bonn' }, session)
      expect([reply.status, envelope]).toMatchObject([200, { completed: true, message: 'Zoë 🐢 of Bonn.' }])
      expect(reply.headers.get('CHAT_SESSION_ID')).toBe(first.envelope.session)
      const ended = await send('/end', { method: 'POST', headers: session })
      expect(await ended.json()).toEqual({ success: true, session: first.envelope.session })
    })

    test('a reply arrives piece by piece', async () => {
      const model = new GatedModel()
      const send = await serve(createChat(model.provider))
      const { events } = await streamTurn(send, { flowName: 'Chatting' })
      const call = await model.called()
      expect(await events.next()).toMatchObject({ type: 'session' })
      for (const text of ['Hel', 'lo']) {
        call.say(text)
        expect(await events.next()).toMatchObject({ type: 'text-delta', data: { text } })
      }
      call.finish()
      expect(await events.next()).toMatchObject({ type: 'result' })
      expect(await events.next()).toBeUndefined()
    })

    test.each([
      ['a stream', 'text/event-stream'],
      ['a whole reply', 'application/json'],
    ])('a client that leaves %s cancels the turn', async (_what, accept) => {
      const leaving = new AbortController()
      const services: WaitingServices = { onWaiting: () => leaving.abort() }
      const engine = createEngine({ services: services as FlowServices })
      const failed = new Promise((resolve) => engine.on('turn:error', ({ code }) => resolve(code)))
      const request = runRequest({ flowName: 'Waiting' }, { Accept: accept })
      const left = (await serve(engine))('/run', { ...request, signal: leaving.signal }).then((reply) => reply.text())
      await expect(left).rejects.toThrow()
      expect(await failed).toBe('TURN_ABORTED')
    })

    test('a body over the limit of the handler is refused', async () => {
      const send = await serve(createEngine(), { maxBodyBytes: 200, statuses: 'precise' })
      const { reply, envelope } = await runTurn(send, { flowName: 'Greeting', message: 'x'.repeat(300) })
      expect([reply.status, envelope.message]).toEqual([
        413,
        'The request body is larger than 200 bytes (maxBodyBytes).',
      ])
    })

    test('HEAD has the headers and no body, and two cookies are two headers', async () => {
      const authorize = (): Response =>
        new Response('No.', {
          status: 401,
          headers: [
            ['Set-Cookie', 'a=1'],
            ['Set-Cookie', 'b=2'],
          ],
        })
      const head = await (await serve(createEngine()))('/flows', { method: 'HEAD' })
      expect([head.status, await head.text(), head.headers.get('content-type')]).toEqual([
        200,
        '',
        expect.stringContaining('application/json'),
      ])
      const refused = await (await serve(createEngine(), { authorize }))('/flows')
      expect([refused.status, refused.headers.getSetCookie()]).toEqual([401, ['a=1', 'b=2']])
    })
  })
})

describe.skipIf(areFrameworksMissing)(`express.json() first${leftOut}`, () => {
  test.each(['GET', 'HEAD'])('%s with a body that was parsed is answered', async (method) => {
    const { parsed } = await loadApp('express')
    const server = await listen((parsed as (handler: unknown) => Server)(createFetchHandler(createEngine())))
    cleanUps.push(server.close)
    const headers = { 'Content-Type': 'application/json', 'Content-Length': 2 }
    const reply = await new Promise<IncomingMessage>((resolve, reject) => {
      const sending = request({ port: server.port, path: '/ai/flows', method, headers, agent: false }, resolve)
      sending.on('error', reject).end('{}')
    })
    reply.resume()
    expect([reply.statusCode, reply.headers['content-type']]).toEqual([
      200,
      expect.stringContaining('application/json'),
    ])
  })

  test.each([
    ['with a Content-Length', (text: string) => text],
    ['in chunks', (text: string) => new Blob([text]).stream()],
  ])('without toNodeListener the reply says what to use: a body %s', async (_what, bodyOf) => {
    const { bodyRead } = await loadApp<{ bodyRead: (handler: unknown) => Server }>('express-body-read')
    const server = await listen(bodyRead(createFetchHandler(createEngine())))
    cleanUps.push(server.close)
    const init = { ...runRequest({ flowName: 'Greeting' }), body: bodyOf('{"flowName":"Greeting"}'), duplex: 'half' }
    const reply = await fetch(`http://127.0.0.1:${server.port}/ai/run`, init as RequestInit)
    expect([reply.status, await reply.json()]).toMatchObject([
      400,
      { message: expect.stringMatching(/^The request body was read before the handler got the request, /) },
    ])
  })
})

describe.skipIf(areFrameworksMissing)(`a controller of nest${leftOut}`, () => {
  interface ControllerApp {
    readonly parsed: (handler: unknown, options?: object) => Parameters<typeof listen>[0]
  }

  async function serve(options: object): Promise<Send> {
    const { parsed } = await loadApp<ControllerApp>('nest-controller')
    const server = await listen(parsed(createFetchHandler(createEngine()), options))
    cleanUps.push(server.close)
    return (path, init) => fetch(`http://127.0.0.1:${server.port}/ai${path}`, init)
  }

  test.each([{}, { bodyParser: false }, { rawBody: true }])('answers with the options %o', async (options) => {
    const send = await serve(options)
    const { envelope } = await runTurn(send, { flowName: 'Greeting', message: 'Zoë' })
    expect(envelope).toMatchObject({ success: true, message: 'What is your name?' })
  })

  test("refuses a body over the limit of Nest's parser as Nest does", async () => {
    const send = await serve({})
    const over = runRequest({ flowName: 'Greeting', message: 'x'.repeat(102_400) })
    const reply = await send('/run', over)
    expect([reply.status, await reply.json()]).toMatchObject([413, { message: 'request entity too large' }])
    const under = await runTurn(send, { flowName: 'Greeting', message: 'x'.repeat(100_000) })
    expect(under.envelope.success).toBe(true)
  })
})

describe.skipIf(areFrameworksMissing)(`what a body parser does first${leftOut}`, () => {
  async function portOf(name: string, how: How): Promise<string> {
    const app = await loadApp(name)
    const server = await listen((app[how] as typeof app.plain)(createFetchHandler(createEngine())))
    cleanUps.push(server.close)
    return `http://127.0.0.1:${server.port}/ai`
  }

  test.each([
    ['parsed', 'FST_ERR_CTP_EMPTY_JSON_BODY'],
    ['plain', undefined],
  ] as const)('fastify, %s: JSON without a body', async (how, code) => {
    const headers = { 'Content-Type': 'application/json', CHAT_SESSION_ID: 'unknown' }
    const reply = await fetch(`${await portOf('fastify', how)}/end`, { method: 'POST', headers })
    const { code: said, ...rest } = (await reply.json()) as { code?: string }
    expect([reply.status, said, 'success' in rest]).toEqual([how === 'parsed' ? 400 : 200, code, how === 'plain'])
  })

  test.each([
    ['parsed', 200],
    ['plain', 400],
  ] as const)('express, %s: bytes that are not UTF-8', async (how, status) => {
    const body = Buffer.from('{"flowName":"Greeting","message":"\xff"}', 'latin1')
    const headers = { 'Content-Type': 'application/json' }
    const reply = await fetch(`${await portOf('express', how)}/run`, { method: 'POST', headers, body })
    expect(reply.status).toBe(status)
  })
})

test('every function of docs/frameworks.md is one of the tested files', () => {
  const page = readFileSync(new URL('../../../docs/frameworks.md', import.meta.url), 'utf8')
  const shown = Array.from(page.matchAll(/^export (?:async )?function [\s\S]*?^}$/gm), ([text]) => text)
  const tested = [...frameworks, 'nest-controller']
    .map((name) => readFileSync(new URL(`../frameworks/apps/${name}.mjs`, import.meta.url), 'utf8'))
    .join('\n')
  expect(shown).toHaveLength(7)
  expect(shown.filter((text) => !tested.includes(text))).toEqual([])
})
