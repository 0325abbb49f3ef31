/** A chat with a real engine behind the Fetch handler. Tests lose or cut the network between them. */
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import {
  event,
  Flow,
  FlowEngine,
  type FlowEngineOptions,
  finish,
  HttpContentType,
  LogicStep,
  reply,
  type Turn,
} from '../../src/index.js'
import { createFetchHandler } from '../fetch/index.js'
import { attachmentOf, type ChatAttachment, type ChatOptions, type ChatState, createChat } from './index.js'

/** The gate that the flow waits for before it answers `slow`. */
let slow = Promise.resolve()
let ran: string[] = []

class Talk extends LogicStep {
  static override readonly id = 'Talk'
  override events() {
    return [
      event({ name: 'decision', execute: (_, { event }) => finish(`Approved by ${event?.by}.`) }),
      event({ name: 'note', execute: () => undefined }),
    ]
  }
  override async run(turn: Turn) {
    const { message } = turn
    ran.push(message)
    if (message === 'slow') await slow
    if (message === 'fail') throw new Error('Broken.')
    if (message === 'bye') return finish('Goodbye.')
    if (message === 'config') return reply(JSON.stringify(turn.context.config))
    if (message === 'page') return reply('<p>Hello</p>').withContentType(HttpContentType.Html)
    if (message === 'bytes') return reply('AAEC').withContentType(HttpContentType.Png, { encoding: 'base64' })
    return reply(`You said ${message}.`)
  }
}
class Desk extends Flow {
  static override readonly id = 'Desk'
  static override readonly onTurnError = 'rollback'
  override steps() {
    return [Talk]
  }
}
class Strict extends Flow {
  static override readonly id = 'Strict'
  override steps() {
    return [Talk]
  }
}

/** A storage like a page's. */
class TestStorage {
  readonly entries = new Map<string, string>()
  getItem(name: string): string | null {
    return this.entries.get(name) ?? null
  }
  setItem(name: string, value: string): void {
    this.entries.set(name, value)
  }
  removeItem(name: string): void {
    this.entries.delete(name)
  }
}

/** The gate that a held stream waits for after its first event. */
let held = Promise.resolve()

/**
 * The faults of the network: it passes a request, refuses it, loses it, loses its reply after the turn was stored, or
 * holds back the end of the reply.
 */
type Network = 'pass' | 'refuse' | 'lose request' | 'lose reply' | 'cut stream' | 'hold stream'

interface SetUp extends Pick<ChatOptions, 'config' | 'headers' | 'refreshEveryMs'> {
  engine?: FlowEngineOptions
  flow?: string
  stream?: boolean
}

function setUp(options: SetUp = {}) {
  const engine = new FlowEngine({ flows: [Desk, Strict], ...options.engine })
  const handler = createFetchHandler(engine, { stream: options.stream ?? true, session: true })
  const network: Network[] = []
  const requests: Request[] = []
  const send: typeof fetch = async (path, init) => {
    const request = new Request(`http://chat.example${path}`, init)
    requests.push(request)
    const now = network.shift() ?? 'pass'
    if (now === 'lose request') throw new TypeError('Failed to fetch')
    if (now === 'refuse') return new Response('Who are you?', { status: 401 })
    const response = await handler(request)
    if (now === 'lose reply') {
      await response.text()
      throw new TypeError('Failed to fetch')
    }
    if (now === 'hold stream') return new Response(response.body?.pipeThrough(holding()), response)
    return now === 'cut stream' ? new Response(cut(await response.text()), response) : response
  }
  const storage = new TestStorage()
  const { flow = 'Desk', config = {}, headers = {}, ...more } = options
  const timing = more.refreshEveryMs === undefined ? {} : { refreshEveryMs: more.refreshEveryMs }
  const open = (now: ChatOptions['config'] = config) =>
    createChat({ url: '/ai', flow, config: now, headers, storage, fetch: send, ...timing })
  return { engine, network, requests, storage, open, chat: open() }
}

/** Passes what comes first. */
function holding(): TransformStream<Uint8Array, Uint8Array> {
  let isFirst = true
  return new TransformStream({
    async transform(chunk, controller) {
      if (!isFirst) await held
      isFirst = false
      controller.enqueue(chunk)
    },
  })
}

/** The first event and half of the next. */
function cut(text: string): string {
  return text.slice(0, text.indexOf('\n\n') + 10)
}

/** The reply of a server that does not stream. */
const answered = (session: string) =>
  Response.json(
    { success: true, completed: false, message: 'Yes.', session, contentType: 'text/plain' },
    { headers: { 'Chat-Reply': 'envelope', 'Chat-Session-State': 'running' } },
  )

/** A chat with a session, whose requests the test answers. */
function kept(
  answer: (path: string, init?: RequestInit) => Promise<Response>,
  session = 's1',
  headers: ChatOptions['headers'] = {},
) {
  const storage = new TestStorage()
  storage.setItem('turnkeeper:/ai:Desk', JSON.stringify({ session, pending: [] }))
  const open = () =>
    createChat({ url: '/ai', flow: 'Desk', storage, headers, fetch: (path, init) => answer(String(path), init) })
  return { storage, open, chat: open() }
}

const headersOf = (requests: readonly Request[], name: string) => requests.map(({ headers }) => headers.get(name))

/** Makes pauses between attempts pass at once. */
async function passing<Result>(work: Promise<Result>): Promise<Result> {
  let isOver = false
  void work.then(
    () => (isOver = true),
    () => (isOver = true),
  )
  while (!isOver) await vi.advanceTimersByTimeAsync(100)
  return work
}

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  ran = []
  slow = Promise.resolve()
})
afterEach(() => {
  vi.useRealTimers()
  vi.unstubAllGlobals()
  vi.restoreAllMocks()
})

