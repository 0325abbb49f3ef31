import { describe, expect, test } from 'vitest'
import { asksForStream } from './asks-for-stream.js'

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

  test('no header does not', () => {
    expect(asksForStream(new Headers())).toBe(false)
  })

  test('two headers are one list', () => {
    const headers = new Headers({ Accept: 'application/json;q=0.5' })
    headers.append('Accept', 'text/event-stream')
    expect(asksForStream(headers)).toBe(true)
  })
})
