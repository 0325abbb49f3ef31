// Refused requests and replies that are not streamed. testing/contract/ui-message/ag-ui.test.ts has whole runs with the
// published client.
import { afterEach, expect, test, vi } from 'vitest'
import { FlowNotFoundError } from '../../src/errors/engine-errors.js'
import { FlowEngine, type FlowStreamEvent, finish, reply } from '../../src/index.js'
import { flowOf } from '../../testing/contract/engine-harness.js'
import { type AgUiOptions, createAgUiHandler } from './index.js'
import { runEventsOf } from './run-events.js'

const cleanUps: (() => Promise<void>)[] = []

afterEach(async () => {
  vi.restoreAllMocks()
  for (const cleanUp of cleanUps.splice(0)) await cleanUp()
})

function start(options: Partial<AgUiOptions> = {}, flow = flowOf('Test')) {
  const engine = new FlowEngine({ flows: [flow] })
  cleanUps.push(() => engine.close())
  let turns = 0
  engine.on('turn:start', () => turns++)
  const handler = createAgUiHandler(engine, { flow: 'Test', authorize: () => ({ principal: 'ada' }), ...options })
  const post = (body: unknown, path = '/ag-ui', headers: Record<string, string> = {}): Promise<Response> =>
    handler(new Request(`https://shop.example${path}`, { method: 'POST', headers, body: JSON.stringify(body) }))
  return { post, turns: () => turns }
}

const hello = { id: 'm1', role: 'user', content: 'Hello' }
const run = { threadId: 't1', runId: 'r1', messages: [hello] }

async function eventsOf(response: Response): Promise<{ readonly type: string }[]> {
  const lines = (await response.text()).split('\n\n').filter((line) => line !== '')
  return lines.map((line) => JSON.parse(line.slice('data: '.length)))
}

test('the events of a reply that is not streamed', async () => {
  const response = await start().post(run)
  expect(response.headers.get('content-type')).toBe('text/event-stream')
  const messageId = 'm1-reply'
  expect(await eventsOf(response)).toEqual([
    { type: 'RUN_STARTED', threadId: 't1', runId: 'r1' },
    { type: 'TEXT_MESSAGE_START', messageId, role: 'assistant' },
    { type: 'TEXT_MESSAGE_CONTENT', messageId, delta: 'You said: Hello' },
    { type: 'TEXT_MESSAGE_END', messageId },
    { type: 'STATE_SNAPSHOT', snapshot: { session: expect.any(String), sessionState: 'running' } },
    { type: 'RUN_FINISHED', threadId: 't1', runId: 'r1' },
  ])
})

test('a stream has no line end of any language', async () => {
  const { post } = start(
    {},
    flowOf('Test', () => reply('a\u2028b\u2029c\u0085d')),
  )
  const body = await (await post(run)).text()
  expect(body).not.toMatch(/[\u2028\u2029\x85]/)
  expect(await eventsOf(new Response(body))).toContainEqual(
    expect.objectContaining({ delta: 'a\u2028b\u2029c\u0085d' }),
  )
})

test('a message is sent again with the partial reply, and the full reply replaces that', async () => {
  const { post, turns } = start()
  const first = await eventsOf(await post(run))
  const half = { id: 'm1-reply', role: 'assistant', content: 'You sa' }
  const again = await eventsOf(await post({ ...run, messages: [hello, half] }))
  const whole = { id: expect.stringMatching(/^turn:.*-reply$/), role: 'assistant', content: 'You said: Hello' }
  const stored = [{ ...hello, id: expect.stringMatching(/^turn:/) }, whole]
  expect(again.slice(2)).toEqual([{ type: 'MESSAGES_SNAPSHOT', messages: stored }, ...first.slice(-2)])
  expect(turns()).toBe(1)
})

test('a message that is sent again with another text is refused', async () => {
  const { post } = start()
  await eventsOf(await post(run))
  const events = await eventsOf(await post({ ...run, messages: [{ ...hello, content: 'Other' }] }))
  expect(events.at(-1)).toEqual({
    type: 'RUN_ERROR',
    message: 'This message was answered before. It cannot be changed or answered again.',
    code: 'IDEMPOTENCY_MISMATCH',
  })
})

test('a thread whose state names an ended session continues in its successor', async () => {
  const { post } = start(
    { whenEnded: 'new' },
    flowOf('Test', ({ message }) => (message === 'bye' ? finish('Bye.') : reply('Seen.'))),
  )
  const say = async (id: string, content: string, state = {}): Promise<object> => {
    const events = await eventsOf(await post({ ...run, state, messages: [{ id, role: 'user', content }] }))
    return (events.find(({ type }) => type === 'STATE_SNAPSHOT') as unknown as { snapshot: object }).snapshot
  }
  const ended = await say('m1', 'bye')
  const next = await say('m2', 'My order is 42.', ended)
  expect(next).toMatchObject({ sessionState: 'running', restarted: 'completed' })
  expect(await say('m3', 'Where is it?', ended)).toEqual({ ...next, restarted: undefined })
})

const failed: FlowStreamEvent = {
  type: 'error',
  response: { success: false, completed: true, message: 'No.', session: 's1', contentType: 'text/plain' },
  sessionState: 'running',
  error: new FlowNotFoundError({ flowName: 'Test' }),
}

test.each<[string, readonly FlowStreamEvent[], readonly string[]]>([
  ['that fails', [failed], ['STATE_SNAPSHOT']],
  ['whose stream breaks off', [], []],
])('the text of a run %s is removed before the error', async (_name, last, between) => {
  async function* events(): AsyncGenerator<FlowStreamEvent, void> {
    yield { type: 'text-delta', text: 'Half' }
    yield* last
  }
  const form = { threadId: 't1', runId: 'r1', messageId: 'm1', messages: [hello], isSentAgain: false, details: false }
  const snapshot = async () => []
  const sent: unknown[] = []
  for await (const event of runEventsOf(events(), { ...form, snapshot })) {
    sent.push(event.type === 'MESSAGES_SNAPSHOT' ? event.messages : event.type)
  }
  expect(sent.slice(3)).toEqual(['TEXT_MESSAGE_END', [hello], ...between, 'RUN_ERROR'])
})

