// What replies carry beside their text, as parts of messages, and the choice that comes back.
import { afterEach, expect, test } from 'vitest'
import { FlowEngine, MemorySessionStore, type SessionDocument } from '../../src/index.js'
import { Ordering, sentBy } from '../../testing/contract/http/rich-replies.js'
import { createUiMessageHandler, type FlowMessage } from './index.js'

const cleanUps: (() => Promise<void>)[] = []

afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0)) await cleanUp()
})

type Chunk = { readonly type: string; readonly delta?: string; readonly errorText?: string }

function start() {
  const documents = new Map<string, SessionDocument>()
  const engine = new FlowEngine({ flows: [Ordering], sessionStore: new MemorySessionStore({ backing: documents }) })
  cleanUps.push(() => engine.close())
  const handler = createUiMessageHandler(engine, { flow: 'Ordering', authorize: () => ({ principal: 'ada' }) })
  const post = (body: object): Promise<Response> =>
    handler(
      new Request('https://shop.example/api/chat', { method: 'POST', body: JSON.stringify({ id: 'c1', ...body }) }),
    )
  const send = async (body: object): Promise<Chunk[]> => {
    const lines = (await (await post(body)).text()).split('\n\n').filter((line) => line.startsWith('data: {'))
    return lines.map((line) => JSON.parse(line.slice(6)))
  }
  const say = (id: string, text: string, more: object = {}): Promise<Chunk[]> =>
    send({ messages: [{ id, role: 'user', parts: [{ type: 'text', text }] }], ...more })
  const shown = async (query = ''): Promise<FlowMessage[]> => {
    const response = await handler(new Request(`https://shop.example/api/chat/c1${query}`))
    return ((await response.json()) as { messages: FlowMessage[] }).messages
  }
  return { documents, post, send, say, shown }
}

/** The chunks of a stream between its text and its end. */
const beside = (chunks: readonly Chunk[]): unknown[] =>
  chunks.filter(({ type }) => type === 'file' || type.startsWith('data-'))
const textOf = (chunks: readonly Chunk[]): string => chunks.map(({ delta = '' }) => delta).join('')

/** The parts of a message, from the fields of those that the flow sent. */
function partsOf(turn: number): object[] {
  const [choices, card, form, , custom] = sentBy(turn).map(({ type: _type, ...data }: { type?: string }) => data)
  return [
    { type: 'data-choices', id: 'part-1', data: choices },
    { type: 'data-card', id: 'part-2', data: card },
    { type: 'data-form', id: 'part-3', data: form },
    { type: 'file', mediaType: 'application/pdf', url: 'https://files.example/4711' },
    { type: 'data-map', id: 'part-5', data: (custom as { data: object }).data },
  ]
}

test('the parts follow the text, and the transcript, its news and a repeat have the same', async () => {
  const { say, send, shown } = start()
  const first = await say('m1', 'Hello')
  expect(beside(first)).toEqual(partsOf(1))
  expect(first.map(({ type }) => type).slice(-7)).toEqual([
    ...['text-end', 'data-choices', 'data-card', 'data-form', 'file', 'data-map', 'finish'],
  ])
  expect(partsOf(1)[0]).toMatchObject({ data: { turn: 1, name: 'size' } })
  await say('m2', 'again')
  const messages = await shown()
  const replies = messages.filter(({ role }) => role === 'assistant')
  const text = { type: 'text', text: 'Which size?' }
  expect(replies.map(({ parts }) => parts)).toEqual([
    [text, ...partsOf(1)],
    [text, ...partsOf(2)],
  ])
  expect((await shown('?after=1')).at(-1)?.parts).toEqual([text, ...partsOf(2)])
  expect(await say('m1', 'Hello')).toEqual(first)
  // A message of the transcript.
  expect(beside(await send({ messages: messages.slice(0, 1) }))).toEqual(partsOf(1))
})

test('a choice is a field of the body, and `regenerate()` without it gets the recorded reply', async () => {
  const { say, documents } = start()
  await say('m1', 'Hello')
  const press = { choice: { turn: 1, name: 'size', value: 'l' } }
  const [, pressed, again] = await Promise.all([
    say('m2', 'again', { choice: { turn: 7, name: 'size', value: 'l' } }),
    say('m3', 'The big one', { choice: { turn: 2, name: 'size', value: 'l' } }),
    say('m3', 'The big one'),
  ])
  expect(textOf(pressed)).toBe('You get l.')
  expect(again).toEqual(pressed)
  expect(await say('m3', 'The big one')).toEqual(pressed)
  expect((await say('m4', 'Large', press)).at(-1)?.type).toBe('error')
  expect([...documents.values()].map(({ turns }) => turns)).toEqual([3])
})

test('a choice of another form is refused', async () => {
  const { post, say } = start()
  const refused = await post({ messages: [], choice: 'l' })
  expect([refused.status, await refused.text()]).toEqual([400, "The field 'choice' must be an object."])
  const wrong = await say('m1', 'Large', { choice: { turn: '1' } })
  expect(wrong.at(-1)?.errorText).toContain('choice must be')
})
