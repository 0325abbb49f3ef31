// The routes for pages of the AI SDK, chunk by chunk, without a page: replies, owners, and messages that never run
// twice. testing/contract/ui-message has real pages.
import { afterEach, describe, expect, test, vi } from 'vitest'
import {
  type FlowConstructor,
  FlowEngine,
  type FlowEngineOptions,
  type FlowStreamEvent,
  finish as finishFlow,
  MemorySessionStore,
  reply,
  type SessionDocument,
  Step,
} from '../../src/index.js'
import { gate, never, flowOf as onlyFlowOf } from '../../testing/contract/engine-harness.js'
import { delta, finish, type Play, pieces, streaming } from '../../testing/contract/stream-harness.js'
import { flowOf } from '../../testing/contract/test-flows.js'
import {
  type ChatEngine,
  type ChatSessions,
  createUiMessageHandler,
  type FlowMessage,
  type FlowMessageMetadata,
  type UiMessageOptions,
} from './index.js'

import { chunksOf as chunksOfReply } from './reply-chunks.js'

type Chunk = Readonly<Record<string, unknown>> & { readonly type: string }

class Talk extends Step {
  static override readonly id = 'Talk'
}

const cleanUps: (() => Promise<void>)[] = []

afterEach(async () => {
  vi.useRealTimers()
  for (const cleanUp of cleanUps.splice(0)) await cleanUp()
})

interface SetUp {
  readonly engine?: FlowEngineOptions
  readonly options?: Partial<UiMessageOptions>
  readonly documents?: Map<string, SessionDocument>
}

/** A process: an engine over the shared store, and its handler. The header `user` names the principal. */
function start({ engine: engineOptions, options, documents = new Map() }: SetUp = {}) {
  const engine = new FlowEngine({
    flows: [onlyFlowOf('Test')],
    sessionStore: new MemorySessionStore({ backing: documents }),
    ...engineOptions,
  })
  cleanUps.push(() => engine.close())
  let turns = 0
  engine.on('turn:start', () => turns++)
  const handler = createUiMessageHandler(engine, {
    flow: 'Test',
    authorize: ({ headers }) => {
      const principal = headers.get('user')
      return principal === null ? new Response('Sign in first.', { status: 401 }) : { principal }
    },
    ...options,
  })
  const send = (path: string, body?: unknown, user = 'ada', headers: Record<string, string> = {}): Promise<Response> =>
    handler(
      new Request(`https://shop.example/api/chat${path}`, {
        method: body === undefined ? 'GET' : 'POST',
        headers: { ...(user === '' ? {} : { user }), ...headers },
        ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
      }),
    )
  const say = (id: string, text: string, more: object = {}, user?: string): Promise<Response> =>
    send('', { id: 'c1', messages: [message(id, text)], trigger: 'submit-message', ...more }, user)
  return { engine, handler, send, say, documents, turns: () => turns }
}

function frontOf(engine: FlowEngine): ChatEngine {
  return {
    stream: engine.stream.bind(engine),
    getSession: engine.getSession.bind(engine),
    claimSession: engine.claimSession.bind(engine),
  }
}

function message(id: string, text: string): object {
  return { id, role: 'user', parts: [{ type: 'text', text }] }
}

function photo(data: string): object {
  const url = `data:image/png;base64,${data}`
  return { id: 'm1', role: 'user', parts: [{ type: 'file', mediaType: 'image/png', url }] }
}

async function chunksOf(response: Response): Promise<Chunk[]> {
  const lines = (await response.text()).split('\n\n').filter((line) => line.startsWith('data: '))
  expect(lines.pop()).toBe('data: [DONE]')
  return lines.map((line) => JSON.parse(line.slice(6)) as Chunk)
}

async function textOf(response: Response): Promise<string> {
  const chunks = await chunksOf(response)
  const last = chunks.findLastIndex(({ type }) => type === 'data-reset')
  return chunks.map(({ type, delta = '' }, index) => (type === 'text-delta' && index > last ? delta : '')).join('')
}

async function messagesOf(response: Response): Promise<FlowMessage[]> {
  const { messages } = (await response.json()) as { messages: FlowMessage[] }
  return messages
}

/**
 * The start of a message decides what the flow does: `bye` ends the session, and `slow` is answered when `hold` is
 * opened. A message after the end begins a new session.
 */
function talking(hold = gate(), documents = new Map<string, SessionDocument>(), options?: Partial<UiMessageOptions>) {
  const flow = onlyFlowOf('Test', async ({ message: text }) => {
    if (text.startsWith('slow')) await hold.opened
    return text.startsWith('bye') ? finishFlow('Bye.') : reply('Seen.')
  })
  return start({ engine: { flows: [flow] }, documents, options: { whenEnded: 'new', ...options } })
}

/** A page, or one of its tabs, with the messages that it sent and received. */
class Page {
  readonly messages: object[]
  readonly #send: ReturnType<typeof start>['send']

  constructor(send: ReturnType<typeof start>['send'], messages: readonly object[] = []) {
    this.#send = send
    this.messages = [...messages]
  }

  /** Sends a message and reads the reply to its end. */
  async say(id: string, text: string, user?: string): Promise<FlowMessageMetadata> {
    const chunks = await chunksOf(await this.post(id, text, user))
    const metadata = chunks.at(-1)?.messageMetadata as FlowMessageMetadata
    this.messages.push({ id: `${id}-reply`, role: 'assistant', parts: [], metadata })
    return metadata
  }

  /** Sends a message. */
  post(id: string, text: string, user?: string): Promise<Response> {
    this.messages.push(message(id, text))
    return this.sendAgain(user)
  }

  sendAgain(user?: string): Promise<Response> {
    return this.#send('', { id: 'c1', messages: this.messages, trigger: 'submit-message' }, user)
  }

  /** Sends a message, and loses the connection before any of the reply arrives. */
  async lose(id: string, text: string): Promise<void> {
    await (await this.post(id, text)).body?.cancel()
  }
}

/** The user's messages, by session. */
function saidIn(documents: ReadonlyMap<string, SessionDocument>): string[][] {
  return [...documents.values()].map(({ history }) => history.map(({ message: text }) => text))
}