test('bytes are a data URL', async () => {
  const flow = flowOf('Test', () => reply('iVBORw0KGgo=').withContentType('image/png', { encoding: 'base64' }))
  const delta = 'data:image/png;base64,iVBORw0KGgo='
  expect(await eventsOf(await start({}, flow).post(run))).toContainEqual(expect.objectContaining({ delta }))
})

test.each<[string, object]>([
  ['no thread', { ...run, threadId: '' }],
  ['no run', { ...run, runId: undefined }],
  ['a message without an ID', { ...run, messages: [{ role: 'user', content: 'x' }] }],
  ['no content', { ...run, messages: [{ id: 'm1', role: 'user' }] }],
  ['a content that is an object', { ...run, messages: [{ ...hello, content: { a: 1 } }] }],
  ['no text and no file', { ...run, messages: [{ ...hello, content: [null, { type: 'text' }] }] }],
  [
    'a file of a provider',
    { ...run, messages: [{ ...hello, content: [{ type: 'image', source: { type: 'file', value: 'f' } }] }] },
  ],
  [
    'bytes that are not base64',
    {
      ...run,
      messages: [
        { ...hello, content: [{ type: 'image', source: { type: 'data', value: '%', mimeType: 'image/png' } }] },
      ],
    },
  ],
])('%s: 400 and a sentence, and nothing runs', async (_name, body) => {
  const { post, turns } = start()
  const response = await post(body)
  expect([response.status, turns()]).toEqual([400, 0])
  expect(await response.text()).toMatch(/^(The|A) .*\.$/)
})

test('other paths, and forms of other sites', async () => {
  const { post } = start()
  const foreign = { Origin: 'https://evil.example', 'Content-Type': 'text/plain' }
  const statuses = [
    await post(run, '/ag-ui/t1'),
    await post(run, '/ag-ui/t1/stop/more'),
    await post(run, '/ag-ui', foreign),
    await post({}, '/ag-ui/t1/stop', foreign),
  ].map(({ status }) => status)
  expect(statuses).toEqual([404, 404, 415, 415])
  expect(await (await post({}, '/ag-ui/t1/stop')).json()).toEqual({ stopped: false })
})

test('an invalid context of authorize: `onError` gets the reason, and the client a fixed sentence', async () => {
  const errors: unknown[] = []
  const { post, turns } = start({
    authorize: () => ({ principal: 'ada', context: { config: {} } }),
    onError: (error) => errors.push(error),
  })
  const [, ...events] = await eventsOf(await post(run))
  expect([events, turns()]).toEqual([[{ type: 'RUN_ERROR', message: 'The request could not be handled.' }], 0])
  expect(errors.map(String)).toEqual([
    "TypeError: authorize returned an invalid context. context may not have the key 'config'.",
  ])
})

test('a run is answered although waitUntil throws', async () => {
  // The engine reports it, too.
  vi.spyOn(console, 'error').mockImplementation(() => undefined)
  const errors: unknown[] = []
  const { post } = start({
    waitUntil() {
      throw new Error('The runtime has gone.')
    },
    onError: (error) => errors.push(error),
  })
  expect((await eventsOf(await post(run))).at(-1)?.type).toBe('RUN_FINISHED')
  expect(errors).toEqual([new Error('The runtime has gone.')])
})

test('an invalid path is refused', () => {
  expect(() => start({ path: 'ag-ui' })).toThrow(
    "createAgUiHandler: path must be a path such as '/ag-ui', with no slash at its end.",
  )
})

test('an answer to an interrupt is RUN_ERROR, because no run ends with one, and nothing runs', async () => {
  const { post, turns } = start()
  const resume = [{ interruptId: 'i1', status: 'resolved', payload: { approved: true } }]
  expect(await eventsOf(await post({ ...run, resume }))).toEqual([
    { type: 'RUN_STARTED', threadId: 't1', runId: 'r1' },
    { type: 'RUN_ERROR', message: 'There is no question that this answers.', code: 'INVALID_INPUT' },
  ])
  expect(turns()).toBe(0)
  for (const none of [[], null])
    expect((await eventsOf(await post({ ...run, resume: none }))).at(-1)?.type).toBe('RUN_FINISHED')
})

test('a file is sent as bytes, unless the application allows its address', async () => {
  const withFile = (source: object): object => ({
    ...run,
    messages: [{ id: 'm1', role: 'user', content: [{ type: 'document', source }] }],
  })
  const address = { type: 'url', value: 'https://files.example/a.pdf', mimeType: 'application/pdf' }
  const refused = await start().post(withFile(address))
  expect([refused.status, await refused.text()]).toEqual([
    400,
    'An attachment must be sent as bytes in base64, not as an address.',
  ])
  const seen: unknown[] = []
  const flow = flowOf('Test', ({ attachments }) => {
    seen.push(...attachments)
    return reply('Seen.')
  })
  const { post } = start({ attachments: { addresses: ({ hostname }) => hostname === 'files.example' } }, flow)
  await eventsOf(await post(withFile(address)))
  expect(seen).toEqual([{ type: 'file', mediaType: 'application/pdf', url: 'https://files.example/a.pdf' }])
  const inside = await post(withFile({ ...address, value: 'https://169.254.169.254/' }))
  expect(await inside.text()).toBe('This address cannot be sent as an attachment.')
})
