import { describe, expect, test } from 'vitest'
import { lines } from '../../testing/contract/test-flows.js'
import type { Message } from '../model/message.js'
import { referenceTo } from '../session/attachments.js'
import { listBytes, shareList } from '../session/lists/shared-lists.js'
import type { SessionDocument } from '../session/session-document.js'
import { ConversationMemory, message, textMessage } from './conversation-memory.js'

const stored = {
  Ask: { messages: Object.freeze([textMessage('user', 'Hello', 1), textMessage('assistant', 'Your name?', 1)]) },
  Other: { messages: Object.freeze([]) },
}

const photo = Object.freeze({ type: 'image', mediaType: 'image/png', data: 'aGk=' } as const)

/** The memory of a turn of a session that has these messages. */
function memoryOf(memory: SessionDocument['flow']['memory']): ConversationMemory {
  return new ConversationMemory({ flow: { memory } as SessionDocument['flow'] })
}

describe('a message', () => {
  test('is frozen, with its parts', () => {
    const made = textMessage('user', 'Hello', 3)
    expect(made).toEqual({ role: 'user', parts: [{ type: 'text', text: 'Hello' }], turn: 3 })
    expect([made, made.parts, made.parts[0]].map(Object.isFrozen)).toEqual([true, true, true])
    expect(Object.isFrozen(message('tool', [], 1).parts)).toBe(true)
  })
})