/** Model steps that stream the pieces of `play`. */
function playing(play: Play, documents?: Map<string, SessionDocument>, options?: Partial<UiMessageOptions>) {
  const engine = { flows: [flowOf(Talk)], providers: [streaming(play)] }
  return start({
    engine,
    ...(documents === undefined ? {} : { documents }),
    ...(options === undefined ? {} : { options }),
  })
}

describe('a reply', () => {
  test('is a message of the AI SDK, with the session in its metadata', async () => {
    const { say, documents } = start()
    const response = await say('m1', 'Hello')
    expect(response.status).toBe(200)
    expect(response.headers.get('x-vercel-ai-ui-message-stream')).toBe('v1')
    expect(response.headers.get('content-type')).toBe('text/event-stream')
    const chunks = await chunksOf(response)
    const [session] = documents.keys()
    expect(chunks).toEqual([
      { type: 'start', messageId: 'm1-reply' },
      { type: 'text-start', id: 'text-1' },
      { type: 'text-delta', id: 'text-1', delta: 'You said: Hello' },
      { type: 'text-end', id: 'text-1' },
      { type: 'finish', messageMetadata: { session, sessionState: 'running' } },
    ])
  })

  test('has no line end of any language in its stream', async () => {
    const text = 'a\u2028b\u2029c\u0085d'
    const { say } = start({ engine: { flows: [onlyFlowOf('Test', () => reply(text))] } })
    const body = await (await say('m1', 'Hello')).text()
    expect(body).not.toMatch(/[\u2028\u2029\x85]/)
    expect(await textOf(new Response(body))).toBe(text)
  })

  test('that is discarded is marked, and the text that counts follows', async () => {
    const { say } = playing((_request, call) =>
      call === 1
        ? (async function* () {
            yield delta('Half')
            throw Object.assign(new Error('overloaded'), { status: 503 })
          })()
        : pieces(delta('Whole'), finish('Whole')),
    )
    const types = (await chunksOf(await say('m1', 'Hello'))).map(({ type }) => type)
    expect(types).toEqual([
      ...['start', 'text-start', 'text-delta', 'text-end', 'data-reset'],
      ...['text-start', 'text-delta', 'text-end', 'finish'],
    ])
  })

  test('that fails after a part was shown is marked before the error', async () => {
    const { say } = playing(async function* () {
      yield delta('Half')
      throw new Error('broken')
    })
    const chunks = await chunksOf(await say('m1', 'Hello'))
    expect(chunks.slice(3)).toEqual([
      { type: 'text-end', id: 'text-1' },
      { type: 'data-reset', data: { reason: 'error' } },
      { type: 'message-metadata', messageMetadata: expect.anything() },
      { type: 'error', errorText: expect.any(String) },
    ])
  })

  test('whose stream breaks off is marked before the error', async () => {
    async function* broken(): AsyncGenerator<FlowStreamEvent, void> {
      yield { type: 'text-delta', text: 'Half' }
    }
    const chunks = chunksOfReply(broken(), { messageId: 'm1', resumes: false, details: false })
    const types: string[] = []
    for await (const { type } of chunks) types.push(type)
    expect(types).toEqual(['start', 'text-start', 'text-delta', 'text-end', 'data-reset', 'error'])
  })

  test('of bytes is a file', async () => {
    const { say } = start({
      engine: {
        flows: [onlyFlowOf('Test', () => reply('iVBORw0KGgo=').withContentType('image/png', { encoding: 'base64' }))],
      },
    })
    expect(await chunksOf(await say('m1', 'Draw'))).toContainEqual({
      type: 'file',
      mediaType: 'image/png',
      url: 'data:image/png;base64,iVBORw0KGgo=',
    })
  })

  test('that fails is an error with the text of the envelope, and the session', async () => {
    const { say } = start({
      engine: {
        flows: [
          onlyFlowOf('Test', () => {
            throw new Error('The shelf fell down.')
          }),
        ],
      },
    })
    expect(await chunksOf(await say('m1', 'Hello'))).toEqual([
      { type: 'start', messageId: 'm1-reply' },
      {
        type: 'message-metadata',
        messageMetadata: { session: expect.any(String), sessionState: 'aborted', code: 'FLOW_ERROR' },
      },
      { type: 'error', errorText: 'The shelf fell down.' },
    ])
  })
})

describe('the session of a chat', () => {
  test('is the one that the newest reply of the page names, in another process', async () => {
    const documents = new Map<string, SessionDocument>()
    const first = await chunksOf(await start({ documents }).say('m1', 'Hello'))
    const { messageMetadata } = first.at(-1) as { messageMetadata?: object }
    const messages = [
      message('m1', 'Hello'),
      { id: 'm1-reply', role: 'assistant', parts: [], metadata: messageMetadata },
      message('m2', 'Again'),
    ]
    await textOf(await start({ documents }).say('m2', 'Again', { messages }))
    expect([...documents.values()].map(({ history }) => history.length)).toEqual([2])
  })

  test('comes from the option `chats` if the page names none, for the transcript too', async () => {
    const documents = new Map<string, SessionDocument>()
    const table = new Map<string, string>()
    const chats: ChatSessions = {
      load: async ({ owner, flow, id }) => table.get(`${owner}/${flow}/${id}`),
      save: async ({ owner, flow, id }, session) => void table.set(`${owner}/${flow}/${id}`, session),
    }
    await textOf(await start({ documents, options: { chats } }).say('m1', 'Hello'))
    const second = start({ documents, options: { chats } })
    await textOf(await second.say('m2', 'Again'))
    expect([...table]).toEqual([['ada/Test/c1', [...documents.keys()][0]]])
    const shown = await messagesOf(await second.send('/c1'))
    expect(shown.map(({ role, parts }) => [role, parts])).toEqual([
      ['user', [{ type: 'text', text: 'Hello' }]],
      ['assistant', [{ type: 'text', text: 'You said: Hello' }]],
      ['user', [{ type: 'text', text: 'Again' }]],
      ['assistant', [{ type: 'text', text: 'You said: Again' }]],
    ])
  })

  test('is never the session of another owner, whatever the page sends', async () => {
    const documents = new Map<string, SessionDocument>()
    const { say, send } = start({ documents })
    await textOf(await say('m1', 'My secret'))
    const [session] = documents.keys()
    const before = JSON.stringify(documents.get(session ?? ''))
    expect(await messagesOf(await send('/c1', undefined, 'eve'))).toEqual([])
    const messages = [{ id: 'a', role: 'assistant', parts: [], metadata: { session } }, message('m1', 'My secret')]
    const chunks = await chunksOf(await say('m1', 'My secret', { messages }, 'eve'))
    expect(chunks.at(-1)).toMatchObject({ messageMetadata: { sessionState: 'running', restarted: 'unknown' } })
    expect(JSON.stringify(documents.get(session ?? ''))).toBe(before)
    expect([...documents.values()].map(({ owner }) => owner)).toEqual(['ada', 'eve'])
  })

  test('no turn runs if the option `chats` fails', async () => {
    const errors: unknown[] = []
    const fails = async (): Promise<never> => {
      throw new Error('The table is away.')
    }
    const { say, documents } = start({
      options: { chats: { load: fails, save: fails }, onError: (error) => errors.push(error) },
    })
    const response = await say('m1', 'Hello')
    expect([response.status, await response.text()]).toEqual([500, 'The request could not be handled.'])
    expect([documents.size, errors.length]).toEqual([0, 1])
  })
})

