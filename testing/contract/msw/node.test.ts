// A flow service played by MSW in Node: over a script and over an engine, to a page that only knows `fetch`.
import { describe, expect, onTestFinished, test } from 'vitest'
import {
  Flow,
  FlowEngine,
  finish,
  HttpContentType,
  LogicStep,
  reply,
  type StepConstructor,
  type Transition,
  type Turn,
} from '../../../src/index.js'
import { FakeSessionStore } from '../../index.js'
import { type FlowServiceScript, flowServiceHandlers, type ScriptedFlowServiceOptions } from '../../msw/index.js'
import { listen, run, say, whole } from './service.js'

/** Echoes; `csv`, `html` and `pdf` answer raw, `done` ends. */
class Echo extends LogicStep {
  static override readonly id = 'Echo'
  override run({ message }: Turn): Transition {
    if (message === 'done') return finish('Goodbye.')
    if (message === 'csv') return reply('a,b').withContentType(HttpContentType.Csv)
    if (message === 'html') return reply('<b>').withContentType(HttpContentType.Html)
    if (message === 'pdf') return reply('JVBERg==').withContentType(HttpContentType.Pdf, { encoding: 'base64' })
    return reply(`You said ${message}.`).withContentType(HttpContentType.Plain)
  }
}

class Words extends Flow {
  static override readonly id: string = 'Words'
  override steps(): readonly StepConstructor[] {
    return [Echo]
  }
}

class Others extends Words {
  static override readonly id = 'Others'
}

function echoEngine(sessionStore = new FakeSessionStore()): FlowEngine {
  let started = 0
  const engine = new FlowEngine({
    flows: [Words, Others],
    sessionStore,
    generateId: (kind) => (kind === 'session' ? `session-${++started}` : `${kind}-${Math.random()}`),
  })
  onTestFinished(() => engine.close())
  return engine
}

describe('over a script', () => {
  test('a page holds a conversation, and the service remembers what it asked', async () => {
    const service = listen(flowServiceHandlers(['What is your name?', { reply: 'Hello, Ada!', completed: true }]))
    expect(await say('Hi')).toEqual({
      success: true,
      completed: false,
      message: 'What is your name?',
      session: 'session-1',
      contentType: 'text/plain',
    })
    expect(await say('Ada', 'session-1')).toMatchObject({
      completed: true,
      message: 'Hello, Ada!',
      session: 'session-1',
    })
    expect(service.runs).toEqual([
      { number: 1, flowName: 'Words', message: 'Hi', sessionId: '' },
      { number: 2, flowName: 'Words', message: 'Ada', sessionId: 'session-1' },
    ])
    service.assertDone()
  })

  test('a function answers depending on the request', async () => {
    const service = listen(
      flowServiceHandlers(async ({ number, flowName, message, config }) => ({
        reply: `${number} ${flowName} ${message} ${JSON.stringify(config)}`,
      })),
    )
    const body = JSON.stringify({ flowName: 'Words', message: 'Hi', config: { plan: 'free' } })
    expect(await say('', '', { body })).toMatchObject({ message: '1 Words Hi {"plan":"free"}' })
    expect(await say('Again', 'session-1')).toMatchObject({ message: '2 Words Again undefined' })
    const event = { name: 'choose', payload: { day: 'Tuesday' } }
    await say('', 'session-1', { body: JSON.stringify({ flowName: 'Words', event }) })
    expect(service.runs.at(-1)).toMatchObject({ message: '', event })
    service.assertDone()
  })

  test('a session that is unknown, over, ended or forgotten gives way to a new one', async () => {
    const service = listen(
      flowServiceHandlers(['a', { reply: 'b', completed: true }, 'c', 'd', { reply: 'e', newSession: true }, 'f', 'g']),
    )
    const sessions: string[] = []
    const next = async (sessionId: string): Promise<void> => void sessions.push((await say('', sessionId)).session)
    await next('unheard-of')
    await next('session-1')
    await next('session-1')
    const ended = await fetch('https://api.example/ai/end', {
      method: 'POST',
      headers: { CHAT_SESSION_ID: 'session-2' },
    })
    expect(await ended.json()).toEqual({ success: true, session: 'session-2' })
    for (const id of ['session-2', 'session-3', 'session-3', 'session-4']) await next(id)
    expect(sessions).toEqual([
      'session-1',
      'session-1',
      'session-2',
      'session-3',
      'session-4',
      'session-5',
      'session-4',
    ])
    expect(service.ended).toEqual(['session-2'])
  })

  test('flows are listed, and other names are not registered', async () => {
    const service = listen(flowServiceHandlers(['a', 'b'], { flows: ['Words', 'Others'] }))
    expect(await (await fetch('https://api.example/ai/flows')).json()).toEqual(['Words', 'Others'])
    expect(await say('', '', { flowName: 'Nothing' })).toMatchObject({
      success: false,
      message: "Flow class 'Nothing' not registered.",
    })
    await say('')
    expect(await say('', 'session-1', { flowName: 'Others' })).toMatchObject({
      success: false,
      message: "Session 'session-1' belongs to flow 'Words' and cannot run flow 'Others'.",
      session: 'session-1',
    })
    expect(await say('', 'session-1')).toMatchObject({ message: 'b' })
    service.assertDone()
  })
})

