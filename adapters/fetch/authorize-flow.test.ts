// The option authorizeFlow: a flow that a caller may not run looks exactly like an unregistered one. Also the event
// auth:refused, which reports every refusal to the application.
import { afterEach, describe, expect, test } from 'vitest'
import { type EngineEventMap, Flow, FlowEngine, SessionStoreError } from '../../src/index.js'
import { createFakeEngine } from '../../testing/contract/http/fake-engine.js'
import { Context, Greeting } from '../../testing/contract/http/flows.js'
import { createFetchHandler, type FetchHandlerOptions } from './index.js'

class Refunds extends Flow {
  static override readonly id = 'Refunds'
  static override readonly aliases = ['Returns']
  override steps() {
    return new Greeting().steps()
  }
}

/** Only `boss` may run it, and no test calls it as `boss`. */
const staffOnly = (principal: string | undefined, flowName: string): boolean =>
  flowName !== 'Refunds' || principal === 'boss'

const cleanUps: (() => Promise<void>)[] = []

afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0)) await cleanUp()
})

function setUp(options: FetchHandlerOptions = {}) {
  const engine = new FlowEngine({ flows: [Greeting, Refunds, Context] })
  const refusals: EngineEventMap['auth:refused'][] = []
  engine.on('auth:refused', (refusal) => refusals.push(refusal))
  cleanUps.push(() => engine.close())
  const handler = createFetchHandler(engine, {
    authorize: (request) => ({ principal: request.headers.get('Authorization') ?? 'guest' }),
    authorizeFlow: staffOnly,
    ...options,
  })
  const send = (path: string, headers: Record<string, string> = {}, body?: string): Promise<Response> =>
    handler(
      new Request(`http://chat.example/ai/${path}`, {
        method: body === undefined ? 'GET' : 'POST',
        headers: { 'Chat-Request-Id': 'r1', ...headers },
        ...(body === undefined ? {} : { body }),
      }),
    )
  const run = (flowName: string, headers: Record<string, string> = {}, more = ''): Promise<Response> =>
    send('run', headers, `{"flowName":${JSON.stringify(flowName)}${more}}`)
  return { engine, refusals, send, run }
}

/** A reply as a client sees it, with the name of the flow replaced. */
async function seen(reply: Response, flowName: string): Promise<string> {
  const { status, headers } = reply
  return JSON.stringify([status, [...headers], await reply.text()]).replaceAll(flowName, '<name>')
}

describe('a run of a flow that the caller may not run', () => {
  const inputs: readonly [string, { readonly [name: string]: string; readonly CHAT_SESSION_ID?: string }, string][] = [
    ['a new session', {}, ''],
    ['the session of another flow', { CHAT_SESSION_ID: '<own>' }, ''],
    ['an unknown session', { CHAT_SESSION_ID: 'nobody-knows-it' }, ''],
    ['a stream', { Accept: 'text/event-stream' }, ''],
    ['a key', { 'Idempotency-Key': '5f0c2c8e-5c0e-4a3f-9f0b-4e0a6a8f6c11' }, ''],
    ['a key of another shape', { 'Idempotency-Key': 'short' }, ''],
    ['a message that is too long', {}, `,"message":"${'x'.repeat(300_000)}"`],
    ['a config that is not valid', {}, ',"config":{"__proto__":1}'],
  ]

  test.each(inputs)('is answered as one that is not registered: %s', async (_name, headers, more) => {
    for (const statuses of ['contract', 'precise'] as const) {
      const { run } = setUp({ statuses })
      const own = (await run('Greeting')).headers.get('CHAT_SESSION_ID') ?? ''
      const sent = headers.CHAT_SESSION_ID === '<own>' ? { ...headers, CHAT_SESSION_ID: own } : headers
      for (const name of ['Refunds', 'Returns']) {
        expect(await seen(await run(name, sent, more), name)).toBe(
          await seen(await run('Nobody', sent, more), 'Nobody'),
        )
      }
    }
  })

  test('runs nothing, stores nothing, and is reported', async () => {
    const { engine, run, refusals } = setUp({ statuses: 'precise' })
    const begun: string[] = []
    engine.on('step:enter', ({ step }) => begun.push(step))
    engine.on('session:created', ({ sessionId }) => begun.push(sessionId))
    expect((await run('Refunds')).status).toBe(404)
    expect(begun).toEqual([])
    const refusal = { at: expect.any(Number), requestId: 'r1', route: 'run', reason: 'flow', status: 404 }
    expect(refusals).toEqual([{ ...refusal, owner: 'guest', flowName: 'Refunds' }])
  })

  test('is reported by its registered name, and without an owner if authorize named none', async () => {
    const { run, refusals } = setUp({ authorize: () => ({}) })
    await run('Returns')
    expect(refusals.map(({ flowName, ...refusal }) => [flowName, 'owner' in refusal])).toEqual([['Refunds', false]])
  })

  test('does not get the stored reply of an allowed request with the same key', async () => {
    let mayRun = true
    const { run } = setUp({ authorizeFlow: () => mayRun })
    const headers = { 'Idempotency-Key': '5f0c2c8e-5c0e-4a3f-9f0b-4e0a6a8f6c11' }
    const session = (await run('Refunds', headers)).headers.get('CHAT_SESSION_ID') ?? ''
    mayRun = false
    for (const sent of [headers, { ...headers, CHAT_SESSION_ID: session }]) {
      const reply = await run('Refunds', sent)
      expect([reply.headers.get('Chat-Error'), reply.headers.get('Chat-Replayed')]).toEqual(['FLOW_NOT_FOUND', null])
    }
  })
})