describe('a page that names an ended session', () => {
  test('continues in its successor, although it lost the connection to that one', async () => {
    const { send, documents, engine } = talking()
    const page = new Page(send)
    await page.say('m1', 'bye')
    const ended = new Promise((resolve) => engine.once('turn:end', resolve))
    await page.lose('m2', 'My order is 42.')
    await ended
    expect(await page.say('m3', 'Where is it?')).toMatchObject({ session: [...documents.keys()][1] })
    expect(saidIn(documents)).toEqual([['bye'], ['My order is 42.', 'Where is it?']])
    const shown = (await messagesOf(await send('/c1'))).filter(({ role }) => role === 'user')
    expect(shown.map(({ parts }) => parts)).toEqual([
      [{ type: 'text', text: 'My order is 42.' }],
      [{ type: 'text', text: 'Where is it?' }],
    ])
  })

  test('continues in the session that another tab began', async () => {
    const { send, documents } = talking()
    const page = new Page(send)
    await page.say('m1', 'bye')
    const other = new Page(send, page.messages)
    await page.say('m2', 'One')
    await other.say('m3', 'Two')
    await page.say('m4', 'Three')
    expect(saidIn(documents)).toEqual([['bye'], ['One', 'Two', 'Three']])
  })

  test('waits for the session that a message of another tab begins', async () => {
    const hold = gate()
    const { send, documents } = talking(hold)
    const page = new Page(send)
    await page.say('m1', 'bye')
    const other = new Page(send, page.messages)
    const replies = await Promise.all([page.post('m2', 'slow'), other.post('m3', 'Me too')])
    hold.open()
    for (const response of replies) await textOf(response)
    expect(saidIn(documents)).toEqual([['bye'], ['slow', 'Me too']])
  })

  test('waits for the session of a running turn', async () => {
    const hold = gate()
    const { send, documents, engine } = talking(hold)
    const page = new Page(send)
    await page.say('m1', 'bye')
    const other = new Page(send, page.messages)
    const begun = new Promise((resolve) => engine.once('turn:start', resolve))
    const first = await page.post('m2', 'slow')
    await begun
    const second = other.say('m3', 'Me too')
    hold.open()
    await textOf(first)
    await second
    expect(saidIn(documents)).toEqual([['bye'], ['slow', 'Me too']])
  })

  test('gets the recorded reply to the message that ended it, and the chat stays in the successor', async () => {
    const { send, documents, turns, engine } = talking()
    const page = new Page(send)
    await page.say('m1', 'Hello')
    const other = new Page(send, page.messages)
    const ended = new Promise((resolve) => engine.once('turn:end', resolve))
    await page.lose('m2', 'bye')
    await ended
    await other.say('m3', 'New')
    const again = await chunksOf(await page.sendAgain())
    expect(again.at(-1)).toMatchObject({ messageMetadata: { sessionState: 'completed' } })
    expect(turns()).toBe(3)
    await new Page(send).say('m4', 'On')
    expect(saidIn(documents)).toEqual([
      ['Hello', 'bye'],
      ['New', 'On'],
    ])
  })

  test.each(['first', 'second'])(
    'gets the recorded reply to its %s message, which began one that has ended',
    async (which) => {
      const { send, documents, turns } = talking()
      const page = new Page(send)
      await page.say('m1', 'bye')
      const sent = which === 'first' ? [] : [...page.messages]
      if (which === 'second') await page.say('m2', 'bye again')
      await page.say('m3', 'Hello')
      const before = JSON.stringify([...documents])
      const earlier = new Page(send, sent)
      const reply = which === 'first' ? await earlier.say('m1', 'bye') : await earlier.say('m2', 'bye again')
      expect(reply).toMatchObject({ sessionState: 'completed' })
      expect([turns(), JSON.stringify([...documents])]).toEqual([documents.size, before])
      expect(await new Page(send).say('m4', 'On')).toMatchObject({ session: [...documents.keys()].at(-1) })
    },
  )

  test('gets the recorded reply of another process, whose session has ended', async () => {
    const documents = new Map<string, SessionDocument>()
    let kept: string | undefined
    const chats: ChatSessions = {
      load: async () => kept,
      save: async (_chat, session) => {
        kept = session
      },
    }
    const [one, other] = [1, 2].map(() => talking(gate(), documents, { chats })) as [
      ReturnType<typeof start>,
      ReturnType<typeof start>,
    ]
    await new Page(one.send).say('m1', 'Hello')
    await new Page(one.send).say('m2', 'bye')
    await new Page(other.send).say('m3', 'New')
    expect(await new Page(other.send).say('m2', 'bye')).toMatchObject({ sessionState: 'completed' })
    expect(saidIn(documents)).toEqual([['Hello', 'bye'], ['New']])
  })

  test('gets the recorded failure of the message that aborted it', async () => {
    const documents = new Map<string, SessionDocument>()
    const flow = onlyFlowOf('Test', ({ message: text }) => {
      if (text === 'break') throw new Error('It broke.')
      return reply('Seen.')
    })
    const { send, turns } = start({ engine: { flows: [flow], onTurnError: 'abort' }, documents })
    await new Page(send).say('m1', 'break')
    const page = new Page(send)
    await page.say('m2', 'Hello')
    const again = await chunksOf(await new Page(send).post('m1', 'break'))
    expect(again.filter(({ type }) => type === 'error')).toHaveLength(1)
    expect([turns(), [...documents.values()].map(({ runStatus }) => runStatus)]).toEqual([2, ['aborted', 'running']])
  })

  test('continues in the named session if no other is known', async () => {
    const documents = new Map<string, SessionDocument>()
    const page = new Page(talking(gate(), documents).send)
    await page.say('m1', 'bye')
    const other = new Page(talking(gate(), documents).send, page.messages)
    expect(await other.say('m2', 'New')).toMatchObject({ restarted: 'completed' })
  })
})