describe.each([
  ['streams', true],
  ['plain replies', false],
])('with %s', (_name, stream) => {
  test('a conversation goes on in its session, and its end lets the next message start another', async () => {
    const { chat, requests } = setUp({ stream })
    expect(await chat.send('one')).toMatchObject({ status: 'answered', text: 'You said one.', message: 'one' })
    const { session } = chat.state
    expect(session).not.toBe('')
    await chat.send('two')
    expect(headersOf(requests, 'Chat-Session-Id')).toEqual([null, session])
    expect(await chat.send('bye')).toMatchObject({ status: 'answered', text: 'Goodbye.' })
    expect(chat.state).toMatchObject({ session: '', hasEnded: true, isBusy: false })
    await chat.send('again')
    expect(chat.state.session).not.toBe(session)
    expect(chat.state).toMatchObject({ hasEnded: false, hasRestarted: false })
    expect(chat.state.turns.map(({ text }) => text)).toEqual([
      'You said one.',
      'You said two.',
      'Goodbye.',
      'You said again.',
    ])
  })

  test('a reply that is not plain text is a file of its type', async () => {
    const { chat } = setUp({ stream })
    const { file: page, text } = await chat.send('page')
    expect([page?.type, await page?.text(), text]).toEqual(['text/html', '<p>Hello</p>', ''])
    const { file: bytes } = await chat.send('bytes')
    expect([bytes?.type, new Uint8Array((await bytes?.arrayBuffer()) as ArrayBuffer)]).toEqual([
      'image/png',
      Uint8Array.of(0, 1, 2),
    ])
  })

  test.each(['lose request', 'lose reply', 'cut stream'] as const)(
    '%s: the turn runs once, and its reply comes',
    async (loss) => {
      const { chat, network, requests } = setUp({ stream })
      network.push(loss, 'lose request')
      const turn = await passing(chat.send('one'))
      expect(turn).toMatchObject({ status: 'answered', text: 'You said one.' })
      expect(ran).toEqual(['one'])
      expect(requests).toHaveLength(3)
      expect(new Set(headersOf(requests, 'Idempotency-Key')).size).toBe(1)
    },
  )

  test('a failed turn keeps the session, and can be retried in place', async () => {
    const { chat, open } = setUp({ stream })
    await chat.send('one')
    const { session } = chat.state
    const failed = await chat.send('fail')
    expect(failed).toMatchObject({ status: 'failed', text: '', failure: { code: 'FLOW_ERROR', message: 'Broken.' } })
    expect(chat.state).toMatchObject({ session, isStuck: false })
    expect(open().state).toMatchObject({ session, turns: [] })
    await chat.retry()
    expect(chat.state).toMatchObject({ session, isStuck: true })
    expect(chat.state.turns).toHaveLength(2)
    chat.startOver()
    expect(chat.state).toMatchObject({ session: '', isStuck: false })
  })

  test('a failure that ended the session is retried under a new key, as a new conversation', async () => {
    const { chat, requests } = setUp({ stream, flow: 'Strict' })
    await chat.send('one')
    expect(await chat.send('fail')).toMatchObject({ status: 'failed' })
    expect(chat.state).toMatchObject({ session: '', hasEnded: true })
    await chat.retry()
    const keys = headersOf(requests, 'Idempotency-Key')
    expect(keys[2]).not.toBe(keys[1])
    expect(headersOf(requests, 'Chat-Session-Id')[2]).toBeNull()
    expect(ran).toEqual(['one', 'fail', 'fail'])
  })
})

test('after all attempts a message is unanswered; a retry finds that its turn ran', async () => {
  const { chat, network, storage, open } = setUp()
  network.push('lose reply', ...Array.from({ length: 7 }, () => 'lose request' as const))
  expect(await passing(chat.send('one'))).toMatchObject({ status: 'unanswered' })
  expect(chat.state.isBusy).toBe(false)
  expect(await chat.retry()).toMatchObject({ status: 'answered', text: 'You said one.' })
  expect(ran).toEqual(['one'])
  expect(JSON.parse([...storage.entries.values()][0] as string).pending).toEqual([])
  expect(open().state.session).toBe(chat.state.session)
})

test('a reloaded page continues its session and gets the reply that it missed', async () => {
  const { chat, network, open } = setUp()
  await chat.send('one')
  const { session } = chat.state
  network.push('lose reply', ...Array.from({ length: 100 }, () => 'lose request' as const))
  void chat.send('two')
  await vi.advanceTimersByTimeAsync(100)
  const next = open()
  expect(next.state).toMatchObject({ session, turns: [{ message: 'two', status: 'unanswered' }] })
  network.length = 0
  expect(await next.resume()).toMatchObject([{ status: 'answered', text: 'You said two.' }])
  expect(ran).toEqual(['one', 'two'])
})

test('a storage that refuses data, or returns garbled data, does no harm', async () => {
  const { storage, open } = setUp()
  storage.setItem('turnkeeper:/ai:Desk', '{"session":7,"pending":[null,{"key":1},{"key":"k","text":"t","session":{}}]}')
  expect(open().state).toMatchObject({ session: '', turns: [] })
  storage.setItem = () => {
    throw new DOMException('Full.', 'QuotaExceededError')
  }
  expect(await open().send('one')).toMatchObject({ status: 'answered' })
})

test('the data for a reload is written when it changes, not for each piece of a reply', async () => {
  const events: [string, object][] = [
    ['session', { session: 's1' }],
    ...Array.from({ length: 50 }, (): [string, object] => ['text-delta', { text: 'word ' }]),
    ['result', { success: true, message: 'Yes.', session: 's1', contentType: 'text/plain', sessionState: 'running' }],
  ]
  const body = events.map(([type, data], id) => `event: ${type}\nid: ${id}\ndata: ${JSON.stringify(data)}\n\n`).join('')
  const storage = new TestStorage()
  const written = vi.spyOn(storage, 'setItem')
  const chat = createChat({
    url: '/ai',
    flow: 'Desk',
    storage,
    fetch: async () => new Response(body, { headers: { 'Chat-Reply': 'stream' } }),
  })
  expect(await chat.send('What is this?', [photo])).toMatchObject({ status: 'answered' })
  const contents = written.mock.calls.map(([, value]) => JSON.parse(value))
  const { key } = contents[0].pending[0]
  const message = { key, text: 'What is this?', attachments: [photo] }
  expect(contents).toEqual([
    { session: '', pending: [message] },
    { session: '', pending: [{ ...message, session: '' }] },
    { session: 's1', pending: [] },
  ])
})

test('only the first message of a conversation makes others wait', async () => {
  const { chat, requests } = setUp()
  let release = (): void => {}
  slow = new Promise((resolve) => {
    release = resolve
  })
  const both = [chat.send('slow'), chat.send('two')]
  await vi.advanceTimersByTimeAsync(0)
  await vi.waitFor(() => expect(ran).toEqual(['slow']))
  expect(requests).toHaveLength(1)
  release()
  expect(await Promise.all(both)).toMatchObject([{ text: 'You said slow.' }, { text: 'You said two.' }])
  slow = new Promise((resolve) => {
    release = resolve
  })
  const others = [chat.send('slow'), chat.send('three')]
  await vi.waitFor(() => expect(requests).toHaveLength(4))
  release()
  await Promise.all(others)
  expect(new Set(headersOf(requests, 'Chat-Session-Id')).size).toBe(2)
})

