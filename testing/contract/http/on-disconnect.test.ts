// Clients that go away in mid-stream, on real sockets: a turn with a key is finished all the same.
import { afterEach, describe, expect, test } from 'vitest'
import { createFetchHandler, type FetchHandlerOptions } from '../../../adapters/fetch/index.js'
import type { ModelProviderAdapter } from '../../../src/index.js'
import { gate } from '../engine-harness.js'
import { createChat, letRun } from './chatting.js'
import { GatedModel } from './gated-model.js'
import { startServer } from './node-server.js'
import { connectRaw, type RawClient } from './raw-client.js'

const cleanUps: (() => Promise<void> | void)[] = []

afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp()
})

const body = '{"flowName":"Chatting","message":"Hi"}'

function requestOf(...headers: string[]): string {
  return ['POST /ai/run HTTP/1.1', 'Host: chat.example', `Content-Length: ${body.length}`, ...headers, '', body].join(
    '\r\n',
  )
}

async function setUp(options: FetchHandlerOptions = {}, model: Pick<GatedModel, 'provider'> = new GatedModel()) {
  const none = Number.POSITIVE_INFINITY
  const limits = { maxSessionBytes: none, maxHistoryBytes: none, maxMemoryBytes: none }
  const engine = createChat(model.provider, { limits })
  const works: Promise<unknown>[] = []
  const handler = createFetchHandler(engine, {
    streamDetails: true,
    waitUntil: (work) => void works.push(work),
    ...options,
  })
  const server = await startServer(handler)
  const client = await connectRaw(server.port)
  const connect = async (): Promise<RawClient> => {
    const another = await connectRaw(server.port)
    cleanUps.push(another.destroy)
    return another
  }
  const ended = new Promise<string>((resolve) => {
    engine.on('turn:end', ({ success }) => resolve(success ? 'success' : 'failure'))
  })
  let sessionId = ''
  engine.on('session:created', (event) => {
    sessionId = event.sessionId
  })
  cleanUps.push(() => engine.close(), server.close, client.destroy)
  return { model: model as GatedModel, client, connect, works, ended, stored: () => engine.getSession(sessionId) }
}

const stream = 'Accept: text/event-stream'
const key = 'Idempotency-Key: 5f0c2c8e-5c0e-4a3f-9f0b-4e0a6a8f6c11'

describe('a client that comes back with its key', () => {
  /** The events of a reply, in short: `t1:3 text-delta {"text":"Hel"}`, the ID of the turn replaced. */
  const eventsIn = (text: string): string[] =>
    Array.from(text.matchAll(/event: (.*)\nid: [^:]*:(.*)\ndata: (.*)\n/g), ([, type, number, data]) =>
      `${number} ${type} ${data}`.replace(/"session":"[^"]*"/, '"session":"s"'),
    )
  const lastIdIn = (text: string): string => `Last-Event-ID: ${/.*id: (\S+)\n/s.exec(text)?.[1]}`

  test('reads on, and gets the recorded result after the turn', async () => {
    const { model, client, connect, ended } = await setUp()
    client.write(requestOf(stream, key))
    const call = await model.called()
    call.say('Hel')
    const first = await client.readUntil('data: {"text":"Hel"}\n\n')
    client.destroy()
    await client.closed
    call.say('lo')
    await letRun()

    const second = await connect()
    second.write(requestOf(stream, key, lastIdIn(first)))
    const begin = await second.readUntil('data: {"text":"Hello"}\n\n')
    expect(begin).toMatch(/^chat-replayed: true\r$/im)
    expect(eventsIn(begin)).toEqual([
      '0 session {"session":"s","replayed":true}',
      '0 step {"step":"Chat"}',
      '0 reset {"reason":"resume"}',
      '4 text-delta {"text":"Hello"}',
    ])
    // Another tab, which has missed nothing.
    const third = await connect()
    third.write(requestOf(stream, key, lastIdIn(begin)))
    await third.readUntil('data: {"step":"Chat"}\n\n')
    call.say('.')
    call.finish()
    for (const reader of [second, third]) {
      expect(eventsIn(await reader.readUntil('\r\n0\r\n\r\n'))).toEqual([
        '5 text-delta {"text":"."}',
        expect.stringMatching(/^6 result .*"message":"Hello\.".*"replayed":true/),
      ])
    }
    expect(await ended).toBe('success')

    const late = await connect()
    late.write(requestOf(stream, key, lastIdIn(begin)))
    const recorded = eventsIn(await late.readUntil('\r\n0\r\n\r\n')).map((event) => event.split(' ')[1])
    expect(recorded).toEqual(['session', 'reset', 'result'])
    const plain = await connect()
    plain.write(requestOf(key))
    const reply = await plain.readReply()
    expect([reply.status, /^chat-replayed: true\r?$/im.test(reply.headers)]).toEqual([200, true])
    expect(JSON.parse(reply.body)).toMatchObject({ success: true, message: 'Hello.' })
  })

  test.each([
    ['of another shape', ['Idempotency-Key: short'], 'INVALID_INPUT'],
    ['that is sent twice', [key, 'Idempotency-Key: another-key-of-this-client'], 'INVALID_INPUT'],
  ])('a key %s is refused', async (_name, headers, code) => {
    const { client } = await setUp()
    client.write(requestOf(...headers))
    const reply = await client.readReply()
    expect([reply.status, /^chat-error: (.*)$/im.exec(reply.headers)?.[1]?.trim()]).toEqual([400, code])
  })
})

