// The client of docs/http.md, word for word: which session its next message is for, after each state and each bad day.
import { afterEach, describe, expect, test, vi } from 'vitest'
import { createFetchHandler } from '../../../adapters/fetch/index.js'
import {
  type ExecuteResult,
  LimitExceededError,
  MemorySessionStore,
  type SessionDocument,
  SessionStoreError,
} from '../../../src/index.js'
import { FakeSessionStore } from '../../index.js'
import { Chat } from './documented-chat.js'
import { createFakeEngine, resultOf } from './fake-engine.js'
import { createEngine } from './serve.js'

afterEach(() => vi.unstubAllGlobals())

/** What `fetch` asks from now on; returns the session IDs that are sent. */
function serve(answer: (request: Request) => Promise<Response>): (string | null)[] {
  const sent: (string | null)[] = []
  vi.stubGlobal('fetch', (url: string, init: RequestInit) => {
    const request = new Request(url, init)
    sent.push(request.headers.get('CHAT_SESSION_ID'))
    return answer(request)
  })
  return sent
}

const url = 'https://chat.example/ai'

/** Says something that may fail; resolves to the text or to the code of the failure. */
async function say(chat: Chat, message: string): Promise<unknown> {
  try {
    return await chat.say(message)
  } catch (error) {
    return (error as Error).cause
  }
}

describe('its next message', () => {
  const failed = { success: false, completed: true, message: 'No.' }

  test.each([
    ['running', 's1'],
    ['unknown', 's1'],
    ['completed', null],
    ['aborted', null],
    ['none', null],
  ] as const)('after a failure that leaves the session %s is for %s', async (sessionState, next) => {
    for (const session of ['s1', '']) {
      const results: ExecuteResult[] = [resultOf(), resultOf({ ...failed, session }, { sessionState }), resultOf()]
      const sent = serve(createFetchHandler(createFakeEngine({ execute: () => results.shift() ?? resultOf() })))
      const chat = new Chat(url, 'A')
      for (const message of ['a', 'b', 'c']) await say(chat, message)
      expect(sent).toEqual([null, 's1', next])
    }
  })

  test('after an answer of a proxy is for the same session', async () => {
    const handler = createFetchHandler(createFakeEngine())
    const answers = [handler, async () => new Response('<h1>502</h1>', { status: 502 }), handler]
    const sent = serve(async (request) => (answers.shift() ?? handler)(request))
    const chat = new Chat(url, 'A')
    for (const message of ['a', 'b', 'c']) await say(chat, message)
    expect(sent).toEqual([null, 's1', 's1'])
  })

  test('after startAgain is for a new one', async () => {
    const sent = serve(createFetchHandler(createFakeEngine()))
    const chat = new Chat(url, 'A')
    await say(chat, 'a')
    chat.startAgain()
    await say(chat, 'b')
    expect(sent).toEqual([null, null])
  })
})

describe('what it has for the user', () => {
  const failed = { success: false, completed: true, message: 'No.' }
  const outage = new SessionStoreError({ operation: 'load', sessionId: 's1' })
  const blocked = new LimitExceededError({ limit: 'maxMessageBytes', value: 5, problem: 'The user message' })

  test.each([
    ['the same failure twice in a session that goes on', [blocked, blocked], 'running', [false, true]],
    ['the same failure twice, and then a success', [blocked, blocked, undefined], 'running', [false, true, false]],
    ['two different failures', [blocked, outage], 'running', [false, false]],
    ['the same failure, with a success between', [blocked, undefined, blocked], 'running', [false, false, false]],
    ['an outage of the store', [outage, outage, outage], 'unknown', [false, false, false]],
    ['a session that has ended', [blocked, blocked], 'aborted', [false, false]],
  ] as const)('whether it is stuck, after %s', async (_name, errors, sessionState, stuck) => {
    const results = errors.map((error) =>
      error === undefined ? resultOf() : resultOf(failed, { error, sessionState }),
    )
    serve(createFetchHandler(createFakeEngine({ execute: () => results.shift() ?? resultOf() })))
    const chat = new Chat(url, 'A')
    const seen: boolean[] = []
    for (const _error of errors) {
      await say(chat, 'a')
      seen.push(chat.isStuck)
    }
    expect(seen).toEqual(stuck)
  })

  test('it is not stuck in the conversation that startAgain begins', async () => {
    const results = [blocked, blocked, blocked].map((error) => resultOf(failed, { error, sessionState: 'running' }))
    serve(createFetchHandler(createFakeEngine({ execute: () => results.shift() ?? resultOf() })))
    const chat = new Chat(url, 'A')
    await say(chat, 'a')
    await say(chat, 'a')
    chat.startAgain()
    expect(chat.isStuck).toBe(false)
    await say(chat, 'a')
    expect(chat.isStuck).toBe(false)
  })

  test('whether a new conversation answered in place of the one that it named', async () => {
    const results = [resultOf(), resultOf({}, { restarted: 'unknown' }), resultOf()]
    serve(createFetchHandler(createFakeEngine({ execute: () => results.shift() ?? resultOf() })))
    const chat = new Chat(url, 'A')
    const seen: boolean[] = []
    for (const message of ['a', 'b', 'c']) {
      await chat.say(message)
      seen.push(chat.hasRestarted)
    }
    expect(seen).toEqual([false, true, false])
  })
})

test('it loses nothing to a message that is too long, a store that is down, a conflict and a closed engine', async () => {
  const backing = new Map<string, SessionDocument>()
  const openStore = (): FakeSessionStore => new FakeSessionStore({ inner: new MemorySessionStore({ backing }) })
  const store = openStore()
  const engine = createEngine({ sessionStore: store, limits: { maxMessageBytes: 20 } })
  let handle = createFetchHandler(engine)
  const sent = serve((request) => handle(request))
  const chat = new Chat(url, 'Greeting')
  expect(await say(chat, '')).toBe('What is your name?')
  expect(await say(chat, 'x'.repeat(21))).toBe('LIMIT_EXCEEDED')
  store.outage()
  expect(await say(chat, 'Ada')).toBe('SESSION_STORE_ERROR')
  store.heal()
  store.rivalWrites()
  expect(await say(chat, 'Ada')).toBe('SESSION_CONFLICT')
  const next = createEngine({ sessionStore: openStore() })
  await engine.close()
  expect(await say(chat, 'Ada')).toBe('ENGINE_CLOSED')
  handle = createFetchHandler(next)
  expect(await say(chat, 'Ada')).toBe('Where do you live?')
  expect(await say(chat, 'Ealing')).toBe('Ada of Ealing.')
  const [first, ...others] = sent
  expect([first, new Set(others).size, others.length]).toEqual([null, 1, 6])
  await next.close()
})