test('a superseded message was not taken, and can be sent again', async () => {
  const { chat, engine } = setUp({ engine: { busy: 'interrupt' } })
  const { id } = await chat.send('one')
  slow = new Promise(() => {})
  const superseded = chat.send('slow')
  await vi.waitFor(() => expect(chat.state.turns.at(-1)?.status).toBe('running'))
  slow = Promise.resolve()
  expect(await chat.send('three')).toMatchObject({ status: 'answered' })
  expect(await superseded).toMatchObject({ status: 'superseded', failure: { code: 'TURN_SUPERSEDED' } })
  expect(await chat.retry()).toMatchObject({ id: (await superseded).id, status: 'answered' })
  expect(chat.state.turns.map(({ status }) => status)).toEqual(['answered', 'answered', 'answered'])
  await expect(chat.retry(id)).rejects.toThrow('There is no turn to try again.')
  const { history = [] } = (await engine.getSession(chat.state.session)) ?? {}
  expect(history.map(({ message }) => message)).toEqual(['one', 'three', 'slow'])
})

test('stop cancels the turn on the server, and the message can be sent again', async () => {
  const { chat, requests } = setUp()
  await chat.send('one')
  slow = new Promise(() => {})
  const turn = chat.send('slow')
  await vi.waitFor(() => expect(chat.state.turns.at(-1)?.status).toBe('running'))
  expect(await chat.stop()).toBe(true)
  expect(await turn).toMatchObject({ status: 'stopped', failure: { code: 'TURN_ABORTED' } })
  expect(requests.at(-1)?.url).toBe('http://chat.example/ai/cancel')
  slow = Promise.resolve()
  expect(await chat.retry()).toMatchObject({ status: 'answered' })
})

test('a refusal without a session ID keeps the session of the chat', async () => {
  const { chat } = setUp()
  await chat.send('one')
  const { session } = chat.state
  expect(await chat.send('x'.repeat(2 ** 21))).toMatchObject({ status: 'failed' })
  expect([session, chat.state.session]).toEqual([expect.stringMatching(/./), session])
})

test('a message that was stopped while the network was lost has no outcome until it is retried', async () => {
  const { chat, network } = setUp()
  network.push('lose reply', 'lose request', 'lose request')
  const turn = chat.send('one')
  await new Promise<void>((resolve) => {
    chat.on('retry', () => resolve())
  })
  expect(await chat.stop()).toBe(false)
  expect(await turn).toMatchObject({ status: 'unanswered' })
  network.length = 0
  expect(await chat.retry()).toMatchObject({ status: 'answered', text: 'You said one.' })
  expect(ran).toEqual(['one'])
})

test('stop in a pause leaves the message without an outcome: the server may have cancelled another turn', async () => {
  const { chat, engine, network } = setUp()
  await chat.send('one')
  network.push('lose reply')
  const stored = chat.send('two')
  await new Promise<void>((resolve) => {
    chat.on('retry', () => resolve())
  })
  slow = new Promise(() => {})
  const running = chat.send('slow')
  await vi.waitFor(() => expect(ran).toContain('slow'))
  expect(await chat.stop()).toBe(true)
  expect(await running).toMatchObject({ status: 'stopped' })
  expect(await stored).toMatchObject({ status: 'unanswered' })
  const session = await engine.getSession(chat.state.session)
  expect(session?.history.map(({ message }) => message)).toEqual(['one', 'two'])
  const { id } = chat.state.turns[1] as { id: string }
  expect(await chat.retry(id)).toMatchObject({ status: 'answered', text: 'You said two.' })
  expect(ran).toEqual(['one', 'two', 'slow'])
})

test.each([
  ['streams', true],
  ['plain replies', false],
])('stop cancels the messages that wait on the server behind the one that runs, with %s', async (_name, stream) => {
  const { chat, engine } = setUp({ stream, engine: { busy: 'queue' } })
  await chat.send('one')
  slow = new Promise(() => {})
  let queued = 0
  engine.on('turn:queued', () => queued++)
  const turns = ['slow', 'slow', 'slow'].map((message) => chat.send(message))
  await vi.waitFor(() => expect([ran, queued]).toEqual([['one', 'slow'], 2]))
  expect(await chat.stop()).toBe(true)
  expect(await Promise.all(turns)).toMatchObject(turns.map(() => ({ status: 'stopped' })))
  const session = await engine.getSession(chat.state.session)
  expect(session?.history.map(({ message }) => message)).toEqual(['one'])
})

test('stop waits for the session of a message that was just sent, also in a continued conversation', async () => {
  const { chat, network, requests } = setUp()
  await chat.send('one')
  slow = new Promise(() => {})
  const turn = chat.send('slow')
  while (requests.length < 2) await Promise.resolve()
  // The cancel overtakes the message.
  network.push('lose request')
  expect(await chat.stop()).toBe(true)
  expect(await turn).toMatchObject({ status: 'stopped', failure: { code: 'TURN_ABORTED' } })
})

test('a message that was never sent is stopped, whatever the network does', async () => {
  const { chat, network } = setUp()
  slow = new Promise(() => {})
  const first = chat.send('slow')
  const second = chat.send('two')
  network.push('lose request', 'lose request')
  await chat.stop()
  expect(await second).toMatchObject({ status: 'stopped' })
  expect(ran).not.toContain('two')
  void first
})

test('stop before the session of a first message is known cancels it as soon as it is', async () => {
  const { chat, requests } = setUp()
  slow = new Promise(() => {})
  const turn = chat.send('slow')
  const later = chat.send('later')
  while (requests.length === 0) await Promise.resolve()
  expect(chat.state.turns[0]?.status).toBe('waiting')
  expect(await chat.stop()).toBe(true)
  expect(await turn).toMatchObject({ status: 'stopped', failure: { code: 'TURN_ABORTED' } })
  expect(await later).toMatchObject({ status: 'stopped' })
  expect(ran).not.toContain('later')
})

test('startOver during a turn begins a new conversation at once, and the turn does not bring the old one back', async () => {
  const { chat, requests, open, storage } = setUp()
  await chat.send('one')
  const earlier = chat.state.session
  let release = (): void => {}
  slow = new Promise((resolve) => {
    release = resolve
  })
  const turn = chat.send('slow')
  await vi.waitFor(() => expect(chat.state.turns.at(-1)?.status).toBe('running'))
  chat.startOver()
  expect(chat.state).toMatchObject({ session: '', isBusy: true })
  expect(open().state.turns).toEqual([])
  await chat.send('fresh')
  const { session } = chat.state
  release()
  expect(await turn).toMatchObject({ status: 'answered', text: 'You said slow.' })
  expect(chat.state).toMatchObject({ session, hasEnded: false, hasRestarted: false })
  await chat.send('more')
  expect(headersOf(requests, 'Chat-Session-Id')).toEqual([null, earlier, null, session])
  expect(JSON.parse([...storage.entries.values()][0] as string)).toEqual({ session, pending: [] })
})

