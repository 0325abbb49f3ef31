import { APICallError } from '@ai-sdk/provider'
import { describe, expect, test } from 'vitest'
import { ModelError } from '../../src/index.js'
import { callError, streamError } from './failure.js'

const selection = { provider: 'own', name: 'small', params: {} }
const cutOff = { message: "The answer of model 'small' of provider 'own' was cut off.", isRetryable: true }

function apiError(fields: Partial<ConstructorParameters<typeof APICallError>[0]> = {}): APICallError {
  return new APICallError({ message: 'Failed.', url: 'https://own.example/v1', requestBodyValues: {}, ...fields })
}

describe('the error of a call', () => {
  test.each([
    ['an error of the engine', new ModelError({ provider: 'own', model: 'small' })],
    ['a status', apiError({ statusCode: 503, cause: new TypeError('terminated') })],
    ['a lasting status', apiError({ statusCode: 400, cause: new TypeError('terminated') })],
    [
      'a successful status whose body is not valid JSON',
      apiError({ statusCode: 200, cause: namedError('AI_JSONParseError') }),
    ],
    ['a successful status without a cause', apiError({ statusCode: 200 })],
    [
      'an incomplete body that the package marked as retryable',
      apiError({ statusCode: 200, isRetryable: true, cause: new TypeError('reset') }),
    ],
    ['a text', 'No.'],
  ])('is %s, unchanged', (_what, error) => {
    expect(callError(error, selection)).toBe(error)
  })

  test('says that the answer was cut off if a successful response could not be read to its end', () => {
    const error = apiError({ statusCode: 200, cause: new TypeError('network error') })
    expect(callError(error, selection)).toMatchObject({ ...cutOff, cause: error })
  })
})

describe('an error that a stream reported', () => {
  test('is unchanged if it is an Error or has a status', () => {
    const error = new Error('Overloaded.')
    const status = { message: 'Overloaded.', statusCode: 503, isRetryable: true }
    expect(streamError(error, selection)).toBe(error)
    expect(streamError(status, selection)).toBe(status)
  })

  test.each([
    [{ type: 'overloaded_error', message: 'Overloaded' }, { isRetryable: true }],
    [{ type: 'api_error', message: 'Internal server error' }, { isRetryable: true }],
    [{ message: 'Something went wrong.' }, { isRetryable: true }],
    ['Something went wrong.', { isRetryable: true }],
    [null, { isRetryable: true }],
    [{ message: 'Provider returned error', code: 502 }, { statusCode: 502 }],
    [{ message: 'Too many', code: '429' }, { statusCode: 429 }],
    [{ message: 'Too long', code: 400 }, { statusCode: 400 }],
    [{ type: 'insufficient_quota', message: 'Pay' }, { isRetryable: false }],
    [{ type: 'invalid_request_error', message: 'No' }, { isRetryable: false }],
    [{ type: 'server_error', code: 'context_length_exceeded', message: 'No' }, { isRetryable: false }],
  ])('is the cause of an error otherwise: %j', (reported, marks) => {
    const error = streamError(reported, selection)
    expect(error).toBeInstanceOf(Error)
    expect(error).toMatchObject({
      message: "Model 'small' of provider 'own' reported an error in its stream.",
      cause: reported,
      ...marks,
    })
  })
})

describe('credentials', () => {
  const key = 'canary-key'

  test.each([
    [`Request cannot be constructed from a URL that includes credentials: https://user:${key}@own.example/v1`],
    [`Request cannot be constructed from a URL that includes credentials: https://user:a@${key}@own.example/v1`],
    [`error sending request for url (https://own.example/v1?api-key=${key}&x=1)`],
    [`Failed to parse URL from own?key=${key}`],
    [`Headers.append: "Bearer ${key}\nmore" is an invalid header value.`],
    [`Headers.append: "a "quoted" ${key}" is an invalid header value.`],
    [`Failed to parse URL from https://user:a/${key}@own.example/v1`],
    [`Failed to parse URL from https://a@own.example:b/${key}@own.example/v1`],
    [`Failed to fetch https://user:${key}@[::1]:8080/v1`],
    [`Failed to parse URL from https://own.example,https://user:a/${key}@own.example/v1`],
  ])('are removed from a message and its stack: %s', (message) => {
    const error = new TypeError(message)
    const outer = apiError({ cause: error })
    expect(callError(outer, selection)).toBe(outer)
    expect(error.message).not.toContain(key)
    expect(error.message).toContain('***')
    expect(error.stack).not.toContain(key)
    expect(error.stack).toContain('failure.test')
  })

  test('are removed from the URL and the parameters of a request; the conversation stays', () => {
    const messages = [{ role: 'user', content: 'My api_key is lost' }]
    const error = apiError({
      url: `https://own.example/v1/chat?api-key=${key}`,
      requestBodyValues: { model: 'small', api_key: key, extra: { authorization: key, n: 1 }, messages },
    })
    callError(error, selection)
    expect(error.url).toBe('https://own.example/v1/chat?***')
    expect(error.requestBodyValues).toEqual({ model: 'small', extra: { n: 1 }, messages })
  })

  test('are removed from a text that is not a valid URL', () => {
    const error = Object.assign(new TypeError('Invalid URL'), {
      code: 'ERR_INVALID_URL',
      input: `http ://u:${key}@own`,
    })
    expect(callError(error, selection)).toBe(error)
    expect(error).toMatchObject({ code: 'ERR_INVALID_URL', input: 'http ://***@own' })
  })

  test('are removed, and similar texts stay', () => {
    const message =
      'Lost https://own.example:8080/models/small@1 and http://[::1]:80/a@b and //a/b@c, "Why?" is an invalid header value'
    expect((callError(new Error(message), selection) as Error).message).toBe(
      'Lost https://own.example:8080/models/small@1 and http://[::1]:80/a@b and //a/b@c, "***" is an invalid header value',
    )
    const text = 'Is it "so"? //, @a, what? = no'
    expect((callError(new Error(text), selection) as Error).message).toBe(text)
  })

  test.each(['"a",', '?', '//a', '//a:', '@', ' is an invalid header value', '"?'])(
    'are found in one pass: a message can be as long as an answer, and one of %j would take minutes with backtracking',
    (piece) => {
      const error = new Error(piece.repeat(100_000))
      expect(callError(error, selection)).toBe(error)
    },
  )

  test("are not searched in the engine's own messages", () => {
    const error = new ModelError({ provider: 'own', model: 'small', detail: 'Is it so? a=b, what?a=b' })
    callError(error, selection)
    expect(error.message).toContain('what?a=b')
  })

  test('of an error that cannot be written stay, and circular causes end', () => {
    const frozen = Object.freeze(new TypeError(`https://user:${key}@own.example`))
    const aborted = new DOMException('Aborted.', 'AbortError')
    expect(callError(frozen, selection)).toBe(frozen)
    expect(callError(aborted, selection)).toBe(aborted)
    const looped = new Error('Round')
    looped.cause = looped
    expect(callError(looped, selection)).toBe(looped)
  })
})

function namedError(name: string): Error {
  return Object.assign(new Error('Failed.'), { name })
}
