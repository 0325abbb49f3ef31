// Errors as real clients and runtimes throw them, and errors that look like them.
import { describe, expect, test, vi } from 'vitest'
import { ModelBlockedError, ModelError } from '../index.js'
import { retryAdvice } from './model-failure.js'

const now = Date.UTC(2026, 0, 1, 12, 0, 0)

function error(message: string, fields: object = {}): Error {
  return Object.assign(new Error(message), fields)
}

function typeError(message: string, cause?: unknown): TypeError {
  return new TypeError(message, { cause })
}

function named(name: string, message = 'It failed.'): Error {
  return error(message, { name })
}

/** What `@ai-sdk/*` throws. */
function apiCallError(statusCode: number | undefined, isRetryable: boolean, cause?: unknown): Error {
  return error('The call failed.', { name: 'AI_APICallError', statusCode, isRetryable, cause })
}

describe('is retryable', () => {
  test.each<[string, unknown]>([
    ...[408, 409, 429, 500, 502, 503, 504, 529, 599].map((statusCode): [string, unknown] => [
      `status ${statusCode}`,
      error('no', { statusCode }),
    ]),
    ["status 503 in `status`, as OpenAI's client has it", error('no', { status: 503 })],
    ['`status` where statusCode is null', error('no', { statusCode: null, status: 503 })],
    ['APICallError 429', apiCallError(429, true)],
    ['APICallError without a status: no connection', apiCallError(undefined, true, typeError('fetch failed'))],
    ['isRetryable true over a lasting status', error('no', { statusCode: 400, isRetryable: true })],
    ['an answer that broke off: status 200', apiCallError(200, false, typeError('terminated'))],
    [
      'ModelError over a status',
      new ModelError({ provider: 'p', model: 'm', cause: error('no', { statusCode: 503 }) }),
    ],
    ['a wrapper over a status', new Error('The gateway failed.', { cause: error('no', { status: 429 }) })],
    ['Node: fetch failed', typeError('fetch failed', error('no', { code: 'ECONNREFUSED' }))],
    ['Node: ECONNRESET', error('read ECONNRESET', { code: 'ECONNRESET' })],
    ['Node: EPIPE', error('write EPIPE', { code: 'EPIPE' })],
    ['Node: ENOTFOUND', error('getaddrinfo ENOTFOUND', { code: 'ENOTFOUND' })],
    ['Node: EAI_AGAIN', error('getaddrinfo EAI_AGAIN', { code: 'EAI_AGAIN' })],
    ['Node: EHOSTUNREACH', error('no', { code: 'EHOSTUNREACH' })],
    ['Node: ENETUNREACH', error('no', { code: 'ENETUNREACH' })],
    ['Node: ETIMEDOUT', error('no', { code: 'ETIMEDOUT' })],
    ['Node: terminated', typeError('terminated', error('other side closed', { code: 'UND_ERR_SOCKET' }))],
    ['undici: UND_ERR_CONNECT_TIMEOUT', error('Connect Timeout Error', { code: 'UND_ERR_CONNECT_TIMEOUT' })],
    ['undici: UND_ERR_HEADERS_TIMEOUT', error('Headers Timeout Error', { code: 'UND_ERR_HEADERS_TIMEOUT' })],
    ['undici: UND_ERR_BODY_TIMEOUT', error('Body Timeout Error', { code: 'UND_ERR_BODY_TIMEOUT' })],
    ['AbortSignal.timeout', new DOMException('The operation was aborted due to timeout', 'TimeoutError')],
    ['Chrome', typeError('Failed to fetch')],
    ['Chrome, in a body', typeError('network error')],
    ['Firefox', typeError('NetworkError when attempting to fetch resource.')],
    ['Safari', typeError('Load failed')],
    ['Safari, offline', typeError('The Internet connection appears to be offline.')],
    ['Safari, no server', typeError('Could not connect to the server.')],
    ['Safari, lost', typeError('The network connection was lost.')],
    ['React Native', typeError('Network request failed')],
    ['workerd', error('Network connection lost.')],
    ['Deno', typeError('error sending request for url (https://models.example/)')],
    ['Deno, in a body', typeError('error reading a body from connection')],
    ['Deno.errors.ConnectionRefused', named('ConnectionRefused')],
    ['Deno.errors.TimedOut', named('TimedOut')],
    ['Deno.errors.BrokenPipe', named('BrokenPipe')],
    ['Deno.errors.UnexpectedEof', named('UnexpectedEof')],
    ['Deno, before a connection', typeError('error trying to connect: tcp connect error')],
    ['Bun', error('Unable to connect. Is the computer able to access the url?', { code: 'ConnectionRefused' })],
    ['Bun, in a body', error('The socket connection was closed unexpectedly.', { code: 'ConnectionClosed' })],
    ['OpenAI: APIConnectionError', error('Connection error.')],
    ['OpenAI: APIConnectionTimeoutError', error('Request timed out.')],
    ['axios', error('Network Error', { code: 'ERR_NETWORK' })],
  ])('%s', (_name, thrown) => {
    expect(retryAdvice(thrown, now).isRetryable).toBe(true)
  })
})