test('after startOver in the first turn, earlier messages stay in the earlier conversation', async () => {
  const { chat, requests } = setUp()
  let release = (): void => {}
  slow = new Promise((resolve) => {
    release = resolve
  })
  const both = [chat.send('slow'), chat.send('bye')]
  await vi.waitFor(() => expect(ran).toEqual(['slow']))
  chat.startOver()
  await chat.send('fresh')
  const { session } = chat.state
  release()
  expect(await Promise.all(both)).toMatchObject([{ text: 'You said slow.' }, { text: 'Goodbye.' }])
  expect(chat.state).toMatchObject({ session, hasEnded: false })
  const named = headersOf(requests, 'Chat-Session-Id')
  expect(named.slice(0, 2)).toEqual([null, null])
  expect([null, session]).not.toContain(named[2])
})

test('a failed first message begins the new conversation if it is retried after startOver', async () => {
  const { chat } = setUp({ flow: 'Strict' })
  await chat.send('fail')
  chat.startOver()
  await chat.retry()
  expect(chat.state.hasEnded).toBe(true)
})

test.each([
  ['goes to the next one', 200, null, ['late']],
  ['goes to that one, where it is not deleted', 500, 's1', ['one', 'late']],
])('a message that is sent while the conversation is deleted waits, and %s', async (_name, status, session, shown) => {
  let deleted = (): void => {}
  const sent: (string | null)[] = []
  const { chat } = kept(async (path, init) => {
    const named = new Headers(init?.headers).get('Chat-Session-Id')
    if (!path.endsWith('/end')) {
      sent.push(named)
      return answered(named ?? 's2')
    }
    await new Promise<void>((resolve) => {
      deleted = resolve
    })
    return Response.json({ success: status === 200 }, { status })
  })
  await chat.send('one')
  const ended = chat.end().catch(() => undefined)
  const turn = chat.send('late')
  await vi.advanceTimersByTimeAsync(0)
  deleted()
  await ended
  expect(await turn).toMatchObject({ message: 'late', status: 'answered' })
  expect(sent).toEqual(['s1', session])
  expect(chat.state.turns.map(({ message }) => message)).toEqual(shown)
})

test('a conversation that began while another was being deleted goes on', async () => {
  let deleted = (): void => {}
  const sessions = ['s1', 's2', 's2']
  const { chat, storage } = kept(async (path) => {
    if (!path.endsWith('/end')) return answered(sessions.shift() as string)
    await new Promise<void>((resolve) => {
      deleted = resolve
    })
    return Response.json({ success: true })
  })
  await chat.send('old')
  const ended = chat.end()
  await vi.advanceTimersByTimeAsync(0)
  chat.startOver()
  const turn = await chat.send('new')
  deleted()
  await ended
  expect(chat.state).toMatchObject({ session: 's2', turns: [turn] })
  expect(JSON.parse(storage.entries.get('turnkeeper:/ai:Desk') as string)).toEqual({ session: 's2', pending: [] })
  await chat.send('more')
  expect(chat.state.turns.map(({ message }) => message)).toEqual(['new', 'more'])
})

/** A failure after which the server may have stored the turn. */
const doubtful = (state: string) =>
  Response.json(
    { success: false, completed: true, message: 'The save failed.', session: state === 'none' ? '' : 's1' },
    {
      status: 500,
      headers: { 'Chat-Reply': 'envelope', 'Chat-Session-State': state, 'Chat-Error': 'SESSION_STORE_ERROR' },
    },
  )

test('a turn that the server may have stored is unanswered when it is stopped in a pause', async () => {
  const { chat } = kept(async (path) =>
    path.endsWith('/cancel') ? Response.json({ success: true }) : doubtful('unknown'),
  )
  const stopped = new Promise((resolve) => chat.on('retry', () => resolve(chat.stop())))
  expect(await chat.send('one')).toMatchObject({ status: 'unanswered' })
  await stopped
  // A stop from a listener does not wait for the pause.
  expect(vi.getTimerCount()).toBe(0)
})

test.each(['unknown', 'none'])(
  'a turn that the server may have stored is unanswered after the last attempt, and a reload has its key (%s)',
  async (state) => {
    const keys: (string | null)[] = []
    const sessions: (string | null)[] = []
    const { chat, open } = kept(
      async (_path, init) => {
        const headers = new Headers(init?.headers)
        keys.push(headers.get('Idempotency-Key'))
        sessions.push(headers.get('Chat-Session-Id'))
        return keys.length <= 8 ? doubtful(state) : answered('s1')
      },
      state === 'none' ? '' : 's1',
    )
    const failure = { code: 'SESSION_STORE_ERROR', message: 'The save failed.' }
    expect(await passing(chat.send('one'))).toMatchObject({ status: 'unanswered', failure })
    expect(await open().resume()).toMatchObject([{ status: 'answered' }])
    expect([keys.length, new Set(keys).size, new Set(sessions).size]).toEqual([9, 1, 1])
  },
)

test('a first message that may be stored is sent again without a session, although a later one began the conversation', async () => {
  const sent: unknown[] = []
  const { chat } = kept(async (_path, init) => {
    const session = new Headers(init?.headers).get('Chat-Session-Id')
    sent.push([JSON.parse(String(init?.body)).message, session])
    return sent.length <= 8 ? doubtful('none') : answered('s1')
  }, '')
  const [first] = await passing(Promise.all([chat.send('one'), chat.send('two')]))
  await chat.retry(first.id)
  expect(sent.slice(7)).toEqual([
    ['one', null],
    ['two', null],
    ['one', null],
  ])
})

test('a late outcome of an earlier session does not replace the newer session', async () => {
  const { chat, network } = setUp()
  await chat.send('one')
  network.push('lose reply')
  const late = chat.send('bye')
  await new Promise<void>((resolve) => {
    chat.on('retry', () => resolve())
  })
  await chat.send('two')
  const { session } = chat.state
  expect(await passing(late)).toMatchObject({ status: 'answered', text: 'Goodbye.' })
  expect([session, chat.state]).toEqual([
    expect.stringMatching(/./),
    expect.objectContaining({ session, hasEnded: false }),
  ])
})

test('a refused first message is retried in the session that a later one began', async () => {
  const { chat, network, requests } = setUp()
  network.push('refuse')
  const [first] = await Promise.all([chat.send('one'), chat.send('two')])
  const { session } = chat.state
  expect(first).toMatchObject({ status: 'failed' })
  expect(await chat.retry(first.id)).toMatchObject({ status: 'answered' })
  expect(headersOf(requests, 'Chat-Session-Id')).toEqual([null, null, session])
  expect(chat.state.session).toBe(session)
})