test.each(['a script', 'an engine'])('%s hides the flows that authorizeFlow refuses', async (kind) => {
  const options = {
    authorizeFlow: (_principal: string | undefined, name: string) => name !== 'Words',
    flows: ['Words', 'Others'],
  }
  const { flows: _flows, ...ofEngine } = options
  listen(kind === 'a script' ? flowServiceHandlers(['a'], options) : flowServiceHandlers(echoEngine(), ofEngine))
  expect(await (await fetch('https://api.example/ai/flows')).json()).toEqual(['Others'])
  expect(await say('one')).toMatchObject({ success: false, message: "Flow class 'Words' not registered." })
})

describe('a script and an engine answer alike', () => {
  const script = [
    'You said one.',
    { reply: 'a,b', contentType: 'text/csv' },
    { reply: '<b>', contentType: 'text/html' },
    { reply: 'JVBERg==', contentType: 'application/pdf', encoding: 'base64' as const },
    { reply: 'Goodbye.', completed: true },
    'You said two.',
  ]
  const words = ['one', 'csv', 'html', 'pdf', 'done', 'two']

  async function answersOf(origin: string): Promise<object[]> {
    const answers: object[] = []
    const url = `${origin}/ai/run`
    let session = ''
    for (const word of words) {
      const answer = run(word, session, { url })
      session = (await answer).headers.get('CHAT_SESSION_ID') ?? ''
      answers.push(await whole(answer))
    }
    answers.push(await whole(run('', 'session-9', { url, flowName: 'Nothing' })))
    answers.push(await whole(run('', 'no good', { url })))
    answers.push(await whole(run('', '', { url, body: '{' })))
    answers.push(await whole(fetch(url)))
    answers.push(await whole(fetch(`${origin}/ai/flows`)))
    answers.push(await whole(fetch(`${origin}/ai/end`, { method: 'POST', headers: { CHAT_SESSION_ID: session } })))
    answers.push(await whole(fetch(`${origin}/ai/end`, { method: 'POST', body: '[]' })))
    return answers
  }

  test('in status, headers and body', async () => {
    const options = { cors: { origin: '*' } }
    listen(flowServiceHandlers(echoEngine(), { ...options, origin: 'https://engine.example' }))
    const ofEngine = await answersOf('https://engine.example')
    listen(flowServiceHandlers(script, { ...options, origin: 'https://script.example', flows: ['Words', 'Others'] }))
    expect(await answersOf('https://script.example')).toEqual(ofEngine)
    expect(ofEngine[5]).toMatchObject({ headers: { 'chat-session-restarted': 'completed' } })
    expect(ofEngine[1]).toEqual({
      status: 200,
      headers: {
        'access-control-allow-origin': '*',
        'access-control-expose-headers':
          'CHAT_SESSION_ID, Chat-Session-Id, Chat-Reply, Chat-Completed, Chat-Encoding, Chat-Session-State, Chat-Session-Restarted, Chat-Replayed, Chat-Error, Chat-Request-Id',
        'cache-control': 'no-store',
        'chat-completed': 'false',
        'chat-reply': 'raw',
        'chat-session-state': 'running',
        chat_session_id: 'session-1',
        'content-type': 'text/csv; charset=utf-8',
        'x-content-type-options': 'nosniff',
      },
      body: 'a,b',
    })
  })
})

