import { expect, test } from 'vitest'
import { type Chat, MemoryChatSessions } from './chat-sessions.js'

const chatOf = (id: string): Chat => ({ owner: 'ada', flow: 'Test', id })

test('the memory keeps the 10 000 most recently used chats', async () => {
  const sessions = new MemoryChatSessions()
  await sessions.save(chatOf('loaded'), 's1')
  await sessions.save(chatOf('saved'), 's2')
  await sessions.save(chatOf('forgotten'), 's3')
  for (let index = 0; index < 9_998; index++) {
    await sessions.save(chatOf(`other-${index}`), 's4')
    if (index === 5_000) await sessions.load(chatOf('loaded'))
    if (index === 6_000) await sessions.save(chatOf('saved'), 's5')
  }
  expect(await sessions.load(chatOf('loaded'))).toBe('s1')
  expect(await sessions.load(chatOf('saved'))).toBe('s5')
  expect(await sessions.load(chatOf('forgotten'))).toBeUndefined()
})

test('loading an unknown chat evicts none', async () => {
  const sessions = new MemoryChatSessions()
  for (let index = 0; index < 10_000; index++) await sessions.save(chatOf(`chat-${index}`), 's1')
  expect(await sessions.load(chatOf('unknown'))).toBeUndefined()
  await sessions.save(chatOf('chat-9999'), 's2')
  expect(await sessions.load(chatOf('chat-0'))).toBe('s1')
})
