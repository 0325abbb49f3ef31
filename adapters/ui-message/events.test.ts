// What a page of the AI SDK sees of a chat that waits, and of one that has ended.
import { afterEach, describe, expect, test } from 'vitest'
import { FlowEngine, type FlowEngineOptions, MemorySessionStore, type SessionDocument } from '../../src/index.js'
import { Claims } from '../../testing/contract/waiting-flow.js'
import { createUiMessageHandler, type FlowMessage, type FlowMessageMetadata, type UiMessageOptions } from './index.js'

const cleanUps: (() => Promise<void>)[] = []

afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0)) await cleanUp()
})

type Chunk = { readonly type: string; readonly errorText?: string; readonly messageMetadata?: FlowMessageMetadata }

/** A process with the chat of one user, and a page, which brings the session of its newest reply. */
function start(options: Partial<UiMessageOptions> = {}, more: FlowEngineOptions = {}) {
  const documents = new Map<string, SessionDocument>()
  const sessionStore = new MemorySessionStore({ backing: documents })
  const engine = new FlowEngine({ flows: [Claims], sessionStore, ...more })
  cleanUps.push(() => engine.close())
  const handler = createUiMessageHandler(engine, {
    flow: 'Claims',
    authorize: () => ({ principal: 'ada' }),
    ...options,
  })
  const get = async (path: string): Promise<Response> => handler(new Request(`https://shop.example/api/chat${path}`))
  const post = (body: object): Promise<Response> =>
    handler(new Request('https://shop.example/api/chat', { method: 'POST', body: JSON.stringify(body) }))
  const messages: object[] = []
  async function ask(body: object): Promise<Chunk[]> {
    const text = await (await post({ id: 'c1', messages, ...body })).text()
    const lines = text.split('\n\n').filter((line) => line.startsWith('data: {'))
    return lines.map((line) => JSON.parse(line.slice(6)))
  }
  /** The text or the error of a reply, and whether the session goes on. */
  function outcomeOf(chunks: readonly Chunk[]): unknown[] {
    const metadata = chunks.findLast(({ messageMetadata }) => messageMetadata)?.messageMetadata
    if (metadata !== undefined) messages.push({ id: 'r', role: 'assistant', parts: [], metadata })
    const { errorText } = chunks.at(-1) ?? {}
    return errorText === undefined ? [metadata?.sessionState] : [metadata?.sessionState, metadata?.code, errorText]
  }
  async function say(id: string, text: string, body: object = {}): Promise<unknown[]> {
    messages.push({ id, role: 'user', parts: [{ type: 'text', text }] })
    return outcomeOf(await ask(body))
  }
  const send = (event: object): Promise<Chunk[]> => ask({ event })
  /** An event of the application, to the newest session. */
  async function tell(event: string, by?: string): Promise<void> {
    const sessionId = [...documents.keys()].at(-1) ?? ''
    const { error } = await engine.sendEvent({ sessionId, event, byId: 'emp-17', ...(by === undefined ? {} : { by }) })
    expect(error).toBeUndefined()
  }
  const shown = async (path = '/c1'): Promise<{ messages: FlowMessage[]; sessionState?: string; complete?: boolean }> =>
    (await get(path)).json() as never
  const texts = async (): Promise<unknown[]> =>
    (await shown()).messages.map(({ parts: [part] }) => (part?.type === 'text' ? part.text : undefined))
  return { engine, documents, messages, get, post, say, send, tell, shown, texts }
}

const ended = 'This conversation has ended. Begin a new one to go on.'

