/// <reference types="node" />
// Runs by the published `HttpAgent` of `@ag-ui/client`, which checks the order and the form of
// every event, over real HTTP.
import type { Server } from 'node:http'
import { createAdaptorServer } from '@hono/node-server'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { createAgUiHandler } from '../../../adapters/ag-ui/index.js'
import { startCuttableProxy } from '../browser/cuttable-proxy.js'
import { listen } from '../browser/servers.js'
import { sentBy } from '../http/rich-replies.js'
import { calling } from '../stream-harness.js'
import { arePackagesMissing, type ChatBackend, createBackend, leftOut, principalOf, tracked } from './chat-server.js'

interface Message {
  readonly id: string
  readonly role: string
  readonly content?: unknown
}

interface Agent {
  messages: Message[]
  state: { readonly session?: string; readonly sessionState?: string }
  readonly threadId: string
  addMessage(message: Message): void
  runAgent(parameters?: object, subscriber?: object): Promise<{ readonly newMessages: readonly Message[] }>
  abortRun(): void
}

interface AgentConfig {
  readonly url: string
  readonly headers: Record<string, string>
  readonly threadId: string
  readonly fetch: (url: string, init: RequestInit) => Promise<unknown>
}

type AgentConstructor = new (config: AgentConfig) => Agent

/**
 * As `fetch`. When a connection is lost, the agent also cancels the body that has failed, and leaves the rejection of
 * that unhandled, which would end the test run.
 */
async function fetchQuietly(url: string, init: RequestInit): Promise<unknown> {
  const { ok, status, headers, body } = await fetch(url, init)
  const getReader = (): unknown => {
    const reader = body?.getReader()
    return { read: () => reader?.read(), cancel: () => reader?.cancel().catch(() => undefined) }
  }
  return { ok, status, headers, body: { getReader } }
}

const path: string = new URL('node_modules/@ag-ui/client/dist/index.mjs', import.meta.url).href

