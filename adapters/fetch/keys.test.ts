// Requests with a key: what the engine receives, what the reply contains, and what happens to a turn whose client goes
// away. Over a fake engine; testing/contract/http has the same over real sockets.
import { describe, expect, test } from 'vitest'
import {
  EngineClosedError,
  IdempotencyMismatchError,
  LimitExceededError,
  SessionBusyError,
  TurnSupersededError,
} from '../../src/errors/engine-errors.js'
import type { ExecuteResult, FlowStreamEvent } from '../../src/index.js'
import { createFakeEngine, resultOf } from '../../testing/contract/http/fake-engine.js'
import { FakeStream } from '../../testing/contract/http/fake-stream.js'
import { createFetchHandler, type FetchHandlerOptions } from './index.js'

const key = '5f0c2c8e-5c0e-4a3f-9f0b-4e0a6a8f6c11'
const response = { success: true, completed: false, message: 'Hi.', session: 's1', contentType: 'text/plain' }
const stream = { Accept: 'text/event-stream' }
const keyed = { 'Idempotency-Key': key }

interface Setup {
  readonly options?: FetchHandlerOptions
  readonly headers?: Record<string, string> | Headers
  readonly result?: ExecuteResult
  readonly events?: FakeStream
  readonly runtime?: unknown
}

async function serve({ options = {}, headers = {}, result = resultOf(), events, runtime }: Setup = {}) {
  const pieces = events ?? new FakeStream({ type: 'session', session: 's1' })
  const engine = createFakeEngine({ execute: () => result, stream: () => pieces })
  const request = new Request('http://chat.example/ai/run', { method: 'POST', headers, body: '{"flowName":"A"}' })
  const reply = await createFetchHandler(engine, options)(request, runtime)
  return { reply, engine, input: engine.inputs[0], streamOptions: engine.streamOptions[0], pieces }
}

describe('the key of a request', () => {
  test.each([{}, stream])('is passed on as it is: %j', async (accept) => {
    const { input, reply } = await serve({ headers: { ...accept, ...keyed } })
    expect(input?.idempotencyKey).toBe(key)
    await reply.body?.cancel()
  })

  test('is left to the engine to refuse if it is sent twice', async () => {
    const headers = new Headers([
      ['Idempotency-Key', 'one-key-of-a-client'],
      ['Idempotency-Key', 'another-key-of-it'],
    ])
    expect((await serve({ headers })).input?.idempotencyKey).toBe('one-key-of-a-client, another-key-of-it')
  })

  test('is absent if none was sent', async () => {
    expect((await serve()).input).not.toHaveProperty('idempotencyKey')
  })
})

describe('a turn whose client goes away', () => {
  const rows: [FetchHandlerOptions['onDisconnect'], Record<string, string>, 'cancel' | 'finish'][] = [
    [undefined, {}, 'cancel'],
    [undefined, keyed, 'finish'],
    ['cancel', keyed, 'cancel'],
    ['finish', {}, 'finish'],
  ]

  test.each(rows)('a plain reply, onDisconnect %s, headers %j: %s', async (onDisconnect, headers, expected) => {
    const works: Promise<unknown>[] = []
    const options = onDisconnect === undefined ? {} : { onDisconnect }
    const runtime = { waitUntil: (work: Promise<unknown>) => void works.push(work) }
    const result = resultOf()
    const { input } = await serve({ options, headers, result, runtime })
    expect(input?.signal === undefined).toBe(expected === 'finish')
    // The runtime must wait for the turn itself.
    expect(await Promise.all(works)).toEqual(expected === 'finish' ? [result] : [])
  })

  test.each(rows)('a stream, onDisconnect %s, headers %j: %s', async (onDisconnect, headers, expected) => {
    const options = onDisconnect === undefined ? {} : { onDisconnect }
    const { input, streamOptions, reply } = await serve({ options, headers: { ...stream, ...headers } })
    expect(streamOptions).toEqual({ onDisconnect: expected })
    expect(input?.signal === undefined).toBe(expected === 'finish')
    await reply.body?.cancel()
  })

  test('a waitUntil that throws changes nothing, and is reported', async () => {
    const reported: unknown[] = []
    const waitUntil = (): void => {
      throw new Error('too late')
    }
    const { reply } = await serve({
      options: { waitUntil, onError: (error) => reported.push(error) },
      headers: keyed,
    })
    expect([reply.status, reported]).toEqual([200, [new Error('too late')]])
  })
})

