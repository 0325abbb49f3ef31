import { describe, expect, test } from 'vitest'
import { type CorsOptions, createCors } from './cors.js'

const from = (origin?: string): Request =>
  new Request('http://chat.example/ai/run', { method: 'POST', headers: origin === undefined ? {} : { Origin: origin } })

function headersFor(options: CorsOptions, origin?: string, onError: (error: unknown) => void = () => {}): unknown {
  return createCors(options, onError).headersFor(from(origin))
}

const exposed =
  'CHAT_SESSION_ID, Chat-Session-Id, Chat-Reply, Chat-Completed, Chat-Encoding, Chat-Session-State, Chat-Session-Restarted, Chat-Replayed, Chat-Error, Chat-Request-Id'

describe('the headers of a reply', () => {
  test.each<[string, CorsOptions['origin']]>([
    ['one origin', 'https://a.example'],
    ['a list', ['https://b.example', 'https://a.example']],
    ['a function', (origin) => origin.endsWith('a.example')],
  ])('an allowed origin is named and may read the headers: %s', (_name, origin) => {
    expect(headersFor({ origin }, 'https://a.example')).toEqual({
      Vary: 'Origin',
      'Access-Control-Allow-Origin': 'https://a.example',
      'Access-Control-Expose-Headers': exposed,
    })
  })

  test.each<[string, CorsOptions['origin']]>([
    ['one origin', 'https://a.example'],
    ['a list', ['https://a.example']],
    ['an empty list', []],
    ['a function', () => false],
    ['a function that answers no boolean', (() => 'https://evil.example') as never],
  ])('another origin gets no CORS header, and a Vary header for caches: %s', (_name, origin) => {
    expect(headersFor({ origin }, 'https://evil.example')).toEqual({ Vary: 'Origin' })
  })

  test('a request without an Origin gets none either', () => {
    expect(headersFor({ origin: () => true })).toEqual({ Vary: 'Origin' })
  })

  test('credentials are allowed only when asked for, and never to an origin that is not allowed', () => {
    const options = { origin: 'https://a.example', credentials: true }
    expect(headersFor(options, 'https://a.example')).toMatchObject({ 'Access-Control-Allow-Credentials': 'true' })
    expect(headersFor(options, 'https://b.example')).toEqual({ Vary: 'Origin' })
  })

  test("'*' is the same for every request, so no cache needs to know the origin", () => {
    expect(headersFor({ origin: '*' }, 'https://a.example')).toEqual({
      'Access-Control-Allow-Origin': '*',
      'Access-Control-Expose-Headers': exposed,
    })
  })

  test('a function that throws allows nothing and is reported', () => {
    const reported: unknown[] = []
    const origin = (): boolean => {
      throw new Error('origins not loaded')
    }
    expect(headersFor({ origin }, 'https://a.example', (error) => reported.push(error))).toEqual({ Vary: 'Origin' })
    expect(reported).toEqual([new Error('origins not loaded')])
  })
})

describe('a preflight', () => {
  test('lists methods and headers by name', () => {
    const reply = createCors({ origin: 'https://a.example' }, () => {}).preflight(from('https://a.example'), ['POST'])
    expect(reply.status).toBe(204)
    expect(Object.fromEntries(reply.headers)).toEqual({
      allow: 'POST, OPTIONS',
      vary: 'Origin',
      'access-control-allow-origin': 'https://a.example',
      'access-control-allow-methods': 'POST',
      'access-control-allow-headers':
        'Content-Type, Authorization, CHAT_SESSION_ID, Chat-Session-Id, Idempotency-Key, Last-Event-ID, Chat-Request-Id',
      'access-control-max-age': '600',
    })
  })

  test('of a route with two methods lists both', () => {
    const reply = createCors({ origin: '*' }, () => {}).preflight(from('https://a.example'), ['GET', 'HEAD'])
    expect(reply.headers.get('access-control-allow-methods')).toBe('GET, HEAD')
  })

  test('from another origin gets no permission', () => {
    const reply = createCors({ origin: 'https://a.example' }, () => {}).preflight(from('https://b.example'), [
      'GET',
      'HEAD',
    ])
    expect(Object.fromEntries(reply.headers)).toEqual({ allow: 'GET, HEAD, OPTIONS', vary: 'Origin' })
  })
})