test('a listener may retry a turn as soon as it sees the failure', async () => {
  const { chat, requests } = setUp({ flow: 'Strict' })
  const again = new Promise<unknown>((resolve) => {
    const off = chat.on('change', ({ turns }) => {
      if (turns[0]?.status !== 'failed') return
      off()
      resolve(chat.retry())
    })
  })
  expect(await chat.send('fail')).toMatchObject({ status: 'failed' })
  expect(await again).toMatchObject({ status: 'failed' })
  expect(new Set(headersOf(requests, 'Idempotency-Key')).size).toBe(2)
})

test('changes to attachments and config after send have no effect', async () => {
  const config = { language: 'en' }
  const { chat, network, requests } = setUp({ config })
  const photos: ChatAttachment[] = [photo]
  network.push('lose reply')
  const turn = chat.send('one', photos)
  photos.length = 0
  config.language = 'de'
  expect(await passing(turn)).toMatchObject({ status: 'answered', attachments: [photo] })
  expect(ran).toEqual(['one'])
  expect(requests).toHaveLength(2)
})

test('a config that is not JSON is refused, and nothing is sent', async () => {
  const { chat, requests } = setUp({ config: { amount: 1n } })
  await expect(chat.send('one')).rejects.toThrow('BigInt')
  expect([chat.state.turns, requests]).toEqual([[], []])
})

test('resume leaves out a superseded turn', async () => {
  const { chat, network } = setUp()
  network.push(...Array.from({ length: 8 }, () => 'lose request' as const))
  await passing(chat.send('one'))
  slow = new Promise(() => {})
  await chat.send('two')
  expect(chat.state.turns[0]).toMatchObject({ message: 'one', status: 'unanswered' })
  expect(await chat.resume()).toEqual([])
})

test('a headers function that never settles does not block send, history, stop and end for ever', async () => {
  const { chat } = kept(
    async () => answered('s1'),
    's1',
    () => new Promise(() => {}),
  )
  const outcome = (work: Promise<unknown>) => passing(work.catch((error: Error) => error.message))
  const turn = chat.send('one')
  await vi.advanceTimersByTimeAsync(0)
  expect(await outcome(chat.stop())).toBe(false)
  expect(await turn).toMatchObject({ status: 'stopped' })
  expect(await outcome(chat.history())).toBe('No reply came.')
  expect(await outcome(chat.end())).toBe('No reply came.')
  expect(vi.getTimerCount()).toBe(0)
})

test('an unknown session is replaced, and the state shows it', async () => {
  const { chat, engine } = setUp()
  await chat.send('one')
  await engine.deleteSession(chat.state.session)
  expect(await chat.send('two')).toMatchObject({ status: 'answered' })
  expect(chat.state.hasRestarted).toBe(true)
})

test('a conversation that replaces another one gets the config', async () => {
  const { chat, engine } = setUp({ config: { tenant: 'fern' } })
  const { text: first } = await chat.send('config')
  await engine.deleteSession(chat.state.session)
  expect(await chat.send('config')).toMatchObject({ text: first })
  expect([first, chat.state.hasRestarted]).toEqual(['{"tenant":"fern"}', true])
})

test('a message that is sent again after a reload has its original config', async () => {
  const { chat, network, open } = setUp({ config: { openedAt: 1 } })
  await chat.send('one')
  network.push('lose reply', ...Array.from({ length: 100 }, () => 'lose request' as const))
  void chat.send('two')
  await vi.advanceTimersByTimeAsync(100)
  network.length = 0
  expect(await open({ openedAt: 2 }).resume()).toMatchObject([{ status: 'answered', text: 'You said two.' }])
  expect(ran).toEqual(['one', 'two'])
})

/** Headers that fail after the given number of requests. */
function signedInFor(requests: number): () => Record<string, string> {
  let made = 0
  return () => {
    made++
    if (made > requests) throw new Error('Sign in again.')
    return {}
  }
}

test('a message that may have reached the server is unanswered, and kept, if it cannot be sent again', async () => {
  const { chat, network, open } = setUp({ headers: signedInFor(1) })
  network.push('lose reply')
  const turn = await passing(chat.send('one'))
  const failure = { code: 'REQUEST_ERROR', message: 'Sign in again.' }
  expect(turn).toMatchObject({ status: 'unanswered', failure })
  expect(chat.state.isBusy).toBe(false)
  const next = open()
  expect(next.state.turns).toMatchObject([{ message: 'one', status: 'unanswered' }])
  expect(await next.resume()).toMatchObject([{ status: 'unanswered', failure }])
  expect(open().state.turns).toMatchObject([{ message: 'one', status: 'unanswered' }])
  expect(ran).toEqual(['one'])
})

test('a message that may have reached the server is unanswered while its repeats are refused', async () => {
  const { chat, network, open } = setUp()
  network.push('lose reply', 'refuse', 'refuse')
  expect(await passing(chat.send('one'))).toMatchObject({ status: 'unanswered', failure: { code: '401' } })
  expect(open().state.turns).toMatchObject([{ message: 'one', status: 'unanswered' }])
  expect(await chat.retry()).toMatchObject({ status: 'unanswered', failure: { code: '401' } })
  expect(await chat.retry()).toMatchObject({ status: 'answered', text: 'You said one.' })
  expect(ran).toEqual(['one'])
  network.push('refuse')
  expect(await chat.send('two')).toMatchObject({ status: 'failed', failure: { code: '401' } })
})

test('a message that could never be sent has failed, even if the network was lost before', async () => {
  const errors = [new TypeError('Failed to fetch'), new Error('Sign in again.')]
  const { chat, requests, open } = setUp({
    headers: () => {
      throw errors.shift()
    },
  })
  expect(await passing(chat.send('one'))).toMatchObject({ status: 'failed', failure: { code: 'REQUEST_ERROR' } })
  expect([requests, open().state.turns]).toEqual([[], []])
})

test('a message that was stopped in a retry before it was sent is still unanswered', async () => {
  let signIn = (): void => {}
  const { chat, network } = setUp({
    headers: async () => {
      await new Promise<void>((resolve) => {
        signIn = resolve
      })
      return {}
    },
  })
  const send = async (turn: Promise<unknown>) => {
    await vi.advanceTimersByTimeAsync(0)
    signIn()
    return turn
  }
  network.push('lose reply')
  const lost = chat.send('one')
  const paused = new Promise<void>((resolve) => {
    chat.on('retry', () => resolve())
  })
  await send(paused)
  await chat.stop()
  expect(await lost).toMatchObject({ status: 'unanswered' })
  network.push('lose request')
  const repeated = chat.retry()
  const stopped = chat.stop()
  await send(stopped)
  expect(await repeated).toMatchObject({ status: 'unanswered' })
})

