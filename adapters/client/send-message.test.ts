/** How one message is sent: what is repeated, with which headers, and when it ends. The server follows a script. */
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { errorFacts } from '../../src/errors/error-facts.js'
import type { Delivery } from './chat-message.js'
import { ChatServer } from './chat-server.js'
import { sendMessage } from './send-message.js'

type Reply = (signal: AbortSignal) => Response | Promise<Response>

const message = { key: '5c0a3d1e-8f0b-4b6e-9a55-6a8f3a1c2d4e', text: 'Hello', session: 's1' }

/** The headers of the requests so far. */
let sent: Headers[]
let replies: readonly Reply[]

/** A server that answers each request with the next reply, and then always with the last one. */
const server = new ChatServer({
  url: '/ai/',
  headers: () => ({ Authorization: 'Bearer token' }),
  fetch: async (path, options) => {
    expect(path).toBe('/ai/run?envelope=1')
    const reply = replies[Math.min(sent.length, replies.length - 1)] as Reply
    sent.push(new Headers(options?.headers))
    return reply(options?.signal as AbortSignal)
  },
})

beforeEach(() => {
  vi.useFakeTimers()
  vi.stubGlobal('navigator', { onLine: true })
  replies = []
  sent = []
})

afterEach(() => {
  vi.useRealTimers()
  vi.unstubAllGlobals()
})

function serve(...script: readonly Reply[]): void {
  replies = script
}

const lost: Reply = () => Promise.reject(new TypeError('Failed to fetch'))

/** A stream of events, numbered from 1; it ends after them. */
const stream =
  (...events: readonly (readonly [type: string, data: object])[]): Reply =>
  () =>
    new Response(
      events
        .map(([type, data], index) => `event: ${type}\nid: t:${index + 1}\ndata: ${JSON.stringify(data)}\n\n`)
        .join(''),
      { headers: { 'Chat-Reply': 'stream' } },
    )

/** A failure before the turn has begun. */
const failure =
  (code: string, state: string): Reply =>
  () =>
    Response.json(
      { success: false, completed: true, message: `It failed: ${code}.`, session: 's1' },
      { status: 400, headers: { 'Chat-Reply': 'envelope', 'Chat-Session-State': state, 'Chat-Error': code } },
    )

const session = ['session', { session: 's1' }] as const
const delta = ['text-delta', { text: 'Wel' }] as const
const result = ['result', { success: true, message: 'Welcome.', session: 's1', sessionState: 'running' }] as const

/** The types of the events, and the last event's data; an error if there was no outcome. */
async function send(
  stopped = new AbortController(),
  sender = server,
): Promise<{ types: string[]; last: unknown; error: unknown; mayBeStored: boolean }> {
  const types: string[] = []
  let last: unknown
  let error: unknown
  const delivery: Delivery = { message: { ...message }, mayBeStored: false }
  const reading = (async () => {
    for await (const { type, data } of sendMessage(sender, 'SupportDesk', delivery, stopped.signal)) {
      types.push(type)
      last = data
    }
  })().catch((thrown: unknown) => {
    error = thrown
  })
  let isReading = true
  void reading.then(() => {
    isReading = false
  })
  while (isReading) await vi.advanceTimersByTimeAsync(100)
  return { types, last, error, mayBeStored: delivery.mayBeStored }
}

test('passes a stream on, up to its last event', async () => {
  serve(stream(session, delta, result))
  const { types, last } = await send()
  expect(types).toEqual(['session', 'text-delta', 'result'])
  expect(last).toMatchObject({ message: 'Welcome.' })
  const [first] = sent
  expect([first?.get('Idempotency-Key'), first?.get('Chat-Session-Id'), first?.get('Authorization')]).toEqual([
    message.key,
    's1',
    'Bearer token',
  ])
  expect(first?.has('Last-Event-ID')).toBe(false)
})

test('if the network is lost, the same request is sent again after growing pauses', async () => {
  serve(lost, lost, lost, stream(session, result))
  const started = Date.now()
  expect((await send()).types).toEqual(['retry', 'retry', 'retry', 'session', 'result'])
  expect(Date.now() - started).toBeGreaterThanOrEqual(500 + 1000 + 2000)
  expect(sent.map((headers) => headers.get('Idempotency-Key'))).toEqual(Array.from({ length: 4 }, () => message.key))
})

test('a truncated stream is resumed after its last event', async () => {
  serve(stream(session, delta), lost, stream(session, result))
  expect((await send()).types).toEqual(['session', 'text-delta', 'retry', 'retry', 'session', 'result'])
  expect(sent.map((headers) => headers.get('Last-Event-ID'))).toEqual([null, 't:2', 't:2'])
})