describe('a session of a flow that the caller may no longer run', () => {
  async function withRefund(options: FetchHandlerOptions = {}) {
    let mayRun = true
    const authorizeFlow = (_principal: string | undefined, flowName: string): boolean =>
      flowName !== 'Refunds' || mayRun
    const { engine, run, send } = setUp({ authorizeFlow, ...options })
    const session = (await run('Refunds')).headers.get('CHAT_SESSION_ID') ?? ''
    mayRun = false
    const post = async (path: string, id: string): Promise<string> =>
      (await (await send(path, { CHAT_SESSION_ID: id }, '')).text()).replaceAll(id, '<id>')
    return { engine, run, send, session, post }
  }

  test('looks like an unknown one to end and cancel, and stays', async () => {
    const { engine, session, post } = await withRefund()
    for (const path of ['end', 'cancel']) expect(await post(path, session)).toBe(await post(path, 'nobody-knows-it'))
    expect((await engine.getSession(session))?.turns).toBe(1)
  })

  test('is not cancelled while a turn of it runs', async () => {
    const { engine, session, post } = await withRefund()
    const asked: string[] = []
    engine.cancel = async (sessionId) => asked.push(sessionId) > 0
    expect(await post('cancel', session)).toContain('"cancelled":false')
    expect(await post('cancel', 'nobody-knows-it')).toContain('"cancelled":true')
    expect(asked).toEqual(['nobody-knows-it'])
  })

  test('is not deleted if the store cannot show its flow', async () => {
    const { engine, session, post } = await withRefund()
    const cause = new SessionStoreError({ operation: 'load', sessionId: session })
    engine.getSession = () => Promise.reject(cause)
    expect(await post('end', session)).toBe(
      `{"success":false,"message":"Session store failed to load session '<id>'.","session":"<id>"}`,
    )
    expect(await post('cancel', session)).toContain('"cancelled":false')
    Reflect.deleteProperty(engine, 'getSession')
    expect((await engine.getSession(session))?.turns).toBe(1)
  })

  test.each([{}, { Accept: 'text/event-stream' }])('is not named by a run of another flow: %j', async (headers) => {
    const { run, session } = await withRefund()
    const reply = await run('Greeting', { ...headers, CHAT_SESSION_ID: session })
    expect(reply.headers.get('Chat-Error')).toBe('SESSION_FLOW_MISMATCH')
    expect(await reply.json()).toMatchObject({ message: `Session '${session}' belongs to another flow.` })
  })

  test('is named to a caller who may run it', async () => {
    const { run, session } = await withRefund({ authorizeFlow: () => true })
    expect(await (await run('Greeting', { CHAT_SESSION_ID: session })).json()).toMatchObject({
      message: `Session '${session}' belongs to flow 'Refunds' and cannot run flow 'Greeting'.`,
    })
  })
})

test('a session of a flow that the caller may run is deleted', async () => {
  const { engine, run, send } = setUp()
  const session = (await run('Greeting')).headers.get('CHAT_SESSION_ID') ?? ''
  await send('end', { CHAT_SESSION_ID: session }, '')
  expect(await engine.getSession(session)).toBeUndefined()
})

test('authorizeFlow needs an engine that can show sessions', () => {
  const { execute, executeDelete, getFlowNames, limits } = createFakeEngine()
  const front = { execute, executeDelete, getFlowNames, limits }
  expect(() => createFetchHandler(front, { authorizeFlow: () => true })).toThrow(
    'createFetchHandler: authorizeFlow needs an engine with the method getSession.',
  )
})

test('the list has the flows that the caller may run, in order', async () => {
  const { send } = setUp()
  expect(await (await send('flows')).json()).toEqual(['Greeting', 'Context'])
  expect(await (await send('flows', { Authorization: 'boss' })).json()).toEqual(['Greeting', 'Refunds', 'Context'])
})

