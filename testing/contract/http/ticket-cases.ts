// POST /ticket: off by default, and an answer of two fields, whatever comes of the event.
import { expect } from 'vitest'
import { tickets } from '../../../adapters/tickets/index.js'
import { type FlowServices, MemorySessionStore, type Turn } from '../../../src/index.js'
import { Approval, type ApprovalServices } from './approval.js'
import { createEngine, failure, runRequest, runTurn, type Send, type Serve, type TestFunction } from './serve.js'

const links = tickets({ secrets: ['a-secret-of-more-than-32-characters'] })
const approved = { approved: true }

/** A session of Ada's that waits, and the ticket that her manager got. */
async function setUp(serve: Serve) {
  const services: FlowServices & ApprovalServices = { links }
  const store = new MemorySessionStore()
  const engine = createEngine({ flows: [Approval], services, sessionStore: store })
  let asked = 0
  const authorize = () => {
    asked++
    return { principal: 'ada' }
  }
  const send = await serve(engine, { authorize, tickets: links })
  const { session } = (await runTurn(send, { flowName: 'Approval', message: 'a refund' })).envelope
  asked = 0
  const sealed = (event: string, entry = '1.1', id = session, step = 'Ask') =>
    links.seal({ session: { id, owner: 'ada' }, step, entry } as Turn, event, { by: 'Ada Meier' })
  return { engine, store, send, session, ticket: services.ticket ?? '', sealed, asked: () => asked }
}

async function take(send: Send, ticket: unknown, payload?: unknown, expectedCode: string | null = null) {
  const reply = await send('/ticket', runRequest({ ticket, payload }))
  const text = await reply.text()
  expect([...reply.headers.keys()].filter((name) => name.includes('session'))).toEqual([])
  expect(reply.headers.get('Chat-Error')).toBe(expectedCode)
  expect(reply.headers.get('Retry-After')).toBe(reply.status === 503 ? '1' : null)
  expect(reply.headers.get('Cache-Control')).toBe('no-store')
  return [reply.status, JSON.parse(text)]
}

const taken = [200, { success: true, taken: true }]
const notTaken = (status: number) => [status, { success: false, taken: false }]

