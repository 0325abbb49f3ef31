import { describe, expect, test } from 'vitest'
import { Refusal } from '../reply/refusal.js'
import { readSessionHeader } from './session-header.js'

const read = (headers: Record<string, string>): unknown => readSessionHeader(new Headers(headers))
const shape =
  'The CHAT_SESSION_ID header must be at most 256 visible ASCII characters, without spaces and commas, and be sent once.'

describe('readSessionHeader', () => {
  test.each([
    [{}, { sessionId: '', dashed: false }],
    [{ CHAT_SESSION_ID: '' }, { sessionId: '', dashed: false }],
    [{ 'Chat-Session-Id': '' }, { sessionId: '', dashed: true }],
    [{ CHAT_SESSION_ID: 'abc' }, { sessionId: 'abc', dashed: false }],
    [{ chat_session_id: 'abc' }, { sessionId: 'abc', dashed: false }],
    [{ 'Chat-Session-Id': 'abc' }, { sessionId: 'abc', dashed: true }],
    [
      { CHAT_SESSION_ID: 'abc', 'Chat-Session-Id': 'abc' },
      { sessionId: 'abc', dashed: true },
    ],
    [
      { CHAT_SESSION_ID: '!"#$%&\'()*+-./:;<=>?@[\\]^_`{|}~' },
      { sessionId: '!"#$%&\'()*+-./:;<=>?@[\\]^_`{|}~', dashed: false },
    ],
    [{ CHAT_SESSION_ID: 'x'.repeat(256) }, { sessionId: 'x'.repeat(256), dashed: false }],
  ])('%j is read', (headers, expected) => {
    expect(read(headers as Record<string, string>)).toEqual(expected)
  })

  test.each([
    ['257 characters', 'x'.repeat(257)],
    ['16 KB', 'x'.repeat(16_384)],
    ['a comma', 'a,b'],
    ['two headers that were joined', 'a, b'],
    ['a space', 'a b'],
    ['a tab', 'a\tb'],
    ['a character above ASCII', 'é'],
    ['a delete character', 'a\x7fb'],
  ])('%s is refused', (_name, value) => {
    expect(() => read({ CHAT_SESSION_ID: value })).toThrow(new Refusal(shape))
    expect(() => read({ 'Chat-Session-Id': value })).toThrow(new Refusal(shape))
  })

  test.each([[{ CHAT_SESSION_ID: 'a', 'Chat-Session-Id': 'b' }], [{ CHAT_SESSION_ID: '', 'Chat-Session-Id': 'b' }]])(
    'two forms that differ are refused: %j',
    (headers) => {
      expect(() => read(headers)).toThrow(
        new Refusal('The headers CHAT_SESSION_ID and Chat-Session-Id carry different session IDs.'),
      )
    },
  )
})