describe('is not retryable', () => {
  const circle = error('round')
  Object.assign(circle, { cause: error('and round', { cause: circle }) })
  let deep: Error = error('no', { statusCode: 503 })
  for (let depth = 0; depth < 6; depth++) deep = new Error('further up', { cause: deep })

  test.each<[string, unknown]>([
    ...[400, 401, 403, 404, 413, 422, 600, 1006, Number.NaN, -1].map((statusCode): [string, unknown] => [
      `status ${statusCode}`,
      error('no', { statusCode, cause: error('no', { code: 'ECONNRESET' }) }),
    ]),
    ['APICallError 400', apiCallError(400, false, error('no', { code: 'ECONNRESET' }))],
    ['isRetryable false over a transient status', error('no', { statusCode: 503, isRetryable: false })],
    ['an answer that is not valid JSON: status 200', apiCallError(200, false, new SyntaxError('Unexpected token <'))],
    ['ModelError', new ModelError({ provider: 'p', model: 'm', detail: 'network error' })],
    ['ModelBlockedError', new ModelBlockedError({ provider: 'p', model: 'm' })],
    ['a programming error: not a function', typeError('fetch is not a function')],
    [
      'a programming error: a property of undefined',
      typeError("Cannot read properties of undefined (reading 'connection')"),
    ],
    ['a programming error: a URL', typeError('Failed to parse URL from /chat')],
    ['a wrong argument', error('invalid', { code: 'UND_ERR_INVALID_ARG' })],
    ['an abort', new DOMException('This operation was aborted', 'AbortError')],
    ['an error without a known code, name or message', new Error('It failed.')],
    ['a status that is a text', error('no', { status: '503' })],
    ['undefined', undefined],
    ['null', null],
    ['a string', 'fetch failed'],
    ['a number', 503],
    ['a function', () => undefined],
    ['an object', {}],
    ['a circle of causes', circle],
    ['a cause too far down', deep],
    [
      'getters that throw',
      {
        get isRetryable() {
          throw new Error('No.')
        },
      },
    ],
    [
      'a Proxy that throws',
      new Proxy(
        {},
        {
          get() {
            throw new Error('No.')
          },
        },
      ),
    ],
  ])('%s', (_name, thrown) => {
    expect(retryAdvice(thrown, now)).toEqual({ isRetryable: false, retryAfterMs: 0 })
  })
})

describe('the time that a provider asks for', () => {
  const waits = (headers: unknown): number =>
    retryAdvice(error('no', { statusCode: 429, responseHeaders: headers }), now).retryAfterMs

  test.each<[string, unknown, number]>([
    ['seconds', { 'retry-after': '20' }, 20_000],
    ['fractions of a second', { 'retry-after': '1.5' }, 1_500],
    ['a number', { 'retry-after': 2 }, 2_000],
    ['any case', { 'Retry-After': '20' }, 20_000],
    ['Headers', new Headers({ 'Retry-After': '20' }), 20_000],
    ['a date', { 'retry-after': 'Thu, 01 Jan 2026 12:00:30 GMT' }, 30_000],
    [
      'a date, from the date of the response',
      { date: 'Thu, 01 Jan 2026 05:00:00 GMT', 'retry-after': 'Thu, 01 Jan 2026 05:00:07 GMT' },
      7_000,
    ],
    [
      'a date, where that of the response is garbage',
      { date: 'soon', 'retry-after': 'Thu, 01 Jan 2026 12:00:30 GMT' },
      30_000,
    ],
    ['a date that has passed', { 'retry-after': 'Thu, 01 Jan 2026 11:00:00 GMT' }, 0],
    ['milliseconds', { 'retry-after-ms': '250' }, 250],
    ['milliseconds before seconds', { 'retry-after': '1', 'retry-after-ms': '250' }, 250],
    ['seconds if the milliseconds are garbage', { 'retry-after': '1', 'retry-after-ms': 'soon' }, 1_000],
    ['more than a number can hold', { 'retry-after': '9'.repeat(400) }, Number.POSITIVE_INFINITY],
    ['nothing', {}, 0],
    ['an empty text', { 'retry-after': '' }, 0],
    ['a negative number', { 'retry-after': '-5' }, 0],
    ['the word Infinity', { 'retry-after': 'Infinity' }, 0],
    ['hexadecimal', { 'retry-after': '0x10' }, 0],
    ['garbage', { 'retry-after': 'later 2099' }, 0],
    ['garbage that ends like a date', { 'retry-after': 'later GMT' }, 0],
    ['null', null, 0],
    ['a list', [], 0],
    ['a text', 'retry-after: 5', 0],
    [
      'a getter that throws',
      {
        get 'retry-after'() {
          throw new Error('No.')
        },
      },
      0,
    ],
  ])('%s', (_name, headers, expected) => {
    expect(waits(headers)).toBe(expected)
    expect(retryAdvice(error('no', { statusCode: 429, responseHeaders: headers }), now).isRetryable).toBe(true)
  })

  test('is read from `headers` as well, and from a cause', () => {
    const cause = error('no', { status: 429, headers: new Headers({ 'Retry-After': '3' }) })
    expect(retryAdvice(new Error('above', { cause }), now).retryAfterMs).toBe(3_000)
  })

  test('is 0 if the failure is not retryable', () => {
    const thrown = error('no', { statusCode: 400, responseHeaders: { 'retry-after': '3' } })
    expect(retryAdvice(thrown, now).retryAfterMs).toBe(0)
  })
})

test('a failure without headers does not load the HTTP client of Node.js', () => {
  const headers = vi.spyOn(globalThis, 'Headers')
  try {
    expect(retryAdvice(error('no', { statusCode: 503 }), now)).toEqual({ isRetryable: true, retryAfterMs: 0 })
    expect(headers).not.toHaveBeenCalled()
  } finally {
    headers.mockRestore()
  }
})

test('only the beginning of a long text is read', () => {
  const thrown = error(`${'socket'.repeat(100_000)}!`)
  expect(retryAdvice(thrown, now).isRetryable).toBe(true)
})