test('authorizeFlow receives the current name, the principal and the request, and is not called for an unregistered name', async () => {
  const asked: unknown[] = []
  const authorizeFlow = async (principal: string | undefined, name: string, request: Request): Promise<boolean> => {
    asked.push([principal, name, new URL(request.url).pathname])
    return true
  }
  const { run } = setUp({ authorizeFlow })
  for (const name of ['Refunds', 'Returns', 'Nobody']) await run(name, { Authorization: 'ada' })
  expect(asked).toEqual([
    ['ada', 'Refunds', '/ai/run'],
    ['ada', 'Refunds', '/ai/run'],
  ])
})

test('a former name is refused if the engine wrapper has no getFlow to look it up', async () => {
  const engine = new FlowEngine({ flows: [Refunds] })
  cleanUps.push(() => engine.close())
  const { limits } = engine
  const front = {
    limits,
    execute: engine.execute.bind(engine),
    executeDelete: engine.executeDelete.bind(engine),
    getFlowNames: () => engine.getFlowNames(),
    getSession: engine.getSession.bind(engine),
  }
  const handler = createFetchHandler(front, { authorizeFlow: () => true })
  const codeOf = async (flowName: string): Promise<string | null> => {
    const request = new Request('http://chat.example/ai/run', { method: 'POST', body: JSON.stringify({ flowName }) })
    return (await handler(request)).headers.get('Chat-Error')
  }
  expect([await codeOf('Refunds'), await codeOf('Returns')]).toEqual([null, 'FLOW_NOT_FOUND'])
})

test.each<[string, () => never]>([
  [
    'throws',
    () => {
      throw new Error('the list of staff cannot be read')
    },
  ],
  ['rejects', (() => Promise.reject(new Error('the list of staff cannot be read'))) as never],
  ['returns a name', (() => 'yes') as never],
  ['returns nothing', (() => undefined) as never],
])('nothing is run where it %s', async (_name, authorizeFlow) => {
  const reported: unknown[] = []
  const { engine, run, send, refusals } = setUp({ authorizeFlow, onError: (error) => reported.push(error) })
  const started: string[] = []
  engine.on('turn:start', ({ flowName }) => started.push(flowName))
  for (const reply of [await run('Greeting'), await send('flows')]) {
    expect(await reply.json()).toMatchObject({ success: false, message: 'The request could not be authorized.' })
  }
  expect(started).toEqual([])
  expect(reported.slice(0, 2)).toEqual([expect.any(Error), expect.any(Error)])
  expect(refusals.map(({ route, reason }) => [route, reason])).toEqual([
    ['run', 'error'],
    ['flows', 'error'],
  ])
})

test('without it every flow may be run', async () => {
  const engine = new FlowEngine({ flows: [Refunds] })
  cleanUps.push(() => engine.close())
  const body = '{"flowName":"Returns"}'
  const reply = await createFetchHandler(engine)(new Request('http://chat.example/ai/run', { method: 'POST', body }))
  expect(reply.headers.get('Chat-Error')).toBeNull()
})

describe('the event auth:refused', () => {
  test.each<[string, FetchHandlerOptions, Partial<EngineEventMap['auth:refused']>]>([
    [
      'a Response',
      { authorize: () => new Response('Who are you?', { status: 401 }) },
      { reason: 'response', status: 401 },
    ],
    ['a Response that cannot be sent', { authorize: () => Response.error() }, { reason: 'error', status: 500 }],
    ['an answer that is not valid', { authorize: () => 'me' as never }, { reason: 'error', status: 500 }],
    ['no principal', { authorize: () => ({}), requirePrincipal: true }, { reason: 'principal', status: 500 }],
    [
      'a context that flows cannot read',
      { authorize: () => ({ context: { config: {} } }) },
      { reason: 'error', status: 500 },
    ],
  ])('says why and with which status: %s', async (_name, options, expected) => {
    const { run, refusals } = setUp({ statuses: 'precise', onError: () => {}, ...options })
    await run('Greeting', { Authorization: 'secret' })
    expect(refusals).toEqual([{ at: expect.any(Number), requestId: 'r1', route: 'run', ...expected }])
  })

  test('an engine wrapper that fails to report it does not change the reply', async () => {
    const reported: unknown[] = []
    const engine = new FlowEngine({ flows: [Greeting] })
    cleanUps.push(() => engine.close())
    engine.reportRefused = () => {
      throw new Error('no audit')
    }
    const authorize = (): Response => new Response(null, { status: 401 })
    const handler = createFetchHandler(engine, { authorize, onError: (error) => reported.push(error) })
    expect((await handler(new Request('http://chat.example/ai/flows'))).status).toBe(401)
    expect(reported).toEqual([new Error('no audit')])
  })
})