describe('a client that goes away', () => {
  test.each<[string, FetchHandlerOptions, string[]]>([
    ['with a key', {}, [stream, key]],
    ['where the option says so', { onDisconnect: 'finish' }, [stream]],
  ])('%s leaves a streamed turn running, which the runtime is given to finish', async (_name, options, headers) => {
    const { model, client, works, ended, stored } = await setUp(options)
    client.write(requestOf(...headers))
    const call = await model.called()
    call.say('Hel')
    await client.readUntil('data: {"text":"Hel"}')
    expect(works).toHaveLength(1)
    let isSettled = false
    void works[0]?.then(() => {
      isSettled = true
    })
    client.destroy()
    await client.closed
    await letRun()
    call.say('lo.')
    await letRun()
    expect([call.request.signal.aborted, isSettled]).toEqual([false, false])
    call.finish()
    expect(await ended).toBe('success')
    await Promise.all(works)
    expect((await stored())?.history).toMatchObject([{ reply: 'Hello.' }])
  })

  test('without reading on does not make the turn wait', async () => {
    const { model, client, ended } = await setUp()
    client.write(requestOf(stream, key))
    const call = await model.called()
    // More than the buffers of two sockets take.
    for (let piece = 0; piece < 64; piece++) call.say('x'.repeat(256 * 1024))
    call.finish()
    expect(await ended).toBe('success')
  })

  test.each<[string, FetchHandlerOptions, string[], string]>([
    ['with a key', {}, [key], 'success'],
    ['without a key', {}, [], 'failure'],
    ['with a key, where the option says so', { onDisconnect: 'cancel' }, [key], 'failure'],
  ])('before a plain reply, %s', async (_name, options, headers, expected) => {
    const called = gate()
    const finish = gate()
    const provider: ModelProviderAdapter = {
      provider: 'gated',
      resolve: ({ provider, name }) => ({
        provider,
        name,
        async generate() {
          called.open()
          await finish.opened
          return { parts: [{ type: 'text', text: 'Hello.' }] }
        },
      }),
    }
    const { client, works, ended } = await setUp(options, { provider })
    client.write(requestOf(...headers))
    await called.opened
    expect(works).toHaveLength(expected === 'success' ? 1 : 0)
    client.destroy()
    await client.closed
    await letRun()
    finish.open()
    expect(await ended).toBe(expected)
    await Promise.all(works)
  })
})