describe('the memory of a turn', () => {
  test('returns the stored messages, and an empty list for a namespace that is not stored', () => {
    const memory = memoryOf(stored)
    expect(lines(memory.messages('Ask'))).toEqual(['user: Hello', 'assistant: Your name?'])
    expect(memory.messages('New')).toEqual([])
    expect(memory.messages('constructor')).toEqual([])
  })

  test('grows during the turn, and does not change the stored list', () => {
    const memory = memoryOf(stored)
    const before = memory.messages('Ask')
    memory.append('Ask', textMessage('user', 'Ada', 2))
    expect(lines(memory.messages('Ask')).at(-1)).toBe('user: Ada')
    expect(stored.Ask.messages).toHaveLength(2)
    expect(before).toHaveLength(2)
  })

  test('returns frozen lists that do not grow later', () => {
    const memory = memoryOf(stored)
    memory.append('Ask', textMessage('user', 'Ada', 2))
    const seen = memory.messages('Ask') as Message[]
    expect(memory.messages('Ask')).toBe(seen)
    expect(() => seen.push(textMessage('user', 'forged', 2))).toThrow(TypeError)
    memory.append('Ask', textMessage('assistant', 'Hello, Ada.', 2))
    expect(lines(seen).at(-1)).toBe('user: Ada')
  })

  test("appends the user's message once for each namespace", () => {
    const memory = memoryOf(stored)
    memory.appendUserMessage('Ask', 'Ada', 2)
    memory.appendUserMessage('Ask', 'Ada', 2)
    memory.appendUserMessage('Other', 'Ada', 2)
    expect(lines(memory.messages('Ask')).slice(2)).toEqual(['user: Ada'])
    expect(lines(memory.messages('Other'))).toEqual(['user: Ada'])
  })

  test('appends attachments once for each namespace, with the first text', () => {
    const memory = memoryOf(stored)
    const attachments = Object.freeze([photo])
    memory.appendUserMessage('Ask', 'Look', 2, attachments)
    memory.appendUserMessage('Ask', 'Look', 2, attachments)
    memory.appendUserMessage('Ask', 'Read it', 2, attachments)
    memory.appendUserMessage('Other', '', 2, attachments)
    expect(lines(memory.messages('Ask')).slice(2)).toEqual(['user: Look + image/png', 'user: Read it'])
    expect(memory.messages('Other')).toEqual([{ role: 'user', parts: [photo], turn: 2 }])
    expect(attachments).toEqual([photo])
  })

  test('keeps the bytes of a photo once for all memories of a turn, and gives each a reference', () => {
    const memory = memoryOf(stored)
    const file = Object.freeze({ type: 'file', mediaType: 'application/pdf', data: 'JVBE', name: 'a.pdf' } as const)
    const link = Object.freeze({ type: 'image', mediaType: 'image/png', url: 'https://files.example/a.png' } as const)
    const sent = [photo, file, link]
    memory.appendUserMessage('Ask', 'Look', 2, sent)
    memory.appendUserMessage('Other', 'Look', 2, sent)
    expect(memory.attachments?.list).toEqual([
      { id: '2-0', turn: 2, data: 'aGk=' },
      { id: '2-1', turn: 2, data: 'JVBE' },
    ])
    const references = [
      { type: 'image', mediaType: 'image/png', attachment: '2-0' },
      { type: 'file', mediaType: 'application/pdf', name: 'a.pdf', attachment: '2-1' },
      link,
    ]
    const next = memory.toStored()
    expect([next.Ask, next.Other].map((one) => one?.messages.at(-1)?.parts.slice(1))).toEqual([references, references])
    expect(next.Other?.messages[0]?.parts[3]).toBe(link)
    // A model gets what was sent.
    expect(memory.messages('Ask').at(-1)?.parts.slice(1)).toEqual(sent)
    expect(memory.last('Ask')?.parts.slice(1)).toEqual(references)
  })

  test('puts the attachments of a turn behind the stored ones, and counts their bytes', () => {
    const attachments = shareList([{ id: '1-0', turn: 1, data: 'AAAA' }])
    const memory = new ConversationMemory({
      flow: { memory: stored } as unknown as SessionDocument['flow'],
      attachments,
    })
    expect([memory.attachments?.list, memory.addedBytes]).toEqual([attachments, 0])
    memory.appendUserMessage('Ask', '', 2, [photo])
    expect(memory.attachments?.list.map(({ id }) => id)).toEqual(['1-0', '2-0'])
    const added = [...(memory.attachments?.list.slice(1) ?? []), ...(memory.toStored().Ask?.messages.slice(2) ?? [])]
    expect(memory.addedBytes).toBe(listBytes(added))
    expect(memory.attachments?.change).toEqual({ removed: 0, appended: 1, isRewritten: false })
  })

  test('reads a photo whose bytes were removed as a text; without attachments it has the stored list', () => {
    const messages = shareList([
      Object.freeze({ role: 'user', parts: [referenceTo(photo, '1-0')], turn: 1 } as const),
      textMessage('assistant', 'Nice.', 1),
    ])
    const flow = { memory: { Ask: { messages } } } as unknown as SessionDocument['flow']
    const memory = new ConversationMemory({ flow, attachments: shareList<never>([]) })
    const text = '[The user sent an image of type image/png here. It is no longer available.]'
    expect(lines(memory.messages('Ask'))).toEqual([`user: ${text}`, 'assistant: Nice.'])
    expect(memory.messages('Ask')[1]).toBe(messages[1])
    expect(memoryOf(stored).messages('Ask')).toBe(stored.Ask.messages)
  })

  test('knows every namespace, those that the turn did not use included', () => {
    const memory = memoryOf(stored)
    memory.append('New', textMessage('user', 'Hi', 2))
    // Reading is not use.
    memory.messages('Ask')
    expect(memory.namespaces).toEqual(['Ask', 'Other', 'New'])
    expect([...memory.touched.keys()]).toEqual(['New'])
  })

  test('counts the messages that each namespace gained, and about how many bytes', () => {
    const memory = memoryOf(stored)
    memory.open('Other')
    expect(memory.addedBytes).toBe(0)
    memory.appendUserMessage('Ask', 'Ada', 2)
    memory.append('Ask', textMessage('assistant', 'Hello, Ada.', 2))
    expect([...memory.touched].map(([name, { messages }]) => [name, messages.change])).toEqual([
      ['Other', { removed: 0, appended: 0, isRewritten: false }],
      ['Ask', { removed: 0, appended: 2, isRewritten: false }],
    ])
    // Two messages as JSON; commas may be counted or not.
    const json = JSON.stringify(memory.messages('Ask').slice(2)).length
    expect(Math.abs(memory.addedBytes - json)).toBeLessThan(30)
  })
})

describe('the memory to be stored', () => {
  test('is the stored memory itself if no namespace was used', () => {
    expect(memoryOf(stored).toStored()).toBe(stored)
  })

  test('shares the lists that did not grow, and freezes those that did', () => {
    const memory = memoryOf(stored)
    memory.open('Other')
    memory.appendUserMessage('Ask', 'Ada', 2)
    const next = memory.toStored()
    expect(next.Other).toBe(stored.Other)
    expect(lines(next.Ask?.messages)).toEqual(['user: Hello', 'assistant: Your name?', 'user: Ada'])
    expect(Object.isFrozen(next.Ask?.messages)).toBe(true)
    expect(next.Ask?.messages[0]).toBe(stored.Ask.messages[0])
  })

  test('has the lists that lost messages, an empty one included', () => {
    const memory = memoryOf(stored)
    memory.open('Ask').messages.removeOldest(2)
    expect(memory.toStored()).toEqual({ Ask: { messages: [] }, Other: { messages: [] } })
    expect(memory.addedBytes).toBe(-listBytes(stored.Ask.messages))
  })

  test('has no namespace that was only read', () => {
    const memory = memoryOf(stored)
    memory.messages('New')
    expect(Object.keys(memory.toStored())).toEqual(['Ask', 'Other'])
  })
})
