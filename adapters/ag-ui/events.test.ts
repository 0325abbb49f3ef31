// Threads that wait, and threads that have ended.
import { afterEach, expect, test } from 'vitest'
import { type FlowConstructor, FlowEngine, MemorySessionStore, reply, type SessionDocument } from '../../src/index.js'
import { flowOf, gate } from '../../testing/contract/engine-harness.js'
import { Claims } from '../../testing/contract/waiting-flow.js'
import { createAgUiHandler } from './index.js'

const cleanUps: (() => Promise<void>)[] = []

afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0)) await cleanUp()
})

interface RunEvent {
  readonly type: string
  readonly messages?: readonly { readonly id: string; readonly content: unknown }[]
  readonly [field: string]: unknown
}

function start(flow: FlowConstructor = Claims) {
  const documents = new Map<string, SessionDocument>()
  const engine = new FlowEngine({ flows: [flow], sessionStore: new MemorySessionStore({ backing: documents }) })
  cleanUps.push(() => engine.close())
  let turns = 0
  engine.on('turn:start', () => turns++)
  const handler = createAgUiHandler(engine, { flow: 'Claims', authorize: () => ({ principal: 'ada' }) })
  const post = (body: object): Promise<Response> =>
    handler(new Request('https://shop.example/ag-ui', { method: 'POST', body: JSON.stringify(body) }))
  const run = async (messages: readonly object[], more: object = {}): Promise<RunEvent[]> => {
    const lines = (await (await post({ threadId: 't1', runId: 'r1', messages, ...more })).text()).split('\n\n')
    return lines.filter((line) => line !== '').map((line) => JSON.parse(line.slice('data: '.length)))
  }
  const tell = (event: string): Promise<unknown> =>
    engine.sendEvent({ sessionId: [...documents.keys()][0] ?? '', event, by: 'Bob', byId: 'emp-17' })
  return { engine, documents, post, run, tell, turns: () => turns }
}

const said = (id: string, content: unknown): object => ({ id, role: 'user', content })
const answer = { id: 'a', role: 'assistant', content: 'x' }
const snapshotIn = (events: readonly RunEvent[]): RunEvent['messages'] =>
  events.findLast(({ type }) => type === 'MESSAGES_SNAPSHOT')?.messages

test('a run without a new message gets the messages and the state of the thread, and runs nothing', async () => {
  const { run, tell, documents, turns } = start()
  await run([said('m1', 'Hello')])
  await tell('note')
  await tell('decision')
  const [[session, { history }]] = [...documents] as [[string, SessionDocument]]
  const id = (turn: number): string => `turn:${history[turn - 1]?.id}`
  const messages = [
    { id: id(1), role: 'user', content: 'Hello' },
    { id: `${id(1)}-reply`, role: 'assistant', content: 'You said: Hello' },
    { id: `${id(3)}-reply`, role: 'assistant', content: 'Decided by Bob.', metadata: { event: 'decision', by: 'Bob' } },
  ]
  const expected = [
    { type: 'RUN_STARTED', threadId: 't1', runId: 'r1' },
    { type: 'MESSAGES_SNAPSHOT', messages },
    { type: 'STATE_SNAPSHOT', snapshot: { session, sessionState: 'running' } },
    { type: 'RUN_FINISHED', threadId: 't1', runId: 'r1' },
  ]
  // A page that was loaded again; one with the messages of a snapshot; one that has its own.
  expect(await run([])).toEqual(expected)
  expect(await run(messages)).toEqual(expected)
  expect((await run([said('m1', 'Hello')], { state: { session } })).slice(-3)).toEqual(expected.slice(1))
  expect(turns()).toBe(3)
})

test('a run after a message without a reply gets what came later', async () => {
  const { run, tell } = start()
  const first = await run([said('m1', 'quiet')])
  expect(first.map(({ type }) => type)).toEqual(['RUN_STARTED', 'STATE_SNAPSHOT', 'RUN_FINISHED'])
  await tell('decision')
  expect(snapshotIn(await run([said('m1', 'quiet')]))?.map(({ content }) => content)).toEqual([
    'quiet',
    'Decided by Bob.',
  ])
})

test('the files of a thread, and a thread without a session', async () => {
  const { run } = start()
  const image = { type: 'image', source: { type: 'data', value: 'iVBORw0KGgo=', mimeType: 'image/png' } }
  await run([said('m1', [{ type: 'text', text: 'Hello' }, image])])
  expect(snapshotIn(await run([]))?.[0]?.content).toEqual([{ type: 'text', text: 'Hello' }, image])
  expect(await run([], { threadId: 'other' })).toEqual([
    { type: 'RUN_STARTED', threadId: 'other', runId: 'r1' },
    { type: 'MESSAGES_SNAPSHOT', messages: [] },
    { type: 'RUN_FINISHED', threadId: 'other', runId: 'r1' },
  ])
})

test('a message whose turn runs is among the messages', async () => {
  const hold = gate()
  const waiting = flowOf('Claims', async () => {
    await hold.opened
    return reply('Hello.')
  })
  const { post, engine, run } = start(waiting)
  const begun = new Promise((resolve) => engine.once('turn:start', resolve))
  const first = await post({ threadId: 't1', runId: 'r1', messages: [said('m1', 'Hello')] })
  await begun
  expect(snapshotIn(await run([]))).toEqual([said('m1', 'Hello')])
  hold.open()
  await first.text()
})

test('a thread that has ended refuses a message, keeps its messages, and begins anew if it is asked to', async () => {
  const { run, documents } = start()
  await run([said('m1', 'bye')])
  const [session] = documents.keys()
  const refused = await run([said('m1', 'bye'), answer, said('m2', 'thanks!')], { state: { session } })
  expect(refused.slice(-2)).toEqual([
    { type: 'STATE_SNAPSHOT', snapshot: { session, sessionState: 'completed' } },
    { type: 'RUN_ERROR', code: 'SESSION_ENDED', message: 'This conversation has ended. Begin a new one to go on.' },
  ])
  expect(snapshotIn(await run([]))?.map(({ content }) => content)).toEqual(['bye', 'Bye.'])
  const anew = await run([said('m2', 'thanks!')], { state: { session }, forwardedProps: { newSession: true } })
  expect(anew.at(-1)?.type).toBe('RUN_FINISHED')
  expect(documents.size).toBe(2)
})

test('an event of the user is in `forwardedProps`, and the ID of the run is its own', async () => {
  const { run, turns } = start()
  await run([said('m1', 'Hello')])
  const submit = { runId: 'r2', forwardedProps: { event: { name: 'size', payload: { size: 7 } } } }
  const events = await run([said('m1', 'Hello'), answer], submit)
  expect(events).toContainEqual({ type: 'TEXT_MESSAGE_CONTENT', messageId: 'r2-reply', delta: 'Size 7.' })
  await run([said('m1', 'Hello'), answer], submit)
  expect(turns()).toBe(2)
})

test('messages that are not a list are refused', async () => {
  const response = await start().post({ threadId: 't1', runId: 'r1', messages: 'Hello' })
  expect([response.status, await response.text()]).toEqual([400, "The field 'messages' must be a list."])
})