describe.skipIf(arePackagesMissing)(`HttpAgent${leftOut}`, () => {
  let HttpAgent: AgentConstructor
  let backend: ChatBackend
  let proxy: Awaited<ReturnType<typeof startCuttableProxy>>
  let server: Awaited<ReturnType<typeof listen>>

  beforeEach(async () => {
    ;({ HttpAgent } = (await import(path)) as { HttpAgent: AgentConstructor })
    backend = createBackend()
    tracked.length = 0
    const options = { flow: 'SupportDesk', authorize: principalOf, streamDetails: true }
    const handler = createAgUiHandler(backend.engine, options)
    server = await listen(createAdaptorServer({ fetch: (request) => handler(request) }) as Server)
    proxy = await startCuttableProxy(server.origin)
  })

  afterEach(async () => {
    await proxy.close()
    await server.close()
    await backend.engine.close()
  })

  const agent = (user = 'ada', threadId = 't1'): Agent =>
    new HttpAgent({
      url: `${proxy.origin}/ag-ui`,
      headers: { 'x-user': `user=${user}` },
      threadId,
      fetch: fetchQuietly,
    })
  const say = (to: Agent, id: string, content: unknown): void => to.addMessage({ id, role: 'user', content })
  const contents = ({ messages }: Agent): unknown[] => messages.map(({ role, content }) => [role, content])
  const history = (): string[][] =>
    [...backend.documents.values()].map((document) =>
      document.history.map(({ message, reply }) => `${message} > ${reply}`),
    )
  /** Lets the model answer. */
  async function answer(text: string): Promise<void> {
    const call = await backend.model.called()
    call.say(text)
    call.finish()
  }

  test('a conversation goes on in one session, which the state of the agent names', async () => {
    const ada = agent()
    say(ada, 'm1', 'Hello')
    await Promise.all([ada.runAgent(), answer('Welcome.')])
    expect(contents(ada)).toEqual([
      ['user', 'Hello'],
      ['assistant', 'Welcome.'],
    ])
    const [session] = backend.documents.keys()
    expect(ada.state).toEqual({ session, sessionState: 'running' })
    say(ada, 'm2', 'Again')
    await Promise.all([ada.runAgent(), answer('Goodbye.')])
    expect(history()).toEqual([['Hello > Welcome.', 'Again > Goodbye.']])
  })

  test('a text that is taken back is gone, and tools have their results', async () => {
    const ada = agent()
    say(ada, 'm1', 'Where is it?')
    const run = ada.runAgent()
    const first = await backend.model.called()
    first.say('Let me see.')
    first.finish(calling('track', 'Let me see.'))
    await answer('At the door.')
    await run
    const texts = contents(ada)
    expect(JSON.stringify(texts)).not.toContain('Let me see.')
    expect(texts.at(-1)).toEqual(['assistant', 'At the door.'])
    expect(texts).toContainEqual(['tool', 'The tool has returned.'])
    expect(tracked.length).toBe(1)
  })

  test('a run after a lost connection is the same turn', async () => {
    const ada = agent()
    say(ada, 'm1', 'Hello')
    // The agent logs the lost connection.
    const log = vi.spyOn(console, 'error').mockImplementation(() => {})
    let shown = (): void => {}
    const begun = new Promise<void>((resolve) => {
      shown = resolve
    })
    const lost = ada.runAgent({}, { onTextMessageContentEvent: () => shown() }).then(
      () => 'ended',
      () => 'lost',
    )
    const call = await backend.model.called()
    call.say('Wel')
    await begun
    proxy.down()
    expect(await lost).toBe('lost')
    log.mockRestore()
    proxy.up()
    ada.messages = [{ id: 'm1', role: 'user', content: 'Hello' }]
    const again = ada.runAgent()
    call.say('come.')
    call.finish()
    await again
    expect(contents(ada).at(-1)).toEqual(['assistant', 'Welcome.'])
    expect([history(), backend.modelCalls()]).toEqual([[['Hello > Welcome.']], 1])
  })

  test('a stop is a request of its own', async () => {
    const ada = agent()
    say(ada, 'm1', 'Hello')
    const failures: unknown[] = []
    const run = ada.runAgent({}, { onRunErrorEvent: ({ event }: { event: unknown }) => void failures.push(event) })
    const settled = run.catch(() => undefined)
    await backend.model.called()
    const stop = (user: string): Promise<Response> =>
      fetch(`${proxy.origin}/ag-ui/t1/stop`, { method: 'POST', headers: { 'x-user': `user=${user}` } })
    expect(await (await stop('eve')).json()).toEqual({ stopped: false })
    expect(await (await stop('ada')).json()).toEqual({ stopped: true })
    await settled
    expect(failures).toEqual([expect.objectContaining({ type: 'RUN_ERROR', code: 'TURN_ABORTED' })])
    expect(history()).toEqual([])
  })

  test('the thread and the session of another user begin a conversation of their own', async () => {
    const ada = agent()
    say(ada, 'm1', 'My secret')
    await Promise.all([ada.runAgent(), answer('Noted.')])
    const before = JSON.stringify([...backend.documents.values()])
    const eve = agent('eve')
    eve.state = ada.state
    say(eve, 'm1', 'My secret')
    const run = eve.runAgent()
    const call = await backend.model.called()
    expect(call.request.messages.length).toBe(1)
    call.say('Who?')
    call.finish()
    await run
    expect(JSON.stringify([...backend.documents.values()].slice(0, 1))).toBe(before)
    expect(eve.state.session).not.toBe(ada.state.session)
  })

  test('a photo reaches the model', async () => {
    const ada = agent()
    const source = { type: 'data', value: 'iVBORw0KGgo=', mimeType: 'image/png' }
    say(ada, 'm1', [
      { type: 'text', text: 'What is it?' },
      { type: 'image', source },
    ])
    const run = ada.runAgent()
    const call = await backend.model.called()
    expect(call.request.messages.at(-1)?.parts).toContainEqual({
      type: 'image',
      mediaType: 'image/png',
      data: source.value,
    })
    call.say('A fern.')
    call.finish()
    await run
    expect(contents(ada).at(-1)).toEqual(['assistant', 'A fern.'])
  })

  test('a run without a new message shows what a server has said, and a thread that has ended stays', async () => {
    const ada = agent()
    say(ada, 'm1', 'Hello')
    await Promise.all([ada.runAgent(), answer('I have asked.')])
    const [sessionId = ''] = backend.documents.keys()
    await backend.engine.sendEvent({ sessionId, event: 'decision', by: 'Ada Meier', byId: 'emp-17' })
    await ada.runAgent()
    const all = [
      ['user', 'Hello'],
      ['assistant', 'I have asked.'],
      ['assistant', 'Decided by Ada Meier.'],
    ]
    expect(contents(ada)).toEqual(all)
    expect(ada.messages.at(-1)).toMatchObject({ metadata: { event: 'decision', by: 'Ada Meier' } })
    await backend.engine.sendEvent({ sessionId, event: 'close' })
    say(ada, 'm2', 'Thanks!')
    const codes: unknown[] = []
    const onRunErrorEvent = ({ event: { code } }: { event: { code?: string } }): void => void codes.push(code)
    await ada.runAgent({}, { onRunErrorEvent }).catch(() => undefined)
    expect([codes, ada.state.sessionState]).toEqual([['SESSION_ENDED'], 'completed'])
    const again = agent()
    await again.runAgent()
    expect(contents(again)).toEqual([...all, ['assistant', 'Closed.']])
    await Promise.all([ada.runAgent({ forwardedProps: { newSession: true } }), answer('Welcome.')])
    expect(contents(ada).at(-1)).toEqual(['assistant', 'Welcome.'])
    expect(history()[1]).toEqual(['Thanks! > Welcome.'])
  })

  test('the parts of a reply reach the agent with the ID of their message, in a run and after a reload', async () => {
    const shown: { messageId: string; parts: unknown }[] = []
    const onCustomEvent = ({ event: { name, value } }: { event: { name: string; value: never } }): void => {
      if (name === 'turnkeeper.parts') shown.push(value)
    }
    const ada = agent()
    say(ada, 'm1', 'Hello')
    await Promise.all([ada.runAgent({}, { onCustomEvent }), answer('Welcome.')])
    say(ada, 'm2', 'menu')
    await ada.runAgent({}, { onCustomEvent })
    const again = agent()
    await again.runAgent({}, { onCustomEvent })
    const newest = [ada, again].map(({ messages }) => messages.at(-1)?.id)
    expect(shown).toEqual(newest.map((messageId) => ({ messageId, parts: sentBy(2) })))
    say(again, 'm3', 'The big one')
    await again.runAgent({ forwardedProps: { choice: { turn: 2, name: 'size', value: 'l' } } })
    await again.runAgent()
    expect(contents(again).at(-1)).toEqual(['assistant', 'You get l.'])
    expect(history()).toEqual([['Hello > Welcome.', 'menu > Which size?', 'The big one > You get l.']])
  })

  test('a turn that fails is a run that failed', async () => {
    const ada = agent()
    say(ada, 'm1', 'Hello')
    const failures: { message?: string }[] = []
    const run = ada.runAgent({}, { onRunErrorEvent: ({ event }: { event: object }) => void failures.push(event) })
    const settled = run.catch(() => undefined)
    const call = await backend.model.called()
    call.say('Half of')
    call.fail(new Error('secret'))
    await settled
    expect(contents(ada)).toEqual([['user', 'Hello']])
    expect(failures.map(({ message }) => message)).toEqual(["Model 'g1' of provider 'gated' failed."])
  })
})