describe('a page that names a session that goes on', () => {
  test('stays in it if the memory of the process has an older one', async () => {
    const documents = new Map<string, SessionDocument>()
    const [first, second] = [talking(gate(), documents), talking(gate(), documents)]
    const page = new Page(first.send)
    await page.say('m1', 'bye')
    const there = new Page(second.send, page.messages)
    await there.say('m2', 'New')
    const back = new Page(first.send, there.messages)
    await back.say('m3', 'On')
    expect(saidIn(documents)).toEqual([['bye'], ['New', 'On']])
  })

  test('stays in it even if the chat has another one that goes on', async () => {
    const documents = new Map<string, SessionDocument>()
    const [first, second] = [talking(gate(), documents), talking(gate(), documents)]
    const page = new Page(first.send)
    const there = new Page(second.send)
    await page.say('m1', 'Here')
    await there.say('m2', 'There')
    await new Page(first.send, there.messages).say('m3', 'There again')
    await page.say('m4', 'Here again')
    expect(saidIn(documents)).toEqual([
      ['Here', 'Here again'],
      ['There', 'There again'],
    ])
  })

  test('makes a process that did not know it remember it', async () => {
    const documents = new Map<string, SessionDocument>()
    const page = new Page(talking(gate(), documents).send)
    await page.say('m1', 'One')
    const { send } = talking(gate(), documents)
    await new Page(send, page.messages).say('m2', 'Two')
    const shown = (await messagesOf(await send('/c1'))).filter(({ role }) => role === 'user')
    expect(shown.map(({ parts }) => parts)).toEqual([[{ type: 'text', text: 'One' }], [{ type: 'text', text: 'Two' }]])
  })

  test('does not wait for earlier turns: the option `busy` decides about messages that arrive meanwhile', async () => {
    const hold = gate()
    const { send, engine } = talking(hold)
    const page = new Page(send)
    await page.say('m1', 'Hello')
    const tabs = [1, 2, 3].map(() => new Page(send, page.messages))
    let queued = 0
    engine.on('turn:queued', () => queued++)
    const replies = await Promise.all(tabs.map((tab, index) => tab.post(`n${index}`, 'slow')))
    await vi.waitFor(() => expect(queued).toBe(2))
    hold.open()
    for (const response of replies) await textOf(response)
  })

  test('stays in it if it cannot be loaded to see whether it goes on', async () => {
    const documents = new Map<string, SessionDocument>()
    const [first, second] = [talking(gate(), documents), talking(gate(), documents)]
    const page = new Page(first.send)
    await page.say('m1', 'Here')
    await new Page(second.send).say('m2', 'There')
    vi.spyOn(second.engine, 'getSession').mockRejectedValue(new Error('The store is away.'))
    await new Page(second.send, page.messages).say('m3', 'Here again')
    expect(saidIn(documents)).toEqual([['Here', 'Here again'], ['There']])
  })

  test('is not loaded for that, if nothing else is known', async () => {
    const { send, engine } = talking()
    const loads = vi.spyOn(engine, 'getSession')
    const page = new Page(send)
    await page.say('m1', 'One')
    await page.say('m2', 'Two')
    expect(loads).not.toHaveBeenCalled()
    // The saved session is loaded, because it is claimed for the message.
    await new Page(send).say('m3', 'Three')
    expect(loads).toHaveBeenCalledOnce()
  })
})

test("a page that names another user's session continues in the session of its own chat", async () => {
  const { send, documents } = talking()
  const [ada, eve] = [new Page(send), new Page(send)]
  await eve.say('m1', 'Mine', 'eve')
  await ada.say('m1', 'My secret')
  const stolen = new Page(send, ada.messages)
  await stolen.say('m2', 'What was it?', 'eve')
  expect([...documents.values()].map(({ owner }) => owner)).toEqual(['eve', 'ada'])
  expect(saidIn(documents)).toEqual([['Mine', 'What was it?'], ['My secret']])
})

test('a reply waits at most five seconds for `chats` to save its session', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  const errors: unknown[] = []
  const isSaving = gate()
  const chats: ChatSessions = {
    load: async () => undefined,
    save() {
      isSaving.open()
      return never()
    },
  }
  const { say, send } = start({ options: { chats, onError: (error) => errors.push(error) } })
  const text = textOf(await say('m1', 'Hello'))
  await isSaving.opened
  await vi.advanceTimersByTimeAsync(4_999)
  expect([errors, (await send('/c1/stream')).status]).toEqual([[], 200])
  await vi.advanceTimersByTimeAsync(1)
  expect(await text).toBe('You said: Hello')
  expect(errors).toEqual([new Error('chats.save has not settled within 5000 ms. The reply does not wait for it.')])
  expect((await send('/c1/stream')).status).toBe(204)
})

test('a message waits at most five seconds for `chats` to load its session, and runs nothing without it', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  const errors: unknown[] = []
  const isLoading = gate()
  const chats: ChatSessions = {
    load() {
      isLoading.open()
      return never()
    },
    save: async () => {},
  }
  const { say, send, turns } = start({ options: { chats, onError: (error) => errors.push(error) } })
  const response = say('m1', 'Hello')
  await isLoading.opened
  await vi.advanceTimersByTimeAsync(5_000)
  expect([(await response).status, turns()]).toEqual([500, 0])
  expect(errors).toEqual([new Error('chats.load has not settled within 5000 ms. Nothing was run.')])
  expect((await send('/c1/stream')).status).toBe(204)
})

