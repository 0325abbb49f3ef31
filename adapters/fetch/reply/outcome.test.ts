// The headers that describe a session and a failure, over a fake engine. testing/contract/http has the cases over a
// real one.
import { describe, expect, test } from 'vitest'
import { SessionNotFoundError } from '../../../src/errors/session-errors.js'
import { SessionConflictError } from '../../../src/index.js'
import { createFakeEngine, type FakeAnswers, resultOf } from '../../../testing/contract/http/fake-engine.js'
import { FakeStream } from '../../../testing/contract/http/fake-stream.js'
import { createFetchHandler, type FetchHandlerOptions } from '../index.js'

function serve(answers: FakeAnswers = {}, options: FetchHandlerOptions = {}) {
  const handler = createFetchHandler(createFakeEngine(answers), { onError: () => {}, ...options })
  return async (path = 'run', init: RequestInit = {}): Promise<Response> =>
    handler(new Request(`http://chat.example/ai/${path}`, { method: 'POST', body: '{"flowName":"A"}', ...init }))
}

/** The state, the reason for a new session, and the code. */
function outcomeOf({ headers }: Response): (string | null)[] {
  return ['Chat-Session-State', 'Chat-Session-Restarted', 'Chat-Error'].map((name) => headers.get(name))
}

const error = new SessionConflictError({ sessionId: 's1' })
const failed = { success: false, completed: true, message: 'No.' }

describe('the reply to a turn', () => {
  test.each(['running', 'completed', 'aborted', 'none', 'unknown'] as const)(
    'has the state %s, on a success, a raw reply and a failure',
    async (sessionState) => {
      const results = [
        resultOf({}, { sessionState }),
        resultOf({ contentType: 'text/csv' }, { sessionState }),
        resultOf(failed, { sessionState, error }),
      ]
      const replies = await Promise.all(results.map((result) => serve({ execute: () => result })()))
      expect(replies.map((reply) => reply.headers.get('Chat-Reply'))).toEqual(['envelope', 'raw', 'envelope'])
      expect(replies.map(outcomeOf)).toEqual([
        [sessionState, null, null],
        [sessionState, null, null],
        [sessionState, null, 'SESSION_CONFLICT'],
      ])
      expect(Object.keys((await replies[2]?.json()) as object)).toHaveLength(5)
    },
  )

  test.each(['unknown', 'completed', 'aborted', 'outdated', 'flow'] as const)(
    'says why a new session answered: %s',
    async (restarted) => {
      expect(outcomeOf(await serve({ execute: () => resultOf({}, { restarted }) })())).toEqual([
        'running',
        restarted,
        null,
      ])
      const failure = resultOf(failed, { sessionState: 'aborted', error, restarted })
      expect(outcomeOf(await serve({ execute: () => failure })())).toEqual(['aborted', restarted, 'SESSION_CONFLICT'])
    },
  )

  test.each<[string, object]>([
    ['leaves all out', {}],
    ['has values that no engine has', { sessionState: 'gone', restarted: 'again', error: { code: 'a b' } }],
    [
      'has values that cannot be a header',
      { sessionState: 'a\r\nb', restarted: ['\u2028'], error: { code: 'A\r\nX-Evil: 1' } },
    ],
    ['has no texts', { sessionState: 1, restarted: {}, error: { code: 5 } }],
  ])('of an object in front of an engine that %s: unknown, and no code of the engine', async (_name, more) => {
    for (const [response, code] of [
      [{}, null],
      [failed, 'INTERNAL_ERROR'],
    ] as const) {
      const { response: envelope } = resultOf(response)
      const reply = await serve({ execute: () => ({ response: envelope, ...more }) as never })()
      expect([reply.status, ...outcomeOf(reply)]).toEqual([code === null ? 200 : 400, 'unknown', null, code])
    }
  })
})

describe('a streamed reply', () => {
  const stream = { headers: { Accept: 'text/event-stream' } }

  test('has the reason for a new session in its headers, and the state in its last event', async () => {
    const session = { type: 'session', session: 's2', restarted: 'completed' } as const
    const reply = await serve({ stream: () => new FakeStream(session) })('run', stream)
    expect([reply.headers.get('Chat-Reply'), ...outcomeOf(reply)]).toEqual(['stream', null, 'completed', null])
    await reply.body?.cancel()
  })

  test('that fails before it begins has all headers', async () => {
    const { response } = resultOf(failed)
    const event = { type: 'error', response, sessionState: 'none', error } as const
    const reply = await serve({ stream: () => new FakeStream(event) })('run', stream)
    expect([reply.headers.get('Chat-Reply'), ...outcomeOf(reply)]).toEqual([
      'envelope',
      'none',
      null,
      'SESSION_CONFLICT',
    ])
  })
})

