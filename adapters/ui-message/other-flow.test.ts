// A chat and the sessions of other flows: a page may name any session of its user, and a right to a flow may end.
import { afterEach, describe, expect, test } from 'vitest'
import { type EngineEventMap, FlowEngine, MemorySessionStore, type SessionDocument } from '../../src/index.js'
import { flowOf } from '../../testing/contract/engine-harness.js'
import { createAgUiHandler } from '../ag-ui/index.js'
import type { ChatSessions } from '../chat/chat-sessions.js'
import { createUiMessageHandler, type FlowMessage, type UiMessageOptions } from './index.js'

const cleanUps: (() => Promise<void>)[] = []

afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0)) await cleanUp()
})

/** Two flows of one user, the chat of the first one, and the table of its sessions. */
function start(options: Partial<UiMessageOptions> = {}) {
  const documents = new Map<string, SessionDocument>()
  const flows = [flowOf('Support'), flowOf('Refunds')]
  const engine = new FlowEngine({ flows, sessionStore: new MemorySessionStore({ backing: documents }) })
  cleanUps.push(() => engine.close())
  const table = new Map<string, string>()
  const chats: ChatSessions = {
    load: async ({ id }) => table.get(id),
    save: async ({ id }, session) => void table.set(id, session),
  }
  const shared = { flow: 'Support', authorize: () => ({ principal: 'ada' }), chats, ...options }
  const handlers = [createUiMessageHandler(engine, shared), createAgUiHandler(engine, { ...shared, path: '/ag-ui' })]
  const send = async (path: string, body?: object): Promise<Response> => {
    const init = body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }
    const handler = handlers[path.startsWith('/ag-ui') ? 1 : 0]
    return (await handler?.(new Request(`https://shop.example${path}`, init))) as Response
  }
  /** Sends a message of a page whose newest reply names a session. */
  const say = async (text: string, session?: string): Promise<string> => {
    const newest = session === undefined ? [] : [{ id: 'r', role: 'assistant', parts: [], metadata: { session } }]
    const messages = [...newest, { id: text, role: 'user', parts: [{ type: 'text', text }] }]
    return (await send('/api/chat', { id: 'c1', messages })).text()
  }
  const shown = async (): Promise<unknown[]> => {
    const { messages } = (await (await send('/api/chat/c1')).json()) as { messages: FlowMessage[] }
    return messages.map(({ parts }) => parts[0])
  }
  const refund = async (): Promise<string> =>
    (await engine.run({ flowName: 'Refunds', userMessage: 'My secret refund', owner: 'ada' })).session
  return { engine, documents, table, send, say, shown, refund }
}

const text = (said: string) => ({ type: 'text', text: said })

describe('the session of another flow', () => {
  test('that a page names is not adopted: its own conversation begins', async () => {
    const { say, shown, refund, table, documents } = start()
    const other = await refund()
    const before = JSON.stringify(documents.get(other))
    expect(await say('Hello', other)).toContain('You said: Hello')
    expect(table.get('c1')).not.toBe(other)
    expect(await shown()).toEqual([text('Hello'), text('You said: Hello')])
    expect(JSON.stringify(documents.get(other))).toBe(before)
  })

  test('that a page goes on naming does not stop the chat', async () => {
    const { say, shown, refund } = start()
    const other = await refund()
    await say('Hello', other)
    await say('Again', other)
    expect(await shown()).toEqual(['Hello', 'You said: Hello', 'Again', 'You said: Again'].map(text))
  })

  test.each([true, false])(
    'that the table has is not shown, and the chat heals; the page names it too: %s',
    async (named) => {
      const { say, shown, refund, table } = start()
      const other = await refund()
      table.set('c1', other)
      expect(await shown()).toEqual([])
      expect(await say('Hello', named ? other : undefined)).toContain('You said: Hello')
      expect(table.get('c1')).not.toBe(other)
      expect(await shown()).toEqual([text('Hello'), text('You said: Hello')])
    },
  )

  test('does not answer a message of its transcript', async () => {
    const { send, refund, documents } = start()
    const other = await refund()
    const [entry] = documents.get(other)?.history ?? []
    const messages = [
      { id: 'r', role: 'assistant', parts: [], metadata: { session: other } },
      { id: `turn:${entry?.id}`, role: 'user', parts: [text('My secret refund')] },
    ]
    expect((await send('/api/chat', { id: 'c1', messages })).status).toBe(409)
  })

  test('a message that is sent again with it gets the recorded reply', async () => {
    const { say, refund, engine } = start()
    const other = await refund()
    await say('Hello', other)
    let turns = 0
    engine.on('turn:end', ({ success }) => (turns += Number(success)))
    expect(await say('Hello', other)).toContain('You said: Hello')
    expect(turns).toBe(0)
  })
})

test('a turn that was refused before it opened its session keeps nothing', async () => {
  const { say, table, engine, refund } = start()
  const other = await refund()
  engine.stream = () => {
    const response = { success: false, completed: true, message: 'Busy.', session: other, contentType: 'text/plain' }
    const events = [
      { type: 'error', response, sessionState: 'running', error: { code: 'SESSION_BUSY', message: 'Busy.' } },
    ]
    return (async function* () {
      yield* events
    })() as never
  }
  expect(await say('Hello', other)).toContain('Busy.')
  expect(table.size).toBe(0)
})

describe('authorizeFlow', () => {
  test('without the right every route of both protocols answers like an unknown path', async () => {
    let mayUse = true
    const asked: unknown[] = []
    const { engine, send, say } = start({
      authorizeFlow: (principal, flowName) => {
        asked.push([principal, flowName])
        return mayUse
      },
    })
    const refusals: Omit<EngineEventMap['auth:refused'], 'at' | 'requestId'>[] = []
    engine.on('auth:refused', ({ at: _at, requestId: _id, ...refusal }) => refusals.push(refusal))
    expect(await say('Hello')).toContain('You said: Hello')
    mayUse = false
    const bodies = { '/api/chat': {}, '/api/chat/c1/stop': {}, '/ag-ui': {}, '/ag-ui/t1/stop': {} }
    const replies = [await send('/api/chat/c1'), await send('/api/chat/c1/stream')]
    for (const [path, body] of Object.entries(bodies)) replies.push(await send(path, body))
    for (const reply of replies) expect([reply.status, await reply.text()]).toEqual([404, 'Not found.'])
    expect(asked).toEqual(new Array(7).fill(['ada', 'Support']))
    const refusal = { reason: 'flow', status: 404, flowName: 'Support', owner: 'ada' }
    expect(refusals).toEqual(
      ['session', 'run', 'run', 'cancel', 'run', 'cancel'].map((route) => ({ route, ...refusal })),
    )
  })

  test('an answer that is not true or false refuses the request', async () => {
    const { send } = start({ authorizeFlow: () => 'yes' as never, onError: () => undefined })
    expect((await send('/api/chat/c1')).status).toBe(500)
  })
})