test.each<[unknown, string]>([
  [42, 'a value of the type number'],
  [{ session: 's1' }, 'a value of the type object'],
  ['has space', 'a text that is not a session ID'],
])('`chats` loads %j, which is not a session ID: no turn runs', async (loaded, got) => {
  const errors: unknown[] = []
  const { say, turns } = start({
    options: {
      chats: { load: async () => loaded as string, save: async () => {} },
      onError: (error) => errors.push(error),
    },
  })
  const response = await say('m1', 'Hello')
  expect([response.status, await response.text(), turns()]).toEqual([500, 'The request could not be handled.', 0])
  expect(errors).toEqual([
    new TypeError(`chats.load must return the ID that was saved, or undefined if there is none; got ${got}.`),
  ])
})

describe('a message that is sent again', () => {
  test('gets the recorded reply, in another process too, and runs nothing', async () => {
    const documents = new Map<string, SessionDocument>()
    const chats = { load: async () => [...documents.keys()][0], save: async () => {} }
    await textOf(await start({ documents, options: { chats } }).say('m1', 'Hello'))
    const other = start({ documents, options: { chats } })
    expect(await textOf(await other.say('m1', 'Hello', { trigger: 'regenerate-message' }))).toBe('You said: Hello')
    expect([...documents.values()].map(({ history }) => history.length)).toEqual([1])
  })

  test('with another text is refused', async () => {
    const { say, documents } = start()
    await textOf(await say('m1', 'Hello'))
    const errorText = 'This message was answered before. It cannot be changed or answered again.'
    expect((await chunksOf(await say('m1', 'Other'))).at(-1)).toEqual({ type: 'error', errorText })
    expect([...documents.values()].map(({ history }) => history.length)).toEqual([1])
  })

  test("with another text is refused with the application's own text, if it has one", async () => {
    const { say } = start({ engine: { flows: [onlyFlowOf('Test')], errorText: ({ code }) => `Fehler: ${code}` } })
    await textOf(await say('m1', 'Hello'))
    const last = (await chunksOf(await say('m1', 'Other'))).at(-1)
    expect(last).toEqual({ type: 'error', errorText: 'Fehler: IDEMPOTENCY_MISMATCH' })
  })

  test('while its turn runs reads that turn from the beginning', async () => {
    const hold = gate()
    const { say, turns } = playing(async function* () {
      yield delta('Wel')
      await hold.opened
      yield* pieces(delta('come.'), finish('Welcome.'))
    })
    const first = await say('m1', 'Hello')
    const second = await say('m1', 'Hello')
    hold.open()
    expect([await textOf(first), await textOf(second), turns()]).toEqual(['Welcome.', 'Welcome.', 1])
  })

  test('from the transcript is answered from the history', async () => {
    const { say, send, turns } = start()
    await textOf(await say('m1', 'Hello'))
    const [stored] = await messagesOf(await send('/c1'))
    const again = { id: 'c1', messages: [stored], trigger: 'regenerate-message' }
    expect(await textOf(await send('', again))).toBe('You said: Hello')
    const changed = { ...stored, parts: [{ type: 'text', text: 'Other' }] }
    expect((await send('', { id: 'c1', messages: [changed] })).status).toBe(409)
    expect(turns()).toBe(1)
  })
})

test('a photo of the transcript cannot be replaced, removed or added', async () => {
  const documents = new Map<string, SessionDocument>()
  const { say, send } = playing(() => pieces(delta('A fern.'), finish('A fern.')), documents)
  const photo = (data: string): object => ({
    type: 'file',
    mediaType: 'image/png',
    url: `data:image/png;base64,${data}`,
  })
  const first = { id: 'm1', role: 'user', parts: [photo('iVBORw0KGgo='), { type: 'text', text: 'What is it?' }] }
  await textOf(await say('', '', { messages: [first] }))
  await textOf(await say('m2', 'Thanks'))
  const [stored, , other] = await messagesOf(await send('/c1'))
  const statusOf = async (sent: object | undefined, parts: readonly unknown[] | undefined): Promise<number> =>
    (await send('', { id: 'c1', messages: [{ ...sent, parts }] })).status
  expect(stored?.parts).toEqual(first.parts)
  expect(await statusOf(stored, stored?.parts)).toBe(200)
  expect(await statusOf(stored, [photo('AAEC'), ...first.parts.slice(1)])).toBe(409)
  expect(await statusOf(stored, first.parts.slice(1))).toBe(409)
  expect(await statusOf(other, other?.parts)).toBe(200)
  expect(await statusOf(other, [photo('AAEC'), { type: 'text', text: 'Thanks' }])).toBe(409)
})

