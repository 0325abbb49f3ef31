import { expect, test } from 'vitest'
import type { Message, MessagePart } from '../index.js'
import { transcriptOf } from './summarize.js'

function said(role: Message['role'], ...parts: MessagePart[]): Message {
  return { role, parts, turn: 1 }
}

const text = (words: string): MessagePart => ({ type: 'text', text: words })

test('a transcript has the speakers and their texts, and describes everything else', () => {
  const call = { toolCallId: 'a', toolName: 'look_up' }
  const messages: Message[] = [
    { ...said('user', text('Summary so far.')), summary: true },
    said('user', text('Look:'), { type: 'image', mediaType: 'image/png', url: 'https://host/secret' }),
    said('assistant', { type: 'reasoning', text: 'Hm.' }, text('I see.'), {
      ...call,
      type: 'tool-call',
      input: { id: 7 },
    }),
    said('tool', { ...call, type: 'tool-result', output: { price: 40 } }),
    said('tool', { ...call, type: 'tool-result', output: 'Gone.', isError: true }),
  ]
  expect(transcriptOf(messages).split('\n\n')).toEqual([
    'Summary so far.',
    'User: Look:\n[image/png]',
    'Assistant: I see.\n[calls look_up: {"id":7}]',
    '[look_up answered: {"price":40}]',
    '[look_up failed: "Gone."]',
  ])
})
