// Parts of a script, and the choice of a page.
import { setupServer } from 'msw/node'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { createChat } from '../../adapters/client/index.js'
import { card, choices } from '../../src/parts/index.js'
import { flowServiceHandlers } from './index.js'

const server = setupServer()

beforeAll(() => server.listen({ onUnhandledRequest: 'error' }))
afterEach(() => server.resetHandlers())
afterAll(() => server.close())

const size = choices('size', [{ value: 'l', label: 'Large' }])

test.each([true, false])('a page gets the parts with the number of their turn, streamed: %s', async (stream) => {
  const order = card({ title: 'Order 4711', rows: [] })
  const service = flowServiceHandlers(
    ['Hello.', { reply: 'Which size?', parts: [size, order] }, ({ choice }) => `You get ${choice?.value}.`],
    { stream },
  )
  server.use(...service)
  const chat = createChat({ url: 'https://shop.example/ai', flow: 'Shop' })
  expect(await chat.send('Hi')).not.toHaveProperty('parts')
  const { parts } = await chat.send('A shirt')
  expect(parts).toEqual([{ ...size, turn: 2 }, order])
  const choice = { turn: 2, name: 'size', value: 'l' }
  expect((await chat.send('Large', { choice })).text).toBe('You get l.')
  expect(service.runs.map((run) => run.choice)).toEqual([undefined, undefined, choice])
  service.assertDone()
})

test('parts that no flow may send are refused at once', () => {
  const script = (reply: string, parts: unknown) => () => flowServiceHandlers([{ reply, parts: parts as never }])
  expect(script('Which size?', [size, size])).toThrow('A reply may have at most 8 parts')
  expect(script('Which size?', [{ type: 'choices' }])).toThrow('withParts needs parts')
  expect(script('', [size])).toThrow('Parts need a reply with a text')
})