describe('a running turn', () => {
  /** A page that has left in the middle of a reply. */
  async function leftAlone() {
    const hold = gate()
    const setUp = playing(async function* ({ signal }) {
      yield delta('Wel')
      await Promise.race([hold.opened, new Promise((resolve) => signal.addEventListener('abort', resolve))])
      signal.throwIfAborted()
      yield* pieces(delta('come.'), finish('Welcome.'))
    })
    const reader = (await setUp.say('m1', 'Hello')).body?.getReader()
    for (let text = ''; !text.includes('Wel'); ) text += new TextDecoder().decode((await reader?.read())?.value)
    await reader?.cancel()
    return { ...setUp, hold }
  }

  test('goes on without its page, and a page that comes back reads it whole', async () => {
    const { send, hold, turns } = await leftAlone()
    const stream = await send('/c1/stream')
    expect(stream.status).toBe(200)
    hold.open()
    const chunks = await chunksOf(stream)
    expect(chunks.slice(0, 2)).toEqual([
      { type: 'start', messageId: 'm1-reply' },
      { type: 'data-reset', data: { reason: 'resume' } },
    ])
    expect(chunks.filter(({ type }) => type === 'text-delta').map(({ delta }) => delta)).toEqual(['Wel', 'come.'])
    expect([(await send('/c1/stream')).status, turns()]).toEqual([204, 1])
  })

  test('cannot be read or stopped by another owner', async () => {
    const { send, hold, engine } = await leftAlone()
    const ended = new Promise((resolve) => engine.on('turn:end', resolve))
    expect((await send('/c1/stream', undefined, 'eve')).status).toBe(204)
    expect(await (await send('/c1/stop', '', 'eve')).json()).toEqual({ stopped: false })
    hold.open()
    await ended
  })

  test('shows its message in the transcript before it is stored', async () => {
    const { send, hold } = await leftAlone()
    expect(await messagesOf(await send('/c1'))).toEqual([message('m1', 'Hello')])
    hold.open()
    await (await send('/c1/stream')).text()
    expect((await messagesOf(await send('/c1'))).map(({ role }) => role)).toEqual(['user', 'assistant'])
  })

  test('is shown once in the transcript while its session is being saved', async () => {
    const hold = gate()
    const saving = gate()
    const kept = new Map<string, string>()
    const chats: ChatSessions = {
      load: async ({ id }) => kept.get(id),
      async save({ id }, session) {
        kept.set(id, session)
        saving.open()
        await hold.opened
      },
    }
    const { say, send } = start({ options: { chats } })
    const reply = await say('m1', 'Hello')
    await saving.opened
    expect((await messagesOf(await send('/c1'))).map(({ role }) => role)).toEqual(['user', 'assistant'])
    hold.open()
    await textOf(reply)
  })

  test('is shown before the message that waits for it', async () => {
    const hold = gate()
    const { send } = talking(hold)
    const page = new Page(send)
    await page.say('m1', 'Hello')
    const replies = [await page.post('m2', 'slow'), await page.post('m3', 'Me too')]
    const shown = await messagesOf(await send('/c1'))
    expect(shown.slice(2).map(({ id }) => id)).toEqual(['m2', 'm3'])
    hold.open()
    for (const response of replies) await textOf(response)
  })

  test('is stopped by a request, stores nothing, and may be sent again', async () => {
    const { send, say, documents, hold } = await leftAlone()
    const stream = await send('/c1/stream')
    expect(await (await send('/c1/stop', '')).json()).toEqual({ stopped: true })
    expect((await chunksOf(stream)).at(-1)).toEqual({ type: 'abort' })
    expect(documents.size).toBe(0)
    expect(await (await send('/c1/stop', '')).json()).toEqual({ stopped: false })
    hold.open()
    expect(await textOf(await say('m1', 'Hello'))).toBe('Welcome.')
  })

  test('makes the next message of a chat without a session wait for its session', async () => {
    const { say, hold, documents, engine } = await leftAlone()
    const arrived = new Promise((resolve) => engine.on('turn:queued', resolve).on('turn:start', resolve))
    const second = say('m2', 'Me too')
    await arrived
    hold.open()
    await textOf(await second)
    expect([...documents.values()].map(({ history }) => history.length)).toEqual([2])
  })

  test('makes the next message wait for its session even if `chats` reads before its end and answers after it', async () => {
    const table = new Map<string, string>()
    const [hold, isAsked, answers] = [gate(), gate(), gate()]
    let loads = 0
    const chats: ChatSessions = {
      async load({ id }) {
        const found = table.get(id)
        if (++loads === 2) {
          isAsked.open()
          await answers.opened
        }
        return found
      },
      save: async ({ id }, session) => void table.set(id, session),
    }
    const flow = onlyFlowOf('Test', async ({ message: text }) => {
      if (text === 'Hello') await hold.opened
      return reply('Seen.')
    })
    const { say, documents } = start({ engine: { flows: [flow] }, options: { chats } })
    const first = await say('m1', 'Hello')
    const second = say('m2', 'Me too')
    await isAsked.opened
    hold.open()
    await textOf(first)
    answers.open()
    await textOf(await second)
    expect([...documents.values()].map(({ history }) => history.length)).toEqual([2])
  })

  test('is awaited if two first messages are sent at once and `chats` is slow', async () => {
    const table = new Map<string, string>()
    const answers = gate()
    let loads = 0
    const chats: ChatSessions = {
      async load({ id }) {
        const found = table.get(id)
        if (++loads === 2) answers.open()
        await answers.opened
        return found
      },
      save: async ({ id }, session) => void table.set(id, session),
    }
    const { say, documents } = start({ options: { chats } })
    const both = Promise.all([say('m1', 'Hello'), say('m2', 'Me too')])
    for (const response of await both) await textOf(response)
    expect([...documents.values()].map(({ history }) => history.length)).toEqual([2])
  })

  test('is awaited if it begins and ends while `chats` loads for another first message', async () => {
    const table = new Map<string, string>()
    const answers = gate()
    const chats: ChatSessions = {
      async load({ id }) {
        const found = table.get(id)
        if (++loads === 2) await answers.opened
        return found
      },
      save: async ({ id }, session) => void table.set(id, session),
    }
    let loads = 0
    const { say, documents } = start({ options: { chats } })
    const [first, second] = [say('m1', 'Hello'), say('m2', 'Me too')]
    await textOf(await first)
    answers.open()
    await textOf(await second)
    expect(saidIn(documents)).toEqual([['Hello', 'Me too']])
    expect(loads).toBe(2)
  })

  test('is found by a repeat of the message while `chats` loads', async () => {
    const isAsked = gate()
    const load = vi.fn(() => isAsked.opened.then(() => undefined))
    const { say, turns } = start({ options: { chats: { load, save: async () => {} } } })
    const both = Promise.all([say('m1', 'Hello'), say('m1', 'Hello')])
    isAsked.open()
    const texts = await Promise.all((await both).map(textOf))
    expect([texts, turns(), load.mock.calls.length]).toEqual([['You said: Hello', 'You said: Hello'], 1, 1])
  })

  test('can be stopped while `chats` loads', async () => {
    const [isLoading, isAsked] = [gate(), gate()]
    const chats: ChatSessions = {
      async load() {
        isLoading.open()
        await isAsked.opened
        return undefined
      },
      save: async () => {},
    }
    const { say, send, documents } = start({ options: { chats } })
    const response = say('m1', 'Hello')
    await isLoading.opened
    const stop = send('/c1/stop', '')
    // `authorize` of the second request runs in microtasks.
    await new Promise((resolve) => setImmediate(resolve))
    isAsked.open()
    expect(await (await stop).json()).toEqual({ stopped: true })
    expect((await chunksOf(await response)).at(-1)).toEqual({ type: 'abort' })
    expect(documents.size).toBe(0)
  })

  test('is passed to waitUntil', async () => {
    const work: Promise<unknown>[] = []
    const { say } = start({ options: { waitUntil: (promise) => void work.push(promise) } })
    await textOf(await say('m1', 'Hello'))
    expect(work.length).toBeGreaterThan(0)
    await Promise.all(work)
  })

  test.each<[string, () => unknown]>([
    [
      'throws',
      () => {
        throw new Error('The runtime has gone.')
      },
    ],
    ['rejects', () => Promise.reject(new Error('The runtime has gone.'))],
  ])('is answered although waitUntil %s, and `onError` gets that', async (_what, waitUntil) => {
    const [errors, ofEngine]: [unknown[], unknown[]] = [[], []]
    const { say } = start({
      engine: { flows: [onlyFlowOf('Test')], onListenerError: (error) => ofEngine.push(error) },
      options: { waitUntil: waitUntil as () => void, onError: (error) => errors.push(error) },
    })
    expect(await textOf(await say('m1', 'Hello'))).toBe('You said: Hello')
    expect(errors).toEqual([new Error('The runtime has gone.')])
    expect(ofEngine.length).toBe(1)
  })
})