describe('a chat that has ended', () => {
  test('refuses a message, and its transcript still shows everything', async () => {
    const { say, texts, documents } = start()
    await say('m1', 'Hello')
    await say('m2', 'bye')
    const before = JSON.stringify([...documents])
    expect(await say('m3', 'thanks!')).toEqual(['completed', 'SESSION_ENDED', ended])
    expect(await texts()).toEqual(['Hello', 'You said: Hello', 'bye', 'Bye.'])
    expect(JSON.stringify([...documents])).toBe(before)
  })

  test('refuses a message of a page that names no session', async () => {
    const { say, messages } = start()
    await say('m1', 'bye')
    messages.length = 0
    expect(await say('m2', 'thanks!')).toEqual(['completed', 'SESSION_ENDED', ended])
    // The same message, as `regenerate({ body: { newSession: true } })` sends it again.
    messages.pop()
    messages.length = 0
    expect(await say('m2', 'thanks!', { newSession: true })).toEqual(['running'])
  })

  test('refuses a message with the sentence of the application', async () => {
    const errorText = ({ code }: { code: string }): string => `Sorry: ${code}`
    const { say } = start({}, { errorText })
    await say('m1', 'bye')
    expect(await say('m2', 'thanks!')).toEqual(['completed', 'SESSION_ENDED', 'Sorry: SESSION_ENDED'])
  })

  test('refuses a message that waits behind the one that ends it', async () => {
    const { say, documents } = start()
    await say('m1', 'Hello')
    const both = await Promise.all([say('m2', 'bye'), say('m3', 'thanks!')])
    expect(both).toEqual([['completed'], ['completed', 'SESSION_ENDED', ended]])
    expect(documents.size).toBe(1)
  })

  test('gets a new session if the message asks for it, once', async () => {
    const { say, texts, documents, messages } = start()
    await say('m1', 'bye')
    const page = [...messages]
    expect(await say('m2', 'Hello', { newSession: true })).toEqual(['running'])
    messages.splice(0, messages.length, ...page)
    await say('m2', 'Hello', { newSession: true })
    expect(await say('m3', 'Again')).toEqual(['running'])
    expect(await texts()).toEqual(['Hello', 'You said: Hello', 'Again', 'You said: Again'])
    expect(documents.size).toBe(2)
  })

  test("gets a new session with each message under `whenEnded: 'new'`", async () => {
    const { say, documents } = start({ whenEnded: 'new' })
    await say('m1', 'bye')
    expect(await say('m2', 'Hello')).toEqual(['running'])
    expect(documents.size).toBe(2)
  })

  test('gets a new session after an abort', async () => {
    const { say, documents } = start({}, { onTurnError: 'abort' })
    await say('m1', 'break')
    expect(await say('m2', 'Hello')).toEqual(['running'])
    expect(documents.size).toBe(2)
  })
})

test('messages after one that asks for a new session are in it, although the former goes on', async () => {
  const { say, documents, messages } = start()
  await say('m1', 'One')
  const page = [...messages]
  const first = say('m2', 'Two', { newSession: true })
  messages.splice(0, messages.length, ...page)
  const second = say('m3', 'Three')
  messages.splice(0, messages.length, ...page)
  await Promise.all([first, second, say('m4', 'Four')])
  expect([...documents.values()].map(({ history }) => history.map(({ message }) => message))).toEqual([
    ['One'],
    ['Two', 'Three', 'Four'],
  ])
})