test('end deletes the session and forgets the turns', async () => {
  const { chat, engine, storage } = setUp()
  await chat.send('one')
  const { session } = chat.state
  await chat.end()
  expect(await engine.getSession(session)).toBeUndefined()
  expect(chat.state).toMatchObject({ session: '', turns: [], hasEnded: false })
  expect(storage.entries.size).toBe(0)
})

test.each(['history', 'end'] as const)(
  'turns that are no longer shown after %s are freed with their files',
  async (action) => {
    const chat = createChat({
      url: '/ai',
      flow: 'Desk',
      fetch: async (path) =>
        String(path).endsWith('/session')
          ? Response.json({ success: true, sessionState: 'running', turns: [] })
          : answered('s1'),
    })
    const turns: WeakRef<object>[] = []
    for (const message of ['one', 'two', 'three']) turns.push(new WeakRef(await chat.send(message)))
    await chat[action]()
    setFlagsFromString('--expose-gc')
    const collect = runInNewContext('gc') as () => void
    // An object that `deref` returns lives until the end of the current job.
    await vi.advanceTimersByTimeAsync(0)
    await new Promise((resolve) => setImmediate(resolve))
    collect()
    expect(turns.filter((turn) => turn.deref() !== undefined).length).toBe(0)
  },
)

test('end rejects if the server refuses, and forgets nothing', async () => {
  const { chat, engine } = setUp()
  await chat.send('one')
  await engine.close()
  await expect(chat.end()).rejects.toThrow('The engine is closed.')
  expect(chat.state.turns).toHaveLength(1)
})

test('history shows the stored turns, after a reload too, and keeps unanswered ones', async () => {
  const { chat, open, network } = setUp()
  await chat.send('one')
  await chat.send('bytes', [photo])
  await chat.send('fail')
  const next = open()
  const turns = await next.history()
  expect(turns.map(({ attachments }) => attachments)).toEqual([[], [{ ...photo, size: 3 }]])
  expect(turns.map(({ message, text, status }) => [message, text, status])).toEqual([
    ['one', 'You said one.', 'answered'],
    ['bytes', '', 'answered'],
  ])
  expect(turns[1]?.file?.type).toBe('image/png')
  await chat.history()
  expect(chat.state.turns.map(({ status }) => status)).toEqual(['answered', 'answered', 'failed'])
  network.push('lose request')
  await expect(chat.history()).rejects.toThrow('Failed to fetch')
  expect(chat.state.turns).toHaveLength(3)
})

test('history leaves an unanswered turn in its place, also before turns that the page did not have', async () => {
  const { chat, open, network } = setUp()
  await chat.send('one')
  await chat.send('fail')
  await chat.send('fail')
  await chat.send('two')
  const messages = async (page: typeof chat) => (await page.history()).map(({ message }) => message)
  expect(await messages(chat)).toEqual(['one', 'fail', 'fail', 'two'])
  expect(await messages(chat)).toEqual(['one', 'fail', 'fail', 'two'])
  const next = open()
  network.push(...Array.from({ length: 8 }, () => 'lose request' as const))
  await passing(next.send('three'))
  await next.send('four')
  expect(await messages(next)).toEqual(['one', 'two', 'three', 'four'])
})

test('history keeps a message that was sent and answered while it read the stored turns', async () => {
  let read = (_response: Response): void => {}
  const turns = ['old', 'new'].map((message, index) => ({
    turn: index + 1,
    message,
    reply: 'Yes.',
    contentType: 'text/plain',
  }))
  let reads = 0
  const { chat } = kept((path) => {
    if (!path.endsWith('/session')) return Promise.resolve(answered('s1'))
    reads++
    return new Promise((resolve) => {
      read = resolve
    })
  })
  const stored = (count: number) =>
    Response.json({ success: true, sessionState: 'running', turns: turns.slice(0, count) })
  const shown = chat.history()
  await vi.waitFor(() => expect(reads).toBe(1))
  await chat.send('new')
  read(stored(1))
  await vi.waitFor(() => expect(reads).toBe(2))
  expect(chat.state.turns.map(({ message }) => message)).toEqual(['new'])
  read(stored(2))
  expect((await shown).map(({ message }) => message)).toEqual(['old', 'new'])
})

/** The messages at each change that showed one twice. */
function doubled(chat: { on(name: 'change', listener: (state: ChatState) => void): unknown }): string[][] {
  const found: string[][] = []
  chat.on('change', ({ turns }) => {
    const messages = turns.map(({ message }) => message)
    if (new Set(messages).size < messages.length) found.push(messages)
  })
  return found
}

test('history after a reload shows the stored turns while the newest turn still runs, and shows that one once', async () => {
  const { chat, open, network } = setUp()
  await chat.send('one')
  let release = (): void => {}
  slow = new Promise((resolve) => {
    release = resolve
  })
  network.push('pass', 'pass')
  void chat.send('slow')
  await vi.waitFor(() => expect(chat.state.turns.at(-1)?.status).toBe('running'))
  const next = open()
  const twice = doubled(next)
  const resumed = next.resume()
  const shown = next.history()
  const now = () => next.state.turns.map(({ message, text, status }) => [message, text, status])
  await vi.waitFor(() =>
    expect(now()).toEqual([
      ['one', 'You said one.', 'answered'],
      ['slow', '', 'running'],
    ]),
  )
  release()
  await Promise.all([resumed, shown])
  expect(now()).toEqual([
    ['one', 'You said one.', 'answered'],
    ['slow', 'You said slow.', 'answered'],
  ])
  expect([ran, twice]).toEqual([['one', 'slow'], []])
})

test('history after a reload shows a turn once if it was stored without the page', async () => {
  const { chat, open, network } = setUp()
  await chat.send('one')
  network.push('lose reply', ...Array.from({ length: 100 }, () => 'lose request' as const))
  void chat.send('two')
  await vi.advanceTimersByTimeAsync(100)
  network.length = 0
  const next = open()
  const twice = doubled(next)
  await Promise.all([next.resume(), next.history()])
  expect(next.state.turns.map(({ text }) => text)).toEqual(['You said one.', 'You said two.'])
  expect([ran, twice]).toEqual([['one', 'two'], []])
})

test('an unanswered turn is shown beside its possible stored copy until it is sent again', async () => {
  const { chat, network } = setUp()
  await chat.send('one')
  network.push('lose reply', ...Array.from({ length: 7 }, () => 'lose request' as const))
  await passing(chat.send('two'))
  const now = () => chat.state.turns.map(({ message, status }) => [message, status])
  await chat.history()
  expect(now()).toEqual([
    ['one', 'answered'],
    ['two', 'answered'],
    ['two', 'unanswered'],
  ])
  await Promise.all([chat.resume(), chat.history()])
  expect(now()).toEqual([
    ['one', 'answered'],
    ['two', 'answered'],
  ])
  expect(ran).toEqual(['one', 'two'])
})

