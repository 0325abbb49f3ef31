// POST /run as server-sent events: what arrives and when, and what happens to a turn whose reader leaves, stalls or
// waits.
import { expect } from 'vitest'
import type { ModelProviderAdapter } from '../../../src/index.js'
import { VirtualClock } from '../../index.js'
import { createChat, letRun, streamTurn } from './chatting.js'
import type { ReadEvent } from './event-reader.js'
import { GatedModel } from './gated-model.js'
import { createEngine, failure, runRequest, type Serve, type TestFunction } from './serve.js'

const timedOut = 'The turn took longer than the limit turnTimeoutMs (120000 ms).'

const textOf = (events: readonly ReadEvent[]): string =>
  events.flatMap(({ type, data }) => (type === 'text-delta' ? [(data as { text: string }).text] : [])).join('')

export function streamCases(test: TestFunction, serve: Serve): void {
  test('text arrives before the turn ends, and the result after it is stored', async () => {
    const model = new GatedModel()
    const engine = createChat(model.provider)
    const send = await serve(engine, { streamDetails: true })
    const { reply, events, session } = await streamTurn(send, { flowName: 'Chatting', message: 'Hi' })
    expect([reply.status, session.length, reply.headers.get('Chat-Reply')]).toEqual([200, 32, 'stream'])
    expect(reply.headers.get('Cache-Control')).toBe('no-store, no-transform')
    expect(reply.headers.get('X-Accel-Buffering')).toBe('no')
    const call = await model.called()
    call.say('Hel')
    const begin = await events.until('text-delta')
    const turnId = begin[0]?.id.split(':')[0]
    expect(begin).toEqual([
      { type: 'session', id: `${turnId}:1`, data: { session } },
      { type: 'step', id: `${turnId}:2`, data: { step: 'Chat' } },
      { type: 'text-delta', id: `${turnId}:3`, data: { text: 'Hel' } },
    ])
    expect(await engine.getSession(session)).toBeUndefined()
    call.say('lo.')
    expect(await events.until('text-delta')).toEqual([{ type: 'text-delta', id: `${turnId}:4`, data: { text: 'lo.' } }])
    expect(await engine.getSession(session)).toBeUndefined()
    call.finish()
    expect(await events.next()).toEqual({
      type: 'result',
      id: `${turnId}:5`,
      data: {
        success: true,
        completed: false,
        message: 'Hello.',
        session,
        contentType: 'text/plain',
        sessionState: 'running',
      },
    })
    expect((await engine.getSession(session))?.history).toHaveLength(1)
    expect(await events.next()).toBeUndefined()
  })

  test('the next turn goes on in the session, streamed or not', async () => {
    const model = new GatedModel()
    const send = await serve(createChat(model.provider))
    const say = async (text: string): Promise<void> => {
      const call = await model.called()
      call.say(text)
      call.finish()
    }
    void say('One.')
    const first = await streamTurn(send, { flowName: 'Chatting' }, { 'Chat-Session-Id': '' })
    const session = first.reply.headers.get('Chat-Session-Id') ?? ''
    expect(session).toBe(first.reply.headers.get('CHAT_SESSION_ID'))
    await first.events.until('result')
    void say('Two.')
    const second = await streamTurn(send, { flowName: 'Chatting', message: 'x' }, { CHAT_SESSION_ID: session })
    expect(await second.events.dataOf('result')).toMatchObject({ message: 'Two.', session })
    expect(second.reply.headers.get('Chat-Session-Id')).toBeNull()
  })

  test('no text of a model can end an event, or make one', async () => {
    const model = new GatedModel()
    const send = await serve(createChat(model.provider))
    const text = '\ufeffa\r\nb\rc\n\nevent: result\ndata: {}\n\n\u2028\u2029\u0000😀'
    const { events } = await streamTurn(send, { flowName: 'Chatting' })
    const call = await model.called()
    call.say(text)
    call.finish()
    const all = await events.until('result')
    expect(textOf(all)).toBe(text)
    expect(all.at(-1)?.data).toMatchObject({ message: text })
  })

  test('a reply of another content type than plain text is in the result, never raw', async () => {
    const send = await serve(createEngine())
    const typed = await streamTurn(send, { flowName: 'Typed', message: 'text/csv a,b' })
    expect(await typed.events.dataOf('result')).toMatchObject({ message: 'a,b', contentType: 'text/csv' })
    const bytes = await streamTurn(send, { flowName: 'Bytes' })
    const { session, ...data } = (await bytes.events.dataOf('result')) as Record<string, unknown>
    expect(session).toBe(bytes.reply.headers.get('CHAT_SESSION_ID'))
    expect(data).toEqual({
      success: true,
      completed: false,
      message: 'iVBORw0KGgo=',
      contentType: 'image/png',
      sessionState: 'running',
      encoding: 'base64',
    })
  })

  test('what fails before the session is open is 400 with the envelope', async () => {
    const send = await serve(createEngine())
    const reply = await send('/run', runRequest({ flowName: 'Nothing' }, { Accept: 'text/event-stream' }))
    expect([reply.status, reply.headers.get('content-type')]).toEqual([400, 'application/json'])
    expect(await reply.json()).toEqual(failure("Flow class 'Nothing' not registered."))
    const precise = await serve(createEngine(), { statuses: 'precise' })
    expect((await precise('/run', runRequest({ flowName: 'Nothing' }, { Accept: 'text/event-stream' }))).status).toBe(
      404,
    )
    expect((await send('/run', runRequest('{', { Accept: 'text/event-stream' }))).status).toBe(400)
  })

  test('what fails after it is an event with the envelope, and the session is aborted', async () => {
    const engine = createEngine()
    const send = await serve(engine)
    const { reply, events, session } = await streamTurn(send, { flowName: 'Typed', message: 'fail' })
    expect(reply.status).toBe(200)
    const more = { sessionState: 'aborted', code: 'FLOW_ERROR' }
    expect(await events.dataOf('error')).toEqual({ ...failure('The report could not be made.', session), ...more })
    expect(await events.next()).toBeUndefined()
    expect((await engine.getSession(session))?.runStatus).toBe('aborted')
  })

  test('a client that goes away in mid-stream aborts the turn: the session is as it was, and its lock free', async () => {
    const model = new GatedModel()
    const engine = createChat(model.provider)
    const send = await serve(engine)
    const first = await streamTurn(send, { flowName: 'Chatting' })
    const opening = await model.called()
    opening.say('Welcome.')
    opening.finish()
    await first.events.until('result')
    const { session } = first
    const before = JSON.stringify(await engine.getSession(session))
    const aborted = new Promise<string>((resolve) => engine.on('turn:error', ({ code }) => resolve(code)))

    const client = new AbortController()
    const header = { CHAT_SESSION_ID: session }
    const { events } = await streamTurn(send, { flowName: 'Chatting', message: 'x' }, header, { signal: client.signal })
    const call = await model.called()
    call.say('Half of ')
    await events.until('text-delta')
    client.abort()
    await events.cancel()
    expect(await aborted).toBe('TURN_ABORTED')
    await call.left
    expect(call.request.signal.aborted).toBe(true)
    await engine.getFlowSession().withSessionLock(session, async () => {})
    expect(JSON.stringify(await engine.getSession(session))).toBe(before)

    const next = await streamTurn(send, { flowName: 'Chatting', message: 'y' }, header)
    const answer = await model.called()
    answer.say('Back again.')
    answer.finish()
    expect(await next.events.dataOf('result')).toMatchObject({ message: 'Back again.', session })
  })

  test('a reader that stalls holds back the model', async () => {
    const piece = 'x'.repeat(256 * 1024)
    // More than the buffers of two sockets take.
    const enough = 256
    let made = 0
    let left = (): void => {}
    const over = new Promise<void>((resolve) => {
      left = resolve
    })
    const endless: ModelProviderAdapter = {
      provider: 'gated',
      resolve: ({ provider, name }) => ({
        provider,
        name,
        generate: () => Promise.reject(new Error('This model streams.')),
        async *stream() {
          try {
            while (made < enough) {
              made++
              yield { type: 'text-delta', text: piece }
            }
          } finally {
            left()
          }
        },
      }),
    }
    const engine = createChat(endless)
    const send = await serve(engine)
    const { events } = await streamTurn(send, { flowName: 'Chatting' })
    await events.until('text-delta')
    let seen = 0
    while (seen !== made) {
      seen = made
      await letRun()
    }
    expect(made).toBeLessThan(enough)
    await events.cancel()
    await over
  })

  test('a model that stalls for ever ends at the deadline of the turn: with a failure, and the lock free', async () => {
    const model = new GatedModel()
    const clock = new VirtualClock()
    const engine = createChat(model.provider, { clock, limits: { modelTimeoutMs: Number.POSITIVE_INFINITY } })
    const send = await serve(engine)
    const { events, session } = await streamTurn(send, { flowName: 'Chatting' })
    const call = await model.called()
    call.say('Half')
    await events.until('text-delta')
    await clock.advance(120_000)
    expect(await events.dataOf('error')).toMatchObject({ success: false, session, message: timedOut })
    await call.left
    await engine.getFlowSession().withSessionLock(session, async () => {})
  })

  test('a reader that stalls until the deadline finds the failure when it reads on, and the lock is free before', async () => {
    const model = new GatedModel()
    const clock = new VirtualClock()
    const engine = createChat(model.provider, { clock, limits: { maxSessionBytes: Number.POSITIVE_INFINITY } })
    const send = await serve(engine)
    const { events, session } = await streamTurn(send, { flowName: 'Chatting' })
    const call = await model.called()
    for (let piece = 0; piece < 100; piece++) call.say('x'.repeat(256 * 1024))
    await events.until('text-delta')
    const settled = new Promise((resolve) => engine.once('turn:end', resolve))
    await clock.advance(120_000)
    await settled
    await engine.getFlowSession().withSessionLock(session, async () => {})
    expect(await events.dataOf('error')).toMatchObject({ success: false, session, message: timedOut })
    expect(await events.next()).toBeUndefined()
  })

  test('while nothing happens a comment goes out now and then', async () => {
    const model = new GatedModel()
    const send = await serve(createChat(model.provider), { heartbeatMs: 5 })
    const { events } = await streamTurn(send, { flowName: 'Chatting' })
    const call = await model.called()
    expect(await events.dataOf('comment')).toBe(': keep-alive')
    call.say('Done.')
    call.finish()
    expect(await events.dataOf('result')).toMatchObject({ message: 'Done.' })
  })

  test('a page of an allowed origin may stream', async () => {
    const send = await serve(createEngine(), { cors: { origin: 'https://shop.example' } })
    const { reply, events } = await streamTurn(send, { flowName: 'Greeting' }, { Origin: 'https://shop.example' })
    expect(reply.headers.get('Access-Control-Allow-Origin')).toBe('https://shop.example')
    expect(reply.headers.get('Access-Control-Expose-Headers')).toContain('CHAT_SESSION_ID')
    await events.until('result')
  })
}