test('a silent connection is closed, and the message is sent again', async () => {
  const silent: Reply = (signal) => {
    const body = new ReadableStream({
      start: (controller) => signal.addEventListener('abort', () => controller.error(signal.reason)),
    })
    return new Response(body, { headers: { 'Chat-Reply': 'stream' } })
  }
  serve(silent, stream(session, result))
  const started = Date.now()
  expect((await send()).types).toEqual(['retry', 'session', 'result'])
  expect(Date.now() - started).toBeGreaterThanOrEqual(45_000)
})

test.for([
  ['SESSION_CONFLICT', 'running'],
  ['SESSION_BUSY', 'running'],
  ['SESSION_STORE_ERROR', 'unknown'],
  ['ENGINE_CLOSED', 'unknown'],
  ['ENGINE_BUSY', 'none'],
  ['SESSION_STORE_ERROR', 'none'],
  ['ENGINE_CLOSED', 'none'],
] as const)('after %s (%s) the message is sent again', async ([code, state]) => {
  serve(failure(code, state), stream(session, ['error', { code, sessionState: state }]), stream(session, result))
  expect((await send()).types).toEqual(['retry', 'session', 'retry', 'session', 'result'])
})

test.for(Object.entries(errorFacts))(
  'after %s it is sent again as the table of codes says',
  async ([code, { repeat }]) => {
    for (const [state, isRepeated] of [
      ['running', repeat === 'yes'],
      ['unknown', repeat !== 'no'],
    ] as const) {
      sent = []
      serve(failure(code, state), stream(session, result))
      expect((await send()).types).toEqual(isRepeated ? ['retry', 'session', 'result'] : ['error'])
    }
  },
)

test.for([
  ['FLOW_ERROR', 'running'],
  ['MODEL_ERROR', 'aborted'],
  ['TURN_SUPERSEDED', 'running'],
  ['TURN_ABORTED', 'unknown'],
  ['INVALID_INPUT', 'unknown'],
  ['IDEMPOTENCY_MISMATCH', 'running'],
  ['ROUTE_NOT_FOUND', 'unknown'],
  ['METHOD_NOT_ALLOWED', 'unknown'],
] as const)('after %s (%s) it is not', async ([code, state]) => {
  serve(failure(code, state))
  const { types, last } = await send()
  expect(types).toEqual(['error'])
  expect(last).toMatchObject({ message: `It failed: ${code}.`, sessionState: state, code })
  expect(sent).toHaveLength(1)
})

test("a proxy's temporary error is retried, and its refusal is final", async () => {
  serve(
    () => new Response('Bad gateway', { status: 502 }),
    () => new Response('Who are you?', { status: 401 }),
  )
  const { types, last } = await send()
  expect(types).toEqual(['retry', 'error'])
  expect(last).toMatchObject({
    success: false,
    message: 'The request was refused with the status 401 by /ai.',
    code: '401',
  })
})

/** A server whose headers need a token. */
const withToken = (token: () => string): ChatServer =>
  new ChatServer({
    url: '/ai',
    headers: () => ({ Authorization: token() }),
    fetch: async (_path, options) => {
      sent.push(new Headers(options?.headers))
      return stream(session, result)(options?.signal as AbortSignal)
    },
  })

test('a message that cannot be sent fails at once, with the reason', async () => {
  const signedOut = withToken(() => {
    throw new Error('Sign in again.')
  })
  const { types, last } = await send(undefined, signedOut)
  expect([types, sent.length]).toEqual([['error'], 0])
  expect(last).toMatchObject({ success: false, message: 'Sign in again.', code: 'REQUEST_ERROR', session: '' })
})

/** A `fetch` that must not be called. */
const unreached: typeof fetch = () => Promise.reject(new TypeError('Failed to fetch'))

test.each([
  ['headers', { headers: { 'X-User': 'Zoë ☃' }, fetch: unreached }, /^The headers cannot be sent: .*ByteString/],
  [
    'a function that makes headers',
    { headers: () => ({ 'X-User': 'Zoë\nAdmin: yes' }), fetch: unreached },
    /^The headers cannot be sent: .*invalid/s,
  ],
  ['a path outside of a page', {}, /^The url \/ai needs an origin outside of a page: /],
])('%s that no request can have: the message fails at once, and says why', async (_name, options, reason) => {
  const { types, last } = await send(undefined, new ChatServer({ url: '/ai', ...options }))
  expect(types).toEqual(['error'])
  expect(last).toMatchObject({ message: expect.stringMatching(reason), code: 'REQUEST_ERROR' })
})