describe('the reply to a delete', () => {
  const end = (headers: Record<string, string>, body = ''): RequestInit => ({ headers, body })

  test('has the code of a failure, and no state', async () => {
    const error = new SessionNotFoundError({ sessionId: 's1' })
    const result = { success: false, session: 's1', message: 'No.' }
    for (const [answer, code] of [
      [{ result, error }, 'SESSION_NOT_FOUND'],
      [{ result }, 'INTERNAL_ERROR'],
    ] as const) {
      const reply = await serve({ executeDelete: () => answer })('end', end({ CHAT_SESSION_ID: 's1' }))
      expect([reply.status, ...outcomeOf(reply)]).toEqual([400, null, null, code])
    }
    expect(outcomeOf(await serve()('end', end({ CHAT_SESSION_ID: 's1' })))).toEqual([null, null, null])
    expect(outcomeOf(await serve()('end', end({ CHAT_SESSION_ID: 's1' }, 'x')))).toEqual([null, null, 'INVALID_INPUT'])
    expect(outcomeOf(await serve()('end', end({ CHAT_SESSION_ID: 'a b' })))).toEqual([null, null, 'INVALID_INPUT'])
  })
})

describe('a request that the adapter refuses', () => {
  const crash: FakeAnswers = {
    execute: () => {
      throw new Error('secret')
    },
  }
  const refused: readonly [string, string, RequestInit, string, FakeAnswers?, FetchHandlerOptions?][] = [
    ['a body that is not JSON', 'INVALID_INPUT', { body: '{' }, 'run'],
    ['a field of the wrong type', 'INVALID_INPUT', { body: '{"flowName":1}' }, 'run'],
    ['a body of another type', 'INVALID_INPUT', { headers: { Origin: 'https://evil.example' } }, 'run'],
    ['a body that is too large', 'LIMIT_EXCEEDED', {}, 'run', {}, { maxBodyBytes: 5 }],
    ['a body that is nested too deep', 'LIMIT_EXCEEDED', {}, 'run', { maxJsonDepth: 0 }],
    ['a wrong method', 'METHOD_NOT_ALLOWED', { method: 'PUT' }, 'run'],
    [
      'an authorize that throws',
      'INTERNAL_ERROR',
      {},
      'run',
      {},
      {
        authorize: () => {
          throw new Error('secret')
        },
      },
    ],
    ['an engine that throws', 'INTERNAL_ERROR', {}, 'run', crash],
  ]

  test.each(refused)(
    '%s is %s; its session is unknown where it named one',
    async (_name, code, init, path, answers, options) => {
      for (const statuses of ['contract', 'precise'] as const) {
        const send = serve(answers, { ...options, statuses })
        const withId = (headers: Record<string, string>): Promise<Response> =>
          send(path, { ...init, headers: { ...(init.headers as Record<string, string>), ...headers } })
        expect(outcomeOf(await withId({}))).toEqual(['none', null, code])
        expect(outcomeOf(await withId({ CHAT_SESSION_ID: '' }))).toEqual(['none', null, code])
        expect(outcomeOf(await withId({ CHAT_SESSION_ID: 's1' }))).toEqual(['unknown', null, code])
        expect(outcomeOf(await withId({ 'Chat-Session-Id': 's1' }))).toEqual(['unknown', null, code])
      }
    },
  )

  test('a malformed ID, or two IDs that differ, name no session', async () => {
    const run = async (headers: Record<string, string>): Promise<unknown> =>
      outcomeOf(await serve()('run', { headers }))
    expect(await run({ CHAT_SESSION_ID: 'a b' })).toEqual(['none', null, 'INVALID_INPUT'])
    expect(await run({ 'Chat-Session-Id': 'x'.repeat(257) })).toEqual(['none', null, 'INVALID_INPUT'])
    expect(await run({ CHAT_SESSION_ID: 'a', 'Chat-Session-Id': 'b' })).toEqual(['unknown', null, 'INVALID_INPUT'])
    expect(await run({ CHAT_SESSION_ID: '', 'Chat-Session-Id': 'b' })).toEqual(['unknown', null, 'INVALID_INPUT'])
  })

  test('for an unknown path, or for the flows, has a code and no state', async () => {
    expect(outcomeOf(await serve()('nothing'))).toEqual([null, null, 'ROUTE_NOT_FOUND'])
    expect(outcomeOf(await serve()('flows'))).toEqual([null, null, 'METHOD_NOT_ALLOWED'])
  })

  test('the Response of authorize is not touched', async () => {
    const own = serve({}, { authorize: () => new Response('Sign in first.', { status: 401 }) })
    expect(outcomeOf(await own('run', { headers: { CHAT_SESSION_ID: 's1' } }))).toEqual([null, null, null])
  })
})