describe('an event', () => {
  test('of a server has no empty bubble, and its reply names who spoke, but not their ID', async () => {
    const { say, tell, texts, shown, documents } = start()
    await say('m1', 'Hello')
    await tell('note', 'Bob')
    await tell('decision', 'Ada Meier')
    await tell('decision')
    await say('m2', 'quiet')
    expect(await texts()).toEqual([
      'Hello',
      'You said: Hello',
      'Decided by Ada Meier.',
      'Decided by undefined.',
      'quiet',
    ])
    const all = (await shown()).messages
    const [session] = documents.keys()
    expect(all.map(({ metadata }) => metadata)).toEqual(
      [
        { turn: 1 },
        { turn: 1 },
        { turn: 3, event: 'decision', by: 'Ada Meier' },
        { turn: 4, event: 'decision' },
        { turn: 5 },
      ].map((metadata) => ({ session, sessionState: 'running', ...metadata })),
    )
    expect(JSON.stringify(all)).not.toContain('emp-17')
  })

  test('of the user comes in place of a message, and may be sent again', async () => {
    const { say, send, texts } = start()
    await say('m1', 'Hello')
    const form = { id: 'e1', name: 'size', payload: { size: 7 } }
    const first = await send(form)
    expect(first).toContainEqual(expect.objectContaining({ type: 'text-delta', delta: 'Size 7.' }))
    expect(await send(form)).toEqual(first)
    await send({ name: 'size', payload: { size: 8 } })
    await send({ name: 'size', payload: { size: 8 } })
    expect(await texts()).toEqual(['Hello', 'You said: Hello', 'Size 7.', 'Size 8.', 'Size 8.'])
  })

  test('of the user never begins a session, and reaches no event of a server', async () => {
    const { say, send, documents } = start()
    expect((await send({ name: 'size', payload: { size: 7 } })).at(-1)?.type).toBe('error')
    expect(documents.size).toBe(0)
    await say('m1', 'Hello')
    const refused = await send({ name: 'decision' })
    expect(refused.at(-2)?.messageMetadata).toMatchObject({ sessionState: 'running', code: 'EVENT_NOT_TAKEN' })
  })

  test.each<[object, string]>([
    [{ event: 'size' }, "The field 'event' must be an object with a name."],
    [{ event: { name: 'size', id: '' } }, 'The ID of the event must have 1 to 256 characters.'],
    [
      { event: { name: 'size' }, newSession: true },
      "The field 'newSession' cannot come with an event, which never begins a session.",
    ],
    [{ newSession: 'yes' }, "The field 'newSession' must be true or false."],
  ])('%j is refused', async (body, text) => {
    const response = await start().post({ id: 'c1', ...body })
    expect([response.status, await response.text()]).toEqual([400, text])
  })

  test('has a reply that cannot be given again', async () => {
    const { say, tell, post, shown } = start()
    await say('m1', 'quiet')
    await tell('decision', 'Bob')
    await tell('decision', 'Bob')
    const { messages } = await shown()
    const again = async (sent: readonly FlowMessage[]): Promise<unknown[]> => {
      const response = await post({ id: 'c1', messages: sent, trigger: 'regenerate-message' })
      return [response.status, await response.text()]
    }
    const refused = [409, 'You asked for no answer here, so there is none to give again.']
    // The AI SDK sends the messages before the one that is to be given again.
    expect(await again(messages.slice(0, 2))).toEqual(refused)
    expect(await again(messages.slice(0, 1))).toEqual(refused)
  })
})

describe('`?after=`', () => {
  test('returns what is newer than a turn', async () => {
    const { say, tell, shown } = start()
    await say('m1', 'Hello')
    expect(await shown('/c1?after=1')).toEqual({ messages: [], sessionState: 'running', complete: true })
    await tell('decision', 'Bob')
    await tell('close')
    const { messages, ...rest } = await shown('/c1?after=1')
    expect(messages.map(({ role, parts, metadata }) => [role, parts, metadata?.by])).toEqual([
      ['assistant', [{ type: 'text', text: 'Decided by Bob.' }], 'Bob'],
      ['assistant', [{ type: 'text', text: 'Closed.' }], undefined],
    ])
    expect(rest).toEqual({ sessionState: 'completed', complete: true })
    expect((await shown('/c1?after=0')).messages).toEqual((await shown()).messages)
  })

  test('says if a page must load everything, because older turns are missing or the number is unknown', async () => {
    const { say, shown } = start({}, { limits: { maxHistoryTurns: 2 } })
    for (const id of ['m1', 'm2', 'm3', 'm4']) await say(id, id)
    const complete = []
    for (const after of [0, 1, 2, 3, 4, 5]) complete.push((await shown(`/c1?after=${after}`)).complete)
    expect(complete).toEqual([false, false, true, true, true, false])
    expect(await shown('/other?after=3')).toEqual({ messages: [], sessionState: 'none', complete: false })
    expect(await shown('/other?after=0')).toEqual({ messages: [], sessionState: 'none', complete: true })
  })

  test.each(['', '-1', '1.5', 'x', '1e3'])('%j is refused', async (after) => {
    const response = await start().get(`/c1?after=${after}`)
    expect([response.status, await response.text()]).toEqual([
      400,
      "The parameter 'after' must be the number of a turn.",
    ])
  })
})

test('a wrong `whenEnded` is refused', () => {
  expect(() => start({ whenEnded: 'never' as never })).toThrow(
    "createUiMessageHandler: whenEnded must be 'new' or 'reject'.",
  )
})