describe('a photo', () => {
  test('of a turn without a model is in the transcript', async () => {
    const { say, send } = start({ engine: { flows: [onlyFlowOf('Test', () => reply('Seen.'))] } })
    const part = { type: 'file', mediaType: 'image/png', url: 'data:image/png;base64,iVBORw0KGgo=' }
    await textOf(await say('', '', { messages: [{ id: 'm1', role: 'user', parts: [part] }] }))
    expect((await messagesOf(await send('/c1'))).map(({ parts }) => parts)).toEqual([
      [part],
      [{ type: 'text', text: 'Seen.' }],
    ])
  })

  test('reaches the flow, and invalid bytes do not', async () => {
    const seen: unknown[] = []
    const flows = [
      onlyFlowOf('Test', ({ attachments, message: text }) => {
        seen.push([attachments, text])
        return reply('Seen.')
      }),
    ]
    const { say } = start({ engine: { flows } })
    const withFile = (url: string): object => ({
      messages: [{ id: 'm1', role: 'user', parts: [{ type: 'file', mediaType: 'image/png', url, filename: 'a.png' }] }],
    })
    await textOf(await say('', '', withFile('data:image/png;base64,iVBORw0KGgo=')))
    expect(seen).toEqual([[[{ type: 'image', mediaType: 'image/png', data: 'iVBORw0KGgo=' }], '']])
    for (const url of ['data:image/png,plain', 'data:image/png;base64,%%%']) {
      expect((await say('', '', withFile(url))).status).toBe(400)
    }
  })

  test('by its address is refused, and so is a page as a file', async () => {
    const { say, turns } = start()
    const withFile = (mediaType: string, url: string): object => ({
      messages: [{ id: 'm1', role: 'user', parts: [{ type: 'file', mediaType, url }] }],
    })
    const byAddress = await say('', '', withFile('image/png', 'http://169.254.169.254/'))
    expect([byAddress.status, await byAddress.text()]).toEqual([
      400,
      'An attachment must be sent as bytes in base64, not as an address.',
    ])
    const page = await say('', '', withFile('text/html', 'data:text/html;base64,PGI+'))
    expect([page.status, await page.text()]).toEqual([400, 'Files of this type cannot be sent here.'])
    expect(turns()).toBe(0)
  })
})

describe('a large request', () => {
  test('with too many values is refused before it is parsed', async () => {
    const { send } = start({ options: { maxJsonValues: 20 } })
    const parse = vi.spyOn(JSON, 'parse')
    try {
      const response = await send('', `{"id":"c1","ignored":[${'0,'.repeat(20)}0`)
      expect([response.status, await response.text()]).toEqual([
        422,
        'The request body has more than 20 values (maxJsonValues).',
      ])
      expect(parse).not.toHaveBeenCalled()
    } finally {
      parse.mockRestore()
    }
  })

  test.each([
    ['maxConfigBytes', { config: { notes: 'x'.repeat(70_000) } }],
    ['maxAttachmentBytes', { messages: [photo('A'.repeat(1_200_000))] }],
  ])('over %s is refused before any of it is written as JSON', async (limit, more) => {
    const { send, turns } = start()
    const sent = JSON.stringify({ id: 'c1', messages: [message('m1', 'x')], ...more })
    const stringify = vi.spyOn(JSON, 'stringify')
    try {
      expect(await (await send('', sent)).text()).toContain(limit)
      const lengths = stringify.mock.results.map(({ value }) => String(value).length)
      expect(Math.max(...lengths)).toBeLessThan(10_000)
    } finally {
      stringify.mockRestore()
    }
    expect(turns()).toBe(0)
  })
})

