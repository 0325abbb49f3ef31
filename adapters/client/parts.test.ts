// What replies carry beside their text, and the buttons of it, from a page.
import { describe, expect, test } from 'vitest'
import { FlowEngine } from '../../src/index.js'
import { Ordering, sentBy } from '../../testing/contract/http/rich-replies.js'
import { createFetchHandler } from '../fetch/index.js'
import { type ChatTurn, createChat } from './index.js'

const large = { turn: 1, name: 'size', value: 'l' }

/** A page whose network loses the reply to each request that has an entry in `lost`. */
function setUp(stream: boolean) {
  const engine = new FlowEngine({ flows: [Ordering] })
  const handler = createFetchHandler(engine, { stream, session: true })
  const lost: true[] = []
  const bodies: { choice?: unknown }[] = []
  const send: typeof fetch = async (path, init) => {
    if (typeof init?.body === 'string') bodies.push(JSON.parse(init.body))
    const response = await handler(new Request(`http://chat.example${path}`, init))
    if (lost.pop()) throw new TypeError('Failed to fetch')
    return response
  }
  const entries = new Map<string, string>()
  const storage = {
    getItem: (name: string) => entries.get(name) ?? null,
    setItem: (name: string, value: string) => void entries.set(name, value),
    removeItem: (name: string) => void entries.delete(name),
  }
  const open = () => createChat({ url: '/ai', flow: 'Ordering', storage, fetch: send })
  return { open, lost, bodies }
}

const partsOf = (turns: readonly ChatTurn[]): unknown[] => turns.map(({ parts }) => parts)

describe.each([true, false])('streamed: %s', (stream) => {
  test('a turn has the parts of its reply, after a reload and a refresh, too', async () => {
    const { open } = setUp(stream)
    const chat = open()
    expect(await chat.send('Hello')).toMatchObject({ status: 'answered', text: 'Which size?', parts: sentBy(1) })
    const other = open()
    expect(partsOf(await other.history())).toEqual([sentBy(1)])
    await chat.send('again')
    expect(partsOf(await other.refresh())).toEqual([sentBy(1), sentBy(2)])
    expect(await chat.send('Large')).not.toHaveProperty('parts')
    expect(partsOf(await chat.refresh())).toEqual([sentBy(1), sentBy(2), undefined])
  })

  test('a choice goes with its message, and again after a reload', async () => {
    const { open, lost, bodies } = setUp(stream)
    const chat = open()
    await chat.send('Hello')
    lost.push(true)
    const first = chat.send('The big one', { choice: large })
    await new Promise((resolve) => chat.on('retry', resolve))
    // The page is left before it sends the message again.
    expect(await open().resume()).toMatchObject([{ message: 'The big one', text: 'You get l.', attachments: [] }])
    await chat.stop()
    await first
    expect(bodies.map(({ choice }) => choice)).toEqual([undefined, large, large])
  })
})

test('what is neither a list of attachments nor has a choice is refused, and nothing is sent', async () => {
  const { open, bodies } = setUp(true)
  for (const beside of [{}, { choice: undefined }, { turn: 1 }]) {
    await expect(open().send('Large', beside as never)).rejects.toThrow(TypeError)
  }
  expect(bodies).toEqual([])
})
