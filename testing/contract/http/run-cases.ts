// POST /run: the envelope, the session header and its round trip, failures, what is stored (contract 2.1
// to 2.3, 4.1, 7).
import { expect } from 'vitest'
import { createEngine, failure, runRequest, runTurn, type Serve, type TestFunction } from './serve.js'

export function runCases(test: TestFunction, serve: Serve): void {
  test('[4.1-2 4.1-4 2.1-2 2.3-1 2.3-4 2.3-5 2.3-6] a turn answers 200 with the five fields, and the session in field and header', async () => {
    const send = await serve(createEngine())
    const { reply, envelope } = await runTurn(send, { flowName: 'Greeting', message: 'hi' })
    expect(reply.status).toBe(200)
    expect(reply.headers.get('content-type')).toBe('application/json')
    expect(envelope).toEqual({
      success: true,
      completed: false,
      message: 'What is your name?',
      session: expect.stringMatching(/^[\w-]{32}$/),
      contentType: 'text/plain',
    })
    expect(reply.headers.get('CHAT_SESSION_ID')).toBe(envelope.session)
    expect(reply.headers.get('Chat-Session-Id')).toBeNull()
  })

  test('[4.1-1 4.1-10 1-3 1-6 2.2-4 2.3-2 2.3-3] three turns with the header carry one conversation to its end', async () => {
    const send = await serve(createEngine())
    const first = await runTurn(send, { flowName: 'Greeting' })
    const session = { CHAT_SESSION_ID: first.reply.headers.get('CHAT_SESSION_ID') ?? '' }
    const second = await runTurn(send, { flowName: 'Greeting', message: 'Ada' }, session)
    const third = await runTurn(send, { flowName: 'Greeting', message: 'Ealing' }, session)
    expect([first, second, third].map(({ envelope }) => [envelope.message, envelope.completed])).toEqual([
      ['What is your name?', false],
      ['Where do you live?', false],
      ['Ada of Ealing.', true],
    ])
    expect([first, second, third].map(({ reply }) => reply.headers.get('Chat-Completed'))).toEqual([
      'false',
      'false',
      'true',
    ])
    expect(new Set([first, second, third].map(({ envelope }) => envelope.session)).size).toBe(1)
  })

  test('[2.1-5 2.3-3] no header, an empty one, an unknown ID and the ID of an ended session each start a new session', async () => {
    const send = await serve(createEngine())
    const ended = await send('/run', runRequest({ flowName: 'Typed', message: 'end a,b' }))
    expect(ended.headers.get('Chat-Completed')).toBe('true')
    const endedId = ended.headers.get('CHAT_SESSION_ID') ?? ''
    const ids: string[] = []
    for (const headers of [{}, { CHAT_SESSION_ID: '' }, { CHAT_SESSION_ID: 'mine' }, { CHAT_SESSION_ID: endedId }]) {
      const { reply, envelope } = await runTurn(
        send,
        { flowName: 'Typed', message: 'text/plain a' },
        headers as Record<string, string>,
      )
      expect([reply.status, envelope.message]).toEqual([200, 'a'])
      ids.push(envelope.session)
    }
    // Four new ones, none of them what the client sent.
    expect(new Set([...ids, endedId, 'mine', '']).size).toBe(7)
  })

  test('[2.1-3 2.1-4 4.1-5 4.1-11 7.2-2] a session ID with another flow fails with 400 and keeps its session header', async () => {
    const send = await serve(createEngine())
    const { envelope } = await runTurn(send, { flowName: 'Greeting' })
    const other = await runTurn(send, { flowName: 'Context' }, { CHAT_SESSION_ID: envelope.session })
    expect(other.reply.status).toBe(400)
    expect(other.reply.headers.get('CHAT_SESSION_ID')).toBe(envelope.session)
    expect(other.envelope).toEqual(
      failure(
        `Session '${envelope.session}' belongs to flow 'Greeting' and cannot run flow 'Context'.`,
        envelope.session,
      ),
    )
    const next = await runTurn(send, { flowName: 'Greeting', message: 'Ada' }, { CHAT_SESSION_ID: envelope.session })
    expect(next.envelope.message).toBe('Where do you live?')
  })

  test('[4.1-3 7.1-1 7.1-2 7.1-3 7.2-5 7.3-1] an unknown flow is 400 with its message alone, and no session header', async () => {
    const send = await serve(createEngine())
    for (const flowName of ['Nothing', '__proto__', 'constructor', 'toString']) {
      const { reply, envelope } = await runTurn(send, { flowName, message: 'hi' })
      expect(reply.status).toBe(400)
      expect(reply.headers.get('CHAT_SESSION_ID')).toBeNull()
      expect(envelope).toEqual(failure(`Flow class '${flowName}' not registered.`))
    }
  })

  test('[4.1-9 4.1-3 4.1-5 7.2-5] a failing turn of a flow with raw replies is an envelope, plain, with its session header', async () => {
    const send = await serve(createEngine())
    const { reply, envelope } = await runTurn(send, { flowName: 'Typed', message: 'fail' })
    expect(reply.status).toBe(400)
    expect(reply.headers.get('content-type')).toBe('application/json')
    expect([reply.headers.get('Chat-Reply'), reply.headers.get('Chat-Completed')]).toEqual(['envelope', 'true'])
    expect(envelope.session).not.toBe('')
    expect(envelope).toEqual(failure('The report could not be made.', envelope.session))
    expect(reply.headers.get('CHAT_SESSION_ID')).toBe(envelope.session)
  })

  test('[2.2-1 2.2-2 2.2-5 2.2-6] the user turn is the field message; userMessage and other fields are ignored', async () => {
    const send = await serve(createEngine())
    const first = await runTurn(send, { flowName: 'Greeting', message: 'hi' })
    const header = { CHAT_SESSION_ID: first.envelope.session }
    const body = {
      flowName: 'Greeting',
      message: 'Ada',
      userMessage: 'Bob',
      sessionId: 'x',
      owner: 'y',
      toJSON: 1,
      valueOf: {},
    }
    await runTurn(send, body, header)
    const last = await runTurn(send, { flowName: 'Greeting', userMessage: 'Paris' }, header)
    expect(last.envelope.message).toBe('Ada of .')
  })

  test('[2.2-3] config is stored on the first turn as { config }, and a later one does not change it', async () => {
    const send = await serve(createEngine())
    const config = JSON.parse('{"theme":"dark","toJSON":"data","then":"data","valueOf":{"deep":[1,null,true]}}')
    const first = await runTurn(send, { flowName: 'Context', config })
    expect(JSON.parse(first.envelope.message)).toEqual({ config })
    const header = { CHAT_SESSION_ID: first.envelope.session }
    const without = await runTurn(send, { flowName: 'Context' }, header)
    const changed = await runTurn(send, { flowName: 'Context', config: { theme: 'light' } }, header)
    expect([without, changed].map(({ envelope }) => JSON.parse(envelope.message))).toEqual([{ config }, { config }])
    const none = await runTurn(send, { flowName: 'Context' })
    expect(none.envelope.message).toBe('{}')
  })

  test('the session header without underscores is accepted, and answered in both forms', async () => {
    const send = await serve(createEngine())
    const first = await runTurn(send, { flowName: 'Greeting' }, { 'Chat-Session-Id': '' })
    const id = first.envelope.session
    const second = await runTurn(send, { flowName: 'Greeting', message: 'Ada' }, { 'Chat-Session-Id': id })
    const both = await runTurn(
      send,
      { flowName: 'Greeting', message: 'Bath' },
      { 'Chat-Session-Id': id, CHAT_SESSION_ID: id },
    )
    expect(both.envelope.message).toBe('Ada of Bath.')
    for (const { reply } of [first, second, both]) {
      expect([reply.headers.get('Chat-Session-Id'), reply.headers.get('CHAT_SESSION_ID')]).toEqual([id, id])
    }
  })

  test('a text of any characters arrives and is answered unchanged', async () => {
    const send = await serve(createEngine())
    const message = 'text/plain "ä\u2028\u0000\ud83d\ude00" </script> \\u0041'
    const { envelope } = await runTurn(send, { flowName: 'Typed', message })
    expect(envelope.message).toBe(message.slice('text/plain '.length))
  })
}