describe('a stream that is resumed', () => {
  test('is requested with the last ID that the client received', async () => {
    const { streamOptions, reply } = await serve({ headers: { ...stream, ...keyed, 'Last-Event-ID': 't1:3' } })
    expect(streamOptions).toEqual({ onDisconnect: 'finish', lastEventId: 't1:3' })
    await reply.body?.cancel()
  })

  test('has the IDs of the turn', async () => {
    const events = new FakeStream()
    const pieces: FlowStreamEvent[] = [
      { type: 'session', session: 's1' },
      { type: 'text-delta', text: 'Hi.' },
      { type: 'result', response, sessionState: 'running' },
    ]
    let count = 0
    events.next = async () => {
      events.lastEventId = `t1:${++count + 4}`
      return { done: false, value: pieces[count - 1] as FlowStreamEvent }
    }
    const { reply } = await serve({ headers: stream, events })
    expect((await reply.text()).match(/^id: .*$/gm)).toEqual(['id: t1:5', 'id: t1:6', 'id: t1:7'])
  })

  test.each([[''], ['a b'], ['a\nevent: result'], ['a\u0000'], ['ä:1'], ['x'.repeat(513)], [7], [undefined]])(
    'counts its pieces where an object in front of an engine has the ID %j',
    async (id) => {
      const events = new FakeStream(
        { type: 'session', session: 's1' },
        { type: 'result', response, sessionState: 'running' },
      )
      events.lastEventId = id as string
      const { reply } = await serve({ headers: stream, events })
      expect((await reply.text()).match(/^id: .*$/gm)).toEqual(['id: 1', 'id: 2'])
    },
  )
})

describe('Chat-Replayed', () => {
  test('is on a replayed reply, even if it is a failure', async () => {
    const error = new LimitExceededError({ limit: 'maxMessageBytes', value: 1, problem: 'Too long' })
    for (const result of [
      resultOf({}, { replayed: true }),
      resultOf({ success: false, completed: true }, { replayed: true, error }),
    ]) {
      expect((await serve({ result })).reply.headers.get('Chat-Replayed')).toBe('true')
    }
  })

  test('is on a replayed stream, and in its pieces', async () => {
    const events = new FakeStream(
      { type: 'session', session: 's1', replayed: true },
      { type: 'result', response, sessionState: 'running', replayed: true },
    )
    const { reply } = await serve({ headers: stream, events })
    expect(reply.headers.get('Chat-Replayed')).toBe('true')
    const text = await reply.text()
    expect(text).toContain('data: {"session":"s1","replayed":true}\n')
    expect(text).toContain('"sessionState":"running","replayed":true}\n')
  })

  test.each([undefined, false, 'yes'])('is absent otherwise: %j', async (replayed) => {
    const result = { ...resultOf(), replayed } as unknown as ExecuteResult
    expect((await serve({ result })).reply.headers.has('Chat-Replayed')).toBe(false)
    const events = new FakeStream({ type: 'session', session: 's1' }, {
      type: 'result',
      response,
      sessionState: 'running',
      replayed,
    } as never)
    const { reply } = await serve({ headers: stream, events })
    expect([reply.headers.has('Chat-Replayed'), (await reply.text()).includes('replayed')]).toEqual([false, false])
  })
})

describe('a request that lost to another', () => {
  test.each([
    [new SessionBusyError(), 409, null],
    [new TurnSupersededError(), 409, null],
    [new IdempotencyMismatchError(), 422, null],
    [new LimitExceededError({ limit: 'maxQueuedTurnsPerSession', value: 1, problem: 'Too many' }), 429, '1'],
    [new LimitExceededError({ limit: 'maxConcurrentTurnsPerOwner', value: 1, problem: 'Too many' }), 429, '1'],
    [new EngineClosedError(), 503, '1'],
  ])('says so: %s', async (error, status, retryAfter) => {
    const result = resultOf({ success: false, completed: true, message: error.message }, { error })
    const { reply } = await serve({ result, options: { statuses: 'precise' } })
    const { headers } = reply
    expect([reply.status, headers.get('Chat-Error'), headers.get('Retry-After')]).toEqual([
      status,
      error.code,
      retryAfter,
    ])
    const plain = (await serve({ result })).reply
    expect([plain.status, plain.headers.get('Retry-After')]).toEqual([400, null])
    const events = new FakeStream({ type: 'error', response: result.response, sessionState: 'running', error })
    const streamed = (await serve({ events, headers: stream, options: { statuses: 'precise' } })).reply
    expect([streamed.status, streamed.headers.get('Retry-After')]).toEqual([status, retryAfter])
  })

  test('or came while the engine was closing: a delete may be repeated too', async () => {
    const error = new EngineClosedError()
    const result = { success: false, session: 's1', message: error.message }
    const engine = createFakeEngine({ executeDelete: () => ({ result, error }) })
    const request = new Request('http://chat.example/ai/end', { method: 'POST', headers: { CHAT_SESSION_ID: 's1' } })
    const reply = await createFetchHandler(engine, { statuses: 'precise' })(request)
    expect([reply.status, reply.headers.get('Retry-After')]).toEqual([503, '1'])
  })
})