test('a turn that is stored before the page received its end is finally shown once', async () => {
  const { chat, engine, network } = setUp()
  await chat.send('one')
  let release = (): void => {}
  held = new Promise((resolve) => {
    release = resolve
  })
  const ended = new Promise((resolve) => engine.once('turn:end', resolve))
  network.push('hold stream')
  const turn = chat.send('two')
  await ended
  await vi.waitFor(() => expect(chat.state.turns.at(-1)?.status).toBe('running'))
  const shown = chat.history()
  await vi.waitFor(() =>
    expect(chat.state.turns.map(({ text }) => text)).toEqual(['You said one.', 'You said two.', '']),
  )
  release()
  expect(await turn).toMatchObject({ status: 'answered', text: 'You said two.' })
  await shown
  expect(chat.state.turns.map(({ text }) => text)).toEqual(['You said one.', 'You said two.'])
})

describe('refresh', () => {
  /** The paths that were read, and the shown turns. */
  const shownBy = (chat: ReturnType<typeof setUp>['chat'], requests: readonly Request[]) => ({
    reads: () => requests.filter(({ method }) => method === 'GET').map(({ url }) => url.replace(/.*session/, '')),
    turns: () => chat.state.turns.map(({ message, text, event }) => (event ? [event, text] : [message, text])),
  })

  test('shows the events of a session, reads only what is new, and changes nothing if nothing is', async () => {
    const { chat, engine, requests } = setUp()
    const { reads, turns } = shownBy(chat, requests)
    expect(await chat.refresh()).toEqual([])
    await chat.send('one')
    await chat.refresh()
    const first = chat.state
    await chat.refresh()
    expect(chat.state).toBe(first)
    expect([reads(), turns()]).toEqual([['?after=0', '?after=1'], [['one', 'You said one.']]])
    const sessionId = chat.state.session
    await engine.sendEvent({ sessionId, event: 'note', payload: 'called', by: 'Bob' })
    await chat.send('two')
    await engine.sendEvent({ sessionId, event: 'decision', by: 'Ada', byId: 'emp-17' })
    await chat.refresh()
    expect(turns()).toEqual([
      ['one', 'You said one.'],
      [{ name: 'note', by: 'Bob', payload: 'called' }, ''],
      ['two', 'You said two.'],
      [{ name: 'decision', by: 'Ada' }, 'Approved by Ada.'],
    ])
    expect(chat.state.turns[0]).toBe(first.turns[0])
    expect([chat.state.hasEnded, chat.state.session]).toEqual([true, ''])
    await chat.refresh()
    expect(reads()).toEqual(['?after=0', '?after=1', '?after=1'])
  })

  test('keeps the turns of an earlier conversation, and what it shows of a session that is gone', async () => {
    const { chat, engine, requests } = setUp()
    const { reads, turns } = shownBy(chat, requests)
    await chat.send('one')
    await chat.refresh()
    chat.startOver()
    await chat.send('two')
    await chat.send('bye')
    await chat.send('three')
    await chat.refresh()
    const all = [
      ['one', 'You said one.'],
      ['two', 'You said two.'],
      ['bye', 'Goodbye.'],
      ['three', 'You said three.'],
    ]
    expect(turns()).toEqual(all)
    await chat.send('four')
    await engine.deleteSession(chat.state.session)
    await chat.refresh()
    expect([turns(), chat.state.hasEnded]).toEqual([[...all, ['four', 'You said four.']], true])
    expect(reads()).toEqual(['?after=0', '?after=0', '?after=1'])
  })

  test('reads everything if turns between are missing', async () => {
    const { chat, engine, requests } = setUp({ engine: { limits: { maxHistoryTurns: 2 } } })
    const { reads, turns } = shownBy(chat, requests)
    await chat.send('one')
    await chat.refresh()
    for (let count = 0; count < 3; count++) await engine.sendEvent({ sessionId: chat.state.session, event: 'note' })
    await chat.refresh()
    expect(turns()).toEqual([
      [{ name: 'note' }, ''],
      [{ name: 'note' }, ''],
    ])
    expect(reads()).toEqual(['?after=0', '?after=1', ''])
  })

  test('refreshEveryMs asks unless the page is hidden, while somebody listens, and goes on after an error', async () => {
    const page = { visibilityState: 'visible' }
    vi.stubGlobal('document', page)
    const { chat, engine, network, requests } = setUp({ refreshEveryMs: 1000 })
    const { reads, turns } = shownBy(chat, requests)
    const passed = async (seconds: number) => {
      await vi.advanceTimersByTimeAsync(seconds * 1000)
      return reads().length
    }
    await chat.send('one')
    expect(await passed(5)).toBe(0)
    const off = chat.on('change', () => {})
    chat.on('result', () => {})
    expect(await passed(2)).toBe(2)
    page.visibilityState = 'hidden'
    expect(await passed(3)).toBe(2)
    // A program without a page.
    vi.stubGlobal('document', undefined)
    network.push('lose request')
    expect(await passed(2)).toBe(4)
    off()
    expect(await passed(3)).toBe(5)
    expect(vi.getTimerCount()).toBe(0)
    chat.on('change', () => {})
    await engine.sendEvent({ sessionId: chat.state.session, event: 'decision', by: 'Ada' })
    expect(await passed(5)).toBe(6)
    expect(turns().at(-1)).toEqual([{ name: 'decision', by: 'Ada' }, 'Approved by Ada.'])
  })
})

test('if a proxy refuses history, the error has the status', async () => {
  const chat = createChat({
    url: '/ai',
    flow: 'Desk',
    storage: { getItem: () => '{"session":"s1","pending":[]}', setItem: () => {}, removeItem: () => {} },
    fetch: async () => new Response('Who are you?', { status: 401 }),
  })
  await expect(chat.history()).rejects.toThrow('The request was refused with the status 401 by /ai.')
  expect(chat.state.session).toBe('s1')
})

test('if a proxy answers end, the error has the status, and nothing is forgotten', async () => {
  const chat = createChat({
    url: '/ai',
    flow: 'Desk',
    storage: { getItem: () => '{"session":"s1","pending":[]}', setItem: () => {}, removeItem: () => {} },
    fetch: async () => new Response('<h1>Bad gateway</h1>', { status: 502 }),
  })
  await expect(chat.end()).rejects.toThrow('The request was refused with the status 502 by /ai.')
  expect(chat.state.session).toBe('s1')
})