describe('over an engine', () => {
  test("sessions are the engine's, and so are its failures", async () => {
    const store = new FakeSessionStore()
    const engine = echoEngine(store)
    const service = listen(flowServiceHandlers(engine))
    const { session } = await say('one')
    expect(await engine.getSession(session)).toBeDefined()
    store.failNext('load')
    expect(await say('two', session)).toMatchObject({ success: false, session })
    await fetch('https://api.example/ai/end', { method: 'POST', headers: { CHAT_SESSION_ID: session } })
    expect(await engine.getSession(session)).toBeUndefined()
    expect(service.runs.map(({ message }) => message)).toEqual(['one', 'two'])
    expect(service.ended).toEqual([session])
    service.assertDone()
  })
})

describe('the address of the service', () => {
  /** What MSW does with a request that no handler takes, as an option of `listen`. */
  const unanswered = { message: expect.stringContaining('No server answers') }

  test('any origin, or one', async () => {
    listen(flowServiceHandlers(() => 'a'))
    expect(await say('', '', { url: 'http://127.0.0.1:1/ai/run?envelope=1' })).toMatchObject({ message: 'a' })
    expect(await say('', '', { url: 'https://api.example/v1/ai/run' })).toMatchObject(unanswered)
    expect(await say('', '', { url: 'https://api.example/ai/run/1' })).toMatchObject(unanswered)
  })

  test.each([
    ['https://api.example', '/v1.0/chat', 'https://api.example/v1.0/chat/run'],
    ['http://127.0.0.1:3000', '/', 'http://127.0.0.1:3000/run'],
  ])('%s with the base path %s', async (origin, basePath, url) => {
    listen(flowServiceHandlers(() => 'a', { origin, basePath }))
    expect(await say('', '', { url })).toMatchObject({ message: 'a' })
    expect(await say('', '', { url: url.replace('v1.0', 'v1-0').replace('3000', '3001') })).toMatchObject(unanswered)
    expect(await say('', '', { url: 'https://other.example/run' })).toMatchObject(unanswered)
  })

  test('a page of another origin sends a preflight, and gets an answer', async () => {
    listen(flowServiceHandlers(['a'], { cors: { origin: 'https://shop.example' } }))
    const preflight = await fetch('https://api.example/ai/run', {
      method: 'OPTIONS',
      headers: { Origin: 'https://shop.example', 'Access-Control-Request-Method': 'POST' },
    })
    expect(preflight.status).toBe(204)
    expect(preflight.headers.get('Access-Control-Allow-Headers')).toContain('CHAT_SESSION_ID')
    expect((await run('')).headers.get('Vary')).toBe('Origin')
  })
})

test.each([
  [undefined, {}, 'flowServiceHandlers: the first argument must be a FlowEngine, a list of turns or a function.'],
  [
    [],
    { base: '/' },
    "flowServiceHandlers: there is no option 'base'. The options are basePath, origin, flows, clock,",
  ],
  [[], { basePath: 'ai' }, "flowServiceHandlers: basePath must be '/' or a path such as '/ai'"],
  [[], { origin: 'api.example' }, 'flowServiceHandlers: origin must be a scheme, a host and a port'],
  [[], { origin: 'https://api.example/' }, 'flowServiceHandlers: origin must be a scheme, a host and a port'],
  [
    new FlowEngine(),
    { flows: [] },
    "flowServiceHandlers: there is no option 'flows'. The options are basePath, origin,",
  ],
])('wrong arguments are found at once: %#', (service, options, message) => {
  expect(() => flowServiceHandlers(service as FlowServiceScript, options as ScriptedFlowServiceOptions)).toThrow(
    message,
  )
})
