import { describe, expect, test } from 'vitest'
import { Refusal } from '../reply/refusal.js'
import { asksForStream, checkContentType, readSessionHeader, sessionOfRefused } from './headers.js'

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

test.each([
  [{}, ''],
  [{ CHAT_SESSION_ID: '' }, ''],
  [{ CHAT_SESSION_ID: 'a b' }, ''],
  [{ CHAT_SESSION_ID: 'abc' }, 'abc'],
  [{ 'Chat-Session-Id': 'abc' }, 'abc'],
  [{ CHAT_SESSION_ID: '', 'Chat-Session-Id': 'abc' }, 'abc'],
])('the session that a refused request names: %j: %j', (headers, sessionId) => {
  expect(sessionOfRefused(new Headers(headers as Record<string, string>))).toBe(sessionId)
})

describe('checkContentType', () => {
  const check = (headers: Record<string, string>) => () =>
    checkContentType(new Request('http://chat.example/ai/run', { method: 'POST', headers }))

  test.each([
    [{}],
    [{ 'Content-Type': 'text/plain' }],
    [{ Origin: 'https://a.example', 'Content-Type': 'application/json' }],
    [{ Origin: 'https://a.example', 'Content-Type': 'Application/JSON; charset=utf-8' }],
    [{ Origin: 'https://a.example', 'Content-Type': 'application/json ; charset=utf-8' }],
    [{ Origin: 'https://a.example', 'Content-Type': 'application/vnd.chat+json' }],
  ])('lets %j through', (headers) => {
    expect(check(headers as Record<string, string>)).not.toThrow()
  })

  test.each([
    [{ Origin: 'https://a.example' }],
    [{ Origin: 'null', 'Content-Type': 'text/plain' }],
    [{ Origin: 'https://a.example', 'Content-Type': 'text/plain;application/json' }],
    [{ Origin: 'https://a.example', 'Content-Type': 'application/x-www-form-urlencoded' }],
    [{ Origin: 'https://a.example', 'Content-Type': 'application/vnd.chat+jsonp' }],
    [{ Origin: 'https://a.example', 'Content-Type': 'text/x-application/vnd.chat+json' }],
    [{ Origin: 'https://a.example', 'Content-Type': 'multipart/form-data; boundary=x' }],
    [{ Origin: 'https://a.example', 'Content-Type': 'text/plain+json' }],
  ])('refuses %j', (headers) => {
    expect(check(headers as Record<string, string>)).toThrow(
      new Refusal('The request body must be sent as application/json.', 415),
    )
  })
})

const asks = (accept: string): boolean => asksForStream(new Headers({ Accept: accept }))

describe('asksForStream', () => {
  test.each([
    'text/event-stream',
    'Text/Event-Stream',
    ' text/event-stream ; charset=utf-8',
    'text/event-stream, */*',
    'text/event-stream;q=0.5',
    'text/event-stream;q=0.001, text/html',
    'text/event-stream, application/json',
    'application/json, text/event-stream',
    'application/json;q=0.4, text/event-stream;Q = 0.5',
    'application/json;q=0, text/event-stream;q=0.1, */*',
    'application/*;q=0.2, */*, text/event-stream;q=0.3',
    'text/event-stream;q=0.2, text/event-stream;q=1.000, */*',
    'text/event-stream;v="a,application/json",,',
    'text/event-stream;v="\\",application/json";q=1',
    'text/event-stream;v=";q=0"',
    'text/event-stream;q=0.5;v="\\",application/json,"',
    'application/json;q=abc, text/event-stream;q=0.5',
    'application/json;q=10, text/event-stream;q=0.5',
  ])('%j does', (accept) => {
    expect(asks(accept)).toBe(true)
  })

  test.each([
    '*/*',
    'text/*',
    '',
    'application/json',
    'application/json, text/event-stream;q=0.5',
    'text/event-stream;q=0.5, */*;q=0.6',
    'text/event-stream;q = 0.5, application/json;q=0.6',
    'text/event-stream;q=0.5;v="a", application/json',
    'text/event-stream;q=0.5, application/*',
    'text/event-stream;q=0',
    'text/event-stream;q=0.000',
    'text/event-stream;q=2',
    'text/event-stream;q=-1',
    'text/event-stream;q=0.1234',
    'text/event-stream;q=abc',
    'text/event-stream;q=',
    'text/event-streams',
    'x-text/event-stream',
    'application/json;v="text/event-stream"',
    'application/json;v="a,text/event-stream,b"',
  ])('%j does not', (accept) => {
    expect(asks(accept)).toBe(false)
  })

  test('no header asks for none', () => {
    expect(asksForStream(new Headers())).toBe(false)
  })

  test('two headers are one list', () => {
    const headers = new Headers({ Accept: 'application/json;q=0.5' })
    headers.append('Accept', 'text/event-stream')
    expect(asksForStream(headers)).toBe(true)
  })
})