test.each([
  ['no reply', () => new Promise<never>(() => {})],
  ['half a reply', async () => new Response(new ReadableStream())],
])('stop, history and end do not wait for ever for a server of which %s comes', async (_name, reply) => {
  const chat = createChat({
    url: '/ai',
    flow: 'Desk',
    storage: { getItem: () => '{"session":"s1","pending":[]}', setItem: () => {}, removeItem: () => {} },
    fetch: (_path, init) => {
      const signal = init?.signal as AbortSignal
      const closed = new Promise<never>((_resolve, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason))
      })
      return Promise.race([reply(), closed]).then((response) => {
        const body = response.body?.pipeThrough(new TransformStream(), { signal })
        return new Response(body, response)
      })
    },
  })
  const turn = chat.send('one')
  await vi.advanceTimersByTimeAsync(0)
  const outcome = (work: Promise<unknown>) => passing(work.catch((error: Error) => error.message))
  expect(await outcome(chat.stop())).toBe(false)
  expect(await outcome(turn)).toMatchObject({ status: 'unanswered' })
  expect(await outcome(chat.history())).toBe('No reply came.')
  expect(await outcome(chat.end())).toBe('No reply came.')
  expect(vi.getTimerCount()).toBe(0)
})

test('history of a session that is gone lets the next message start another; without a session no request is made', async () => {
  const { chat, engine, requests } = setUp()
  expect(await chat.history()).toEqual([])
  expect(requests).toEqual([])
  await chat.send('one')
  await engine.deleteSession(chat.state.session)
  expect(await chat.history()).toEqual([])
  expect(chat.state).toMatchObject({ session: '', hasEnded: true })
})

test('each change is a new frozen state; listeners cannot change it', async () => {
  const { chat } = setUp()
  const states: ChatState[] = []
  const off = chat.on('change', (state) => states.push(state))
  vi.stubGlobal('reportError', () => {})
  chat.on('result', () => {
    throw new Error('A listener of the page.')
  })
  const deltas: string[] = []
  chat.on('text-delta', ({ text, turn }) => deltas.push(`${turn.message}: ${text}`))
  await chat.send('one')
  expect(states.every((state) => Object.isFrozen(state) && Object.isFrozen(state.turns))).toBe(true)
  expect([...new Set(states.map(({ turns }) => turns[0]?.status))]).toEqual(['waiting', 'running', 'answered'])
  expect(states[0]).toMatchObject({ isBusy: true, turns: [{ text: '' }] })
  off()
  const { length } = states
  await chat.send('two')
  expect(states).toHaveLength(length)
})

test('an error of a listener is reported even without reportError', async () => {
  const { chat } = setUp()
  vi.stubGlobal('reportError', undefined)
  const reported = vi.spyOn(console, 'error').mockImplementation(() => {})
  const error = new Error('A listener of the page.')
  chat.on('result', () => {
    throw error
  })
  await chat.send('one')
  expect(reported).toHaveBeenCalledWith(error)
})

test('if a listener changes the chat, no listener sees an old state last', async () => {
  const { chat } = setUp()
  const first: ChatState[] = []
  chat.on('change', (state) => first.push(state))
  chat.on('change', ({ session }) => {
    if (session !== '') chat.startOver()
  })
  const last: ChatState[] = []
  chat.on('change', (state) => last.push(state))
  await chat.send('one')
  expect(chat.state.session).toBe('')
  expect([first.at(-1), last.at(-1)]).toEqual([chat.state, chat.state])
  expect(new Set(last).size).toBe(last.length)
})

const urlSentence =
  "url must be a string that says where the routes are mounted, without a query, such as '/ai' or 'https://shop.example/ai'."

test.each([
  [undefined, urlSentence],
  [{ flow: 'Desk' }, urlSentence],
  [{ url: new URL('http://chat.example/ai'), flow: 'Desk' }, urlSentence],
  [{ url: 'http://[bad', flow: 'Desk' }, urlSentence],
  [{ url: '/ai', flow: 'Desk', refreshEveryMs: 0 }, 'refreshEveryMs must be a number of milliseconds.'],
  [{ url: 'localhost:3000/ai', flow: 'Desk' }, urlSentence],
  [{ url: '/ai?tenant=1', flow: 'Desk' }, urlSentence],
  [{ url: 'http://chat.example/ai#chat', flow: 'Desk' }, urlSentence],
  [{ url: '/ai' }, 'flow must be the name of a registered flow.'],
  [{ url: '/ai', flow: '' }, 'flow must be the name of a registered flow.'],
  [{ url: '/ai', flow: 'Desk', headers: 'Bearer token' }, 'headers must be an object or a function.'],
  [{ url: '/ai', flow: 'Desk', fetch: 'fetch' }, 'fetch must be a function.'],
])('createChat(%j) says what is missing or wrong', (options, sentence) => {
  expect(() => createChat(options as never)).toThrow(new TypeError(`createChat: ${sentence}`))
})

const photo = { type: 'image', mediaType: 'image/png', data: 'AAEC' } as const

test.each([
  ['one attachment without a list', photo],
  ['a file', [new File(['fern'], 'fern.png', { type: 'image/png' })]],
  ['the promise of an attachment', [attachmentOf(new Blob(['fern'], { type: 'image/png' }))]],
])('%s is refused at once, and nothing is sent', async (_name, attachments) => {
  const { chat, requests } = setUp()
  await expect(chat.send('What is this?', attachments as never)).rejects.toThrow(
    new TypeError('attachments must be a list of what `await attachmentOf(file)` returns.'),
  )
  expect([chat.state.turns, requests]).toEqual([[], []])
})

test('retry rejects in a new chat, and for a running turn', async () => {
  const { chat } = setUp()
  await expect(chat.retry()).rejects.toThrow('There is no turn to try again.')
  const turn = chat.send('one')
  await expect(chat.retry()).rejects.toThrow('There is no turn to try again.')
  const { id } = chat.state.turns[0] as { id: string }
  await expect(chat.retry(id)).rejects.toThrow('The turn is under way already.')
  await turn
})

test('retry without an ID takes the newest turn that is not running', async () => {
  const answers: ((response: Response) => void)[] = []
  const { chat } = kept(() => new Promise((resolve) => answers.push(resolve)))
  const first = chat.send('one')
  const second = chat.send('two')
  await vi.advanceTimersByTimeAsync(0)
  answers[0]?.(new Response('Who are you?', { status: 401 }))
  expect(await first).toMatchObject({ status: 'failed' })
  const again = chat.retry()
  expect(chat.state.turns.map(({ status }) => status)).toEqual(['waiting', 'waiting'])
  await vi.advanceTimersByTimeAsync(0)
  for (const answer of answers) answer(answered('s1'))
  expect(await Promise.all([again, second])).toMatchObject([{ message: 'one' }, { message: 'two' }])
})
