// Streams as bytes on a socket: what is on the wire when, and that nothing is left of one that was cut.
import { afterEach, expect, test } from 'vitest'
import { createFetchHandler } from '../../../adapters/fetch/index.js'
import { createChat, letRun } from './chatting.js'
import { GatedModel } from './gated-model.js'
import { startServer } from './node-server.js'
import { connectRaw, type RawClient } from './raw-client.js'

const cleanUps: (() => Promise<void> | void)[] = []

afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp()
})

const body = '{"flowName":"Chatting"}'
const request = [
  'POST /ai/run HTTP/1.1',
  'Host: chat.example',
  'Accept: text/event-stream',
  `Content-Length: ${body.length}`,
  '',
  body,
].join('\r\n')

async function setUp() {
  const model = new GatedModel()
  const engine = createChat(model.provider)
  const server = await startServer(createFetchHandler(engine, { streamDetails: true }))
  const client = await connectRaw(server.port)
  cleanUps.push(server.close, client.destroy)
  return { model, engine, server, client }
}

test('the headers are out before the model has said a word, each piece when it is said, and the connection is kept', async () => {
  const { model, client } = await setUp()
  client.write(request)
  const call = await model.called()
  const head = await client.readUntil('\r\n\r\n')
  expect(head).toMatch(/^HTTP\/1\.1 200 /)
  expect(head).toMatch(/^content-type: text\/event-stream\r$/im)
  expect(head).toMatch(/^CHAT_SESSION_ID: [\w-]{32}\r$/m)
  expect(head).toMatch(/^transfer-encoding: chunked\r$/im)
  await client.readUntil('data: {"step":"Chat"}\n\n')
  call.say('Hello.')
  expect(await client.readUntil('data: {"text":"Hello."}\n\n')).toMatch(/event: text-delta\nid: [\w-]+:3\n/)
  call.finish()
  expect(await client.readUntil('\r\n0\r\n\r\n')).toMatch(/event: result\nid: [\w-]+:4\n/)

  client.write(request.replace('text/event-stream', '*/*').replace('Chatting', 'Nothing0'))
  expect((await client.readReply()).status).toBe(400)
})

test.each<[string, (client: RawClient) => void]>([
  ['closed', (client) => client.destroy()],
  ['reset', (client) => client.reset()],
])('a connection that is %s in mid-stream leaves no socket behind', async (_name, cut) => {
  const before = await active()
  const { model, engine, server, client } = await setUp()
  const aborted = new Promise<string>((resolve) => engine.on('turn:error', ({ code }) => resolve(code)))
  client.write(request)
  const call = await model.called()
  call.say('Half')
  await client.readUntil('data: {"text":"Half"}')
  cut(client)
  await client.closed
  expect(await aborted).toBe('TURN_ABORTED')
  await call.left
  await server.close()
  await engine.close()
  expect(await active()).toEqual(before)
})

/**
 * The sockets and servers that keep the process alive. What timers do is tested in adapters/fetch/reply/stream.test.ts.
 */
async function active(): Promise<string[]> {
  // What was closed a moment ago takes a turn of the event loop to go.
  await letRun()
  return process.getActiveResourcesInfo().filter((name) => name.startsWith('TCP'))
}