export function ticketCases(test: TestFunction, serve: Serve): void {
  test('without the option tickets there is no such route', async () => {
    const send = await serve(createEngine())
    const reply = await send('/ticket', runRequest({ ticket: 'x' }))
    const routes = 'Not found. The routes are POST run, GET flows, POST end and POST cancel, below the base path.'
    expect([reply.status, await reply.json()]).toMatchObject([404, { message: expect.stringContaining(routes) }])
  })

  test('who has a ticket sends its event, without a login, and a second click gets the same answer', async () => {
    const { engine, send, session, ticket, asked } = await setUp(serve)
    expect(await take(send, ticket, approved)).toEqual(taken)
    expect(await take(send, ticket, approved)).toEqual(taken)
    expect(asked()).toBe(0)
    const { runStatus, history = [] } = (await engine.getSession(session)) ?? {}
    expect([runStatus, history.length, history.at(-1)?.reply]).toEqual(['completed', 2, 'Paid by Ada Meier.'])
    expect(history.at(-1)?.event).toEqual({ name: 'decision', by: 'Ada Meier', byId: 'emp-17', payload: approved })
    // The other decision, by the same ticket.
    expect(await take(send, ticket, { approved: false }, 'EVENT_NOT_TAKEN')).toEqual(notTaken(409))
  })

  test('a ticket is dead if its session has ended or is gone, or its step was left', async () => {
    const { engine, send, session, ticket, sealed } = await setUp(serve)
    const late = [await sealed('decision', '1.0'), await sealed('decision', '1.1', 'gone')]
    for (const dead of late) expect(await take(send, dead, approved, 'EVENT_NOT_TAKEN')).toEqual(notTaken(409))
    // An event of that name is nowhere in this step.
    expect(await take(send, await sealed('approve'), approved, 'EVENT_NOT_TAKEN')).toEqual(notTaken(409))
    await runTurn(send, { flowName: 'Approval', message: 'withdraw' }, { CHAT_SESSION_ID: session })
    expect(await take(send, ticket, approved, 'EVENT_NOT_TAKEN')).toEqual(notTaken(409))
    await engine.deleteSession(session)
    expect(await take(send, ticket, approved, 'EVENT_NOT_TAKEN')).toEqual(notTaken(409))
  })

  test('a ticket that is faster than the commit of its turn is sent again', async () => {
    const { send, session, sealed } = await setUp(serve)
    const early = await sealed('decision', '2.1')
    expect(await take(send, early, approved, 'EVENT_NOT_TAKEN')).toEqual(notTaken(503))
    await runTurn(send, { flowName: 'Approval', message: 'and?' }, { CHAT_SESSION_ID: session })
    // The turn of that number entered nothing.
    expect(await take(send, early, approved, 'EVENT_NOT_TAKEN')).toEqual(notTaken(409))
  })

  test('a payload that does not fit, and a ticket that cannot be opened, are 400', async () => {
    const { send, ticket } = await setUp(serve)
    expect(await take(send, ticket, { approved: 'yes' }, 'INVALID_INPUT')).toEqual(notTaken(400))
    expect(await take(send, ticket, undefined, 'INVALID_INPUT')).toEqual(notTaken(400))
    expect(await take(send, `${ticket}A`, approved, 'INVALID_INPUT')).toEqual(notTaken(400))
    expect(await take(send, '', approved, 'INVALID_INPUT')).toEqual(notTaken(400))
    expect(await take(send, ticket, approved)).toEqual(taken)
  })

  test('any other failure has the status of its code and the same fields', async () => {
    const { send, store, sealed, ticket } = await setUp(serve)
    expect(await take(send, await sealed('broken'), undefined, 'FLOW_ERROR')).toEqual(notTaken(500))
    const load = store.load.bind(store)
    store.load = async () => {
      throw new Error('connect ECONNREFUSED 10.0.0.7')
    }
    expect(await take(send, ticket, approved, 'SESSION_STORE_ERROR')).toEqual(notTaken(500))
    store.load = load
    const summary = store.summary.bind(store)
    store.summary = async () => {
      throw new Error('connect ECONNREFUSED 10.0.0.7')
    }
    const early = await sealed('decision', '2.1')
    expect(await take(send, early, approved, 'SESSION_STORE_ERROR')).toEqual(notTaken(500))
    store.summary = summary
    expect(await take(send, ticket, approved)).toEqual(taken)
  })

  test('a scanner that opens links takes nothing, and a bad request is refused as one of a turn', async () => {
    const { engine, send, session, ticket } = await setUp(serve)
    for (const method of ['GET', 'HEAD', 'PUT']) {
      const reply = await send('/ticket', { method })
      expect([method, reply.status, reply.headers.get('Allow')]).toEqual([method, 405, 'POST'])
    }
    const refusal = async (request: RequestInit) => (await send('/ticket', request)).json()
    expect(await refusal(runRequest({}))).toEqual(failure("The field 'ticket' is required and must be a string."))
    expect(await refusal(runRequest('{'))).toEqual(failure('The request body is not valid JSON.'))
    const foreign = { Origin: 'https://evil.example', 'Content-Type': 'text/plain' }
    expect(await refusal(runRequest({ ticket }, foreign))).toMatchObject({ success: false })
    expect((await engine.getSession(session))?.turns).toBe(1)
  })

  test('what is no turnkeeper error is a fixed sentence', async () => {
    const errors: unknown[] = []
    const broken = { open: () => Promise.reject(new Error('secret key store: 10.0.0.7')) }
    const send = await serve(createEngine(), { tickets: broken, onError: (error) => errors.push(error) })
    const reply = await send('/ticket', runRequest({ ticket: 'x' }))
    expect(await reply.json()).toEqual(failure('The request could not be handled.'))
    expect(errors).toHaveLength(1)
  })
}