describe('a refused request', () => {
  test.each<[string, unknown]>([
    ['not JSON', '{'],
    ['a list', []],
    ['no chat', { messages: [message('m', 'x')] }],
    ['no messages', { id: 'c1' }],
    ["the last message is not the user's", { id: 'c1', messages: [{ id: 'a', role: 'assistant', parts: [] }] }],
    ['a message without an ID', { id: 'c1', messages: [{ role: 'user', parts: [{ type: 'text', text: 'x' }] }] }],
    ['a message of nothing', { id: 'c1', messages: [{ id: 'a', role: 'user', parts: [{ type: 'data-x' }] }] }],
    ['a config that is not an object', { id: 'c1', messages: [message('m', 'x')], config: 1 }],
    ['a file without a type', { id: 'c1', messages: [{ id: 'a', role: 'user', parts: [{ type: 'file', url: 'x' }] }] }],
  ])('%s: 400 and a sentence, and nothing runs', async (_name, body) => {
    const { send, turns } = start()
    const response = await send('', body)
    expect([response.status, turns()]).toEqual([400, 0])
    expect(await response.text()).toMatch(/^The .*\.$|^A .*\.$/)
  })

  test('an anonymous caller gets the Response of authorize, before anything is read', async () => {
    const { send, engine } = start()
    const refusals: unknown[] = []
    engine.on('auth:refused', ({ route, reason }) => refusals.push([route, reason]))
    for (const path of ['/c1', '/c1/stream']) {
      const response = await send(path, undefined, '')
      expect([response.status, await response.text()]).toEqual([401, 'Sign in first.'])
    }
    expect((await send('', {}, '')).status).toBe(401)
    expect(refusals).toEqual([
      ['session', 'response'],
      ['run', 'response'],
      ['run', 'response'],
    ])
  })

  test('a Response of authorize that cannot be sent is an error of authorize', async () => {
    const errors: unknown[] = []
    const { say, engine } = start({
      options: { authorize: () => Response.error(), onError: (error) => errors.push(error) },
    })
    const refusals: unknown[] = []
    engine.on('auth:refused', ({ route, reason }) => refusals.push([route, reason]))
    const response = await say('m1', 'x')
    expect([response.status, await response.text()]).toEqual([500, 'The request could not be authorized.'])
    expect([errors.length, refusals]).toEqual([1, [['run', 'error']]])
  })

  test('an invalid context of authorize: `onError` gets the reason, and the page a fixed sentence', async () => {
    const errors: unknown[] = []
    const { say, turns } = start({
      options: {
        authorize: () => ({ principal: 'ada', context: { user: new Date() as never } }),
        onError: (error) => errors.push(error),
      },
    })
    const chunks = await chunksOf(await say('m1', 'x'))
    expect(chunks.slice(1)).toEqual([{ type: 'error', errorText: 'The request could not be handled.' }])
    expect(turns()).toBe(0)
    expect(errors.map(String)).toEqual([
      'TypeError: authorize returned an invalid context. context.user is an instance of Date, which JSON cannot carry: use date.toISOString().',
    ])
  })

  test.each<[string, (engine: FlowEngine) => ChatEngine, number]>([
    ['maxJsonDepth of the engine', (engine) => engine, 8],
    ['the default where an object in front of the engine has no limits', frontOf, 64],
  ])('a body that is nested too deep: %s', async (_name, served, depth) => {
    const engine = new FlowEngine({ flows: [onlyFlowOf('Test')], limits: { maxJsonDepth: 8 } })
    cleanUps.push(() => engine.close())
    const handler = createUiMessageHandler(served(engine), { flow: 'Test', authorize: () => ({ principal: 'ada' }) })
    const config = `${'{"a":'.repeat(10_000)}1${'}'.repeat(10_000)}`
    const body = `{"id":"c1","messages":[${JSON.stringify(message('m1', 'x'))}],"config":${config}}`
    const response = await handler(new Request('https://shop.example/api/chat', { method: 'POST', body }))
    expect([response.status, await response.text()]).toEqual([
      422,
      `The request body is nested deeper than ${depth} levels (maxJsonDepth).`,
    ])
  })

  test('a caller without a principal', async () => {
    const errors: unknown[] = []
    const { say } = start({ options: { authorize: () => ({}), onError: (error) => errors.push(error) } })
    expect((await say('m1', 'x')).status).toBe(500)
    expect(errors.map(String)).toEqual([
      'TypeError: authorize returned no principal. A chat belongs to a principal, so each caller needs one, guests too. To refuse a caller, return a Response.',
    ])
  })

  test.each([
    ['/c1/other', 404],
    ['/c1/stream/more', 404],
    ['/%E0%A4%A', 404],
    ['x', 404],
    ['', 405],
    ['/c1/stop', 405],
  ])('GET %s: %d', async (path, status) => {
    expect((await start().send(path)).status).toBe(status)
  })

  test('a form of a foreign site', async () => {
    const headers = { Origin: 'https://evil.example', 'Content-Type': 'text/plain' }
    const { send } = start()
    expect((await send('', { id: 'c1', messages: [message('m', 'x')] }, 'ada', headers)).status).toBe(415)
    expect((await send('/c1/stop', '', 'ada', headers)).status).toBe(415)
  })

  test('a body that is too large', async () => {
    const { say } = start({ options: { maxBodyBytes: 10 } })
    expect((await say('m1', 'x')).status).toBe(413)
  })
})

test('pages of other origins may call if `cors` allows them', async () => {
  const { handler } = start({ options: { cors: { origin: 'https://a.example' } } })
  const request = new Request('https://shop.example/api/chat/c1/stop', {
    method: 'OPTIONS',
    headers: { Origin: 'https://a.example' },
  })
  const response = await handler(request)
  expect([response.status, response.headers.get('Access-Control-Allow-Methods')]).toEqual([204, 'POST'])
})

test('a value that is not an engine is refused, and a promise of one with a hint', () => {
  const options: UiMessageOptions = { flow: 'Test', authorize: () => ({ principal: 'ada' }) }
  expect(() => createUiMessageHandler(FlowEngine.create() as never, options)).toThrow(
    'createUiMessageHandler: the first argument must be a FlowEngine; got a promise: await FlowEngine.create().',
  )
  expect(() => createUiMessageHandler(undefined as never, options)).toThrow(
    'createUiMessageHandler: the first argument must be a FlowEngine.',
  )
})

describe('the flow', () => {
  const authorize = () => ({ principal: 'ada' })
  const make = (engine: ChatEngine, flow: string) => () => createUiMessageHandler(engine, { flow, authorize })
  function engineOf(...flows: readonly FlowConstructor[]): FlowEngine {
    const engine = new FlowEngine({ flows })
    cleanUps.push(() => engine.close())
    return engine
  }

  test('must be registered when the handler is made', () => {
    expect(make(engineOf(onlyFlowOf('Test'), onlyFlowOf('Desk')), 'Tset')).toThrow(
      "createUiMessageHandler: the flow 'Tset' is not registered. The registered flows are Test, Desk. Did you mean 'Test'?",
    )
    expect(make(engineOf(), 'Test')).toThrow(
      "createUiMessageHandler: the flow 'Test' is not registered. The engine has no flows: register them before this call.",
    )
  })

  test('may be named by a former name, and is not checked if an engine wrapper cannot tell', () => {
    const renamed = Object.assign(onlyFlowOf('Test'), { aliases: ['Former'] })
    expect(make(engineOf(renamed), 'Former')).not.toThrow()
    expect(make(frontOf(engineOf()), 'Test')).not.toThrow()
  })
})

test.each<[string, object]>([
  ['createUiMessageHandler: flow must be the name of a flow.', { flow: '' }],
  ['createUiMessageHandler: authorize is required, because a chat belongs to a principal.', { authorize: undefined }],
  ['createUiMessageHandler: chats must have the method save.', { chats: { load: () => {} } }],
  ["createUiMessageHandler: api must be a path such as '/api/chat', with no slash at its end.", { api: '/' }],
  ['createUiMessageHandler: streamDetails must be true or false.', { streamDetails: 1 }],
  ['createUiMessageHandler: waitUntil must be a function.', { waitUntil: 1 }],
])('%s', (sentence, options) => {
  expect(() => start({ options })).toThrow(sentence)
})
