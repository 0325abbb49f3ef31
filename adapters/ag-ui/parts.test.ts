// What replies carry beside their text, as events of a run, and the choice that comes back.
import { afterEach, expect, test } from 'vitest'
import { FlowEngine, MemorySessionStore, type SessionDocument } from '../../src/index.js'
import { Ordering, sentBy } from '../../testing/contract/http/rich-replies.js'
import { createAgUiHandler } from './index.js'

const cleanUps: (() => Promise<void>)[] = []

afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0)) await cleanUp()
})

type RunEvent = { readonly type: string; readonly [field: string]: unknown }

function start() {
  const documents = new Map<string, SessionDocument>()
  const engine = new FlowEngine({ flows: [Ordering], sessionStore: new MemorySessionStore({ backing: documents }) })
  cleanUps.push(() => engine.close())
  const handler = createAgUiHandler(engine, { flow: 'Ordering', authorize: () => ({ principal: 'ada' }) })
  const post = (body: object): Promise<Response> =>
    handler(new Request('https://shop.example/ag-ui', { method: 'POST', body: JSON.stringify(body) }))
  const run = async (messages: readonly object[], forwardedProps = {}): Promise<RunEvent[]> => {
    const text = await (await post({ threadId: 't1', runId: 'r1', messages, forwardedProps })).text()
    return text
      .split('\n\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line.slice('data: '.length)))
  }
  return { documents, post, run }
}

const said = (id: string, content: string): object => ({ id, role: 'user', content })
const partsEvent = (messageId: string, turn: number): object => ({
  ...{ type: 'CUSTOM', name: 'turnkeeper.parts', value: { messageId, parts: sentBy(turn) } },
})

test('the parts follow the text of their message, and after a reload the messages', async () => {
  const { run, documents } = start()
  const first = await run([said('m1', 'Hello')])
  expect(first.slice(1, 5)).toEqual([
    { type: 'TEXT_MESSAGE_START', messageId: 'm1-reply', role: 'assistant' },
    { type: 'TEXT_MESSAGE_CONTENT', messageId: 'm1-reply', delta: 'Which size?' },
    { type: 'TEXT_MESSAGE_END', messageId: 'm1-reply' },
    partsEvent('m1-reply', 1),
  ])
  await run([said('m2', 'again')])
  const done = await run([said('m3', 'Large')])
  expect(done.map(({ type }) => type)).not.toContain('CUSTOM')
  const [document] = documents.values()
  const id = (turn: number): string => `turn:${document?.history[turn - 1]?.id}-reply`
  const reloaded = await run([])
  expect(reloaded.slice(1)).toEqual([
    expect.objectContaining({ type: 'MESSAGES_SNAPSHOT' }),
    partsEvent(id(1), 1),
    partsEvent(id(2), 2),
    expect.objectContaining({ type: 'STATE_SNAPSHOT' }),
    { type: 'RUN_FINISHED', threadId: 't1', runId: 'r1' },
  ])
  const { messages } = reloaded[1] as unknown as { messages: { id: string; content: string }[] }
  expect(messages.filter(({ content }) => content === 'Which size?').map((message) => message.id)).toEqual([
    id(1),
    id(2),
  ])
})

test('a choice is in `forwardedProps`, and a later run without it gets the messages', async () => {
  const { run, documents } = start()
  await run([said('m1', 'Hello')])
  const press = said('m2', 'The big one')
  const answered = await run([press], { choice: { turn: 1, name: 'size', value: 'l' } })
  expect(answered).toContainEqual({ type: 'TEXT_MESSAGE_CONTENT', messageId: 'm2-reply', delta: 'You get l.' })
  const later = await run([press])
  expect(later.map(({ type }) => type)).toEqual([
    ...['RUN_STARTED', 'MESSAGES_SNAPSHOT', 'CUSTOM', 'STATE_SNAPSHOT', 'RUN_FINISHED'],
  ])
  expect([...documents.values()].map(({ turns }) => turns)).toEqual([2])
})

test('a choice of another form is refused', async () => {
  const refused = await start().post({ threadId: 't1', runId: 'r1', messages: [], forwardedProps: { choice: 'l' } })
  expect([refused.status, await refused.text()]).toEqual([400, "The field 'choice' must be an object."])
})