test('a headers function that never settles counts as a silent server, and the message is sent again', async () => {
  const made = [new Promise<Headers>(() => {}), new Headers()]
  const slow = new ChatServer({
    url: '/ai',
    headers: async () => made.shift() as Headers,
    fetch: async (_path, options) => stream(session, result)(options?.signal as AbortSignal),
  })
  const started = Date.now()
  const { types, mayBeStored } = await send(undefined, slow)
  expect([types, mayBeStored]).toEqual([['retry', 'session', 'result'], false])
  expect(Date.now() - started).toBeGreaterThanOrEqual(45_000)
  expect(vi.getTimerCount()).toBe(0)
})

test('a server has 45 seconds to answer, however long the headers took', async () => {
  const later = <Value>(value: Value) => new Promise<Value>((resolve) => setTimeout(resolve, 40_000, value))
  const slow = new ChatServer({
    url: '/ai',
    headers: () => later({}),
    fetch: async (_path, options) => {
      const signal = options?.signal as AbortSignal
      const response = await later(await stream(session, result)(signal))
      signal.throwIfAborted()
      return response
    },
  })
  expect((await send(undefined, slow)).types).toEqual(['session', 'result'])
})

test('if the network is lost while a token is fetched, the message is sent again', async () => {
  const tokens = [
    () => {
      throw new TypeError('Failed to fetch')
    },
    () => 'Bearer token',
  ]
  const { types } = await send(
    undefined,
    withToken(() => tokens.shift()?.() ?? ''),
  )
  expect(types).toEqual(['retry', 'session', 'result'])
  expect(sent.map((headers) => headers.get('Authorization'))).toEqual(['Bearer token'])
})

test('the attempts are bounded', async () => {
  serve(lost)
  const { types, error } = await send()
  expect([types, sent.length]).toEqual([Array.from({ length: 7 }, () => 'retry'), 8])
  expect(error).toMatchObject({ message: 'No reply came.' })
})

test('the last attempt reports why there is no reply', async () => {
  serve(failure('SESSION_STORE_ERROR', 'unknown'))
  expect(await send()).toMatchObject({ last: { code: 'SESSION_STORE_ERROR' }, mayBeStored: true })
  expect(sent).toHaveLength(8)
})

test.for([
  ['ENGINE_BUSY', 'running', true],
  ['SESSION_BUSY', 'running', true],
  ['ENGINE_BUSY', 'none', true],
  ['SESSION_STORE_ERROR', 'aborted', true],
  ['TURN_ABORTED', 'unknown', true],
  ['TURN_ABORTED', 'running', false],
  ['FLOW_ERROR', 'running', false],
] as const)(
  'after a lost reply, whether %s (%s) leaves it in doubt that the turn is stored: %s',
  async ([code, state, mayBeStored]) => {
    serve(lost, failure(code, state))
    expect(await send()).toMatchObject({ last: { code }, mayBeStored })
  },
)

test('a message that is stopped while its headers are made is not sent', async () => {
  const stopping = new AbortController()
  const slow = new ChatServer({
    url: '/ai',
    headers: async () => {
      stopping.abort()
      return {}
    },
    fetch: unreached,
  })
  expect(await send(stopping, slow)).toMatchObject({ types: [], mayBeStored: false })
})

test('after a stop nothing is sent again, even in a pause', async () => {
  const stopping = new AbortController()
  serve(() => {
    setTimeout(() => stopping.abort(), 100)
    return Promise.reject(new TypeError('Failed to fetch'))
  })
  const { types, error } = await send(stopping)
  expect([types, sent.length]).toEqual([['retry'], 1])
  expect(error).toBeDefined()
  // The timer of an abandoned pause would keep the program alive.
  expect(vi.getTimerCount()).toBe(0)
})

test('a message that is stopped when its pause is reported does not wait for the pause', async () => {
  const stopping = new AbortController()
  serve(lost)
  const started = Date.now()
  const delivery: Delivery = { message, mayBeStored: false }
  await expect(async () => {
    for await (const { type } of sendMessage(server, 'SupportDesk', delivery, stopping.signal))
      if (type === 'retry') stopping.abort()
  }).rejects.toThrow('aborted')
  expect([Date.now() - started, vi.getTimerCount(), sent.length]).toEqual([0, 0, 1])
})

test('if the browser is offline, the next attempt waits until it is online', async () => {
  const navigator = { onLine: false }
  vi.stubGlobal('navigator', navigator)
  serve(lost, stream(session, result))
  const reading = send()
  await vi.advanceTimersByTimeAsync(3_600_000)
  expect(sent).toHaveLength(1)
  navigator.onLine = true
  expect((await reading).types).toEqual(['retry', 'session', 'result'])
})

test('after a stop, a failing attempt is the last one, and no other is reported', async () => {
  const stopping = new AbortController()
  serve(() => {
    stopping.abort()
    return Promise.reject(new TypeError('Failed to fetch'))
  })
  const { types, error } = await send(stopping)
  expect([types, sent.length]).toEqual([[], 1])
  expect(error).toMatchObject({ message: 'No reply came.' })
})
