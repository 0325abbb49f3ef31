import { describe, expect, test } from 'vitest'
import { Refusal } from '../reply/refusal.js'
import { checkContentType, checkEndBody, readRunBody } from './read-run-body.js'

const nested = (levels: number): string => '['.repeat(levels) + ']'.repeat(levels)

describe('readRunBody', () => {
  test.each([
    ['{"flowName":"A"}', { flowName: 'A', message: '', config: undefined }],
    ['{"flowName":"A","message":"hi"}', { flowName: 'A', message: 'hi', config: undefined }],
    ['{"flowName":"A","message":"hi","config":{"a":1}}', { flowName: 'A', message: 'hi', config: { a: 1 } }],
    ['{"flowName":"A","userMessage":"hi","session":"x"}', { flowName: 'A', message: '', config: undefined }],
    ['{"flowName":"__proto__"}', { flowName: '__proto__', message: '', config: undefined }],
    ['{"flowName":"A","__proto__":{"message":"inherited"}}', { flowName: 'A', message: '', config: undefined }],
    [' {"flowName":"A"} ', { flowName: 'A', message: '', config: undefined }],
  ])('%s', (text, expected) => {
    expect(readRunBody(text, 64)).toEqual(expected)
  })

  test('passes an own __proto__ in config on as it is, for the engine to refuse', () => {
    const { config } = readRunBody('{"flowName":"A","config":{"__proto__":{"admin":true}}}', 64)
    expect(Object.keys(config ?? {})).toEqual(['__proto__'])
  })

  test.each([
    ['', 'The request body is not valid JSON.'],
    ['flowName=A', 'The request body is not valid JSON.'],
    ['{"flowName":"A"', 'The request body is not valid JSON.'],
    ["{'flowName':'A'}", 'The request body is not valid JSON.'],
    ['null', 'The request body must be a JSON object.'],
    ['"text"', 'The request body must be a JSON object.'],
    ['5', 'The request body must be a JSON object.'],
    ['[{"flowName":"A"}]', 'The request body must be a JSON object.'],
    ['{}', "The field 'flowName' is required and must be a non-empty string."],
    ['{"flowName":""}', "The field 'flowName' is required and must be a non-empty string."],
    ['{"flowName":null}', "The field 'flowName' is required and must be a non-empty string."],
    ['{"flowName":["A"]}', "The field 'flowName' is required and must be a non-empty string."],
    ['{"flowName":"A","message":null}', "The field 'message' must be a string."],
    ['{"flowName":"A","message":5}', "The field 'message' must be a string."],
    ['{"flowName":"A","message":{"toString":"x"}}', "The field 'message' must be a string."],
    ['{"flowName":"A","config":null}', "The field 'config' must be an object."],
    ['{"flowName":"A","config":[]}', "The field 'config' must be an object."],
    ['{"flowName":"A","config":"x"}', "The field 'config' must be an object."],
  ])('%s is refused', (text, message) => {
    expect(() => readRunBody(text, 64)).toThrow(new Refusal(message))
  })

  test('counts the body itself as the first level', () => {
    const body = (levels: number): string => `{"flowName":"A","config":{"deep":${nested(levels)}}}`
    expect(readRunBody(body(2), 4)).toMatchObject({ flowName: 'A' })
    expect(() => readRunBody(body(3), 4)).toThrow(
      new Refusal('The request body is nested deeper than 4 levels (maxJsonDepth).'),
    )
  })

  test.each([
    ['as the body', nested(50_000)],
    ['in a field that nobody reads', `{"flowName":"A","extra":${nested(50_000)}}`],
    ['in config', `{"flowName":"A","config":{"deep":${nested(50_000)}}}`],
  ])('50 000 nested arrays are refused without a stack overflow: %s', (_name, text) => {
    expect(() => readRunBody(text, 64)).toThrow(
      new Refusal('The request body is nested deeper than 64 levels (maxJsonDepth).'),
    )
  })

  test('a limit of Infinity lets any depth through', () => {
    expect(readRunBody(`{"flowName":"A","extra":${nested(1_000)}}`, Number.POSITIVE_INFINITY)).toMatchObject({
      flowName: 'A',
    })
  })
})

describe('checkEndBody', () => {
  test.each([[''], ['{}'], [' { } ']])('takes %j', (text) => {
    expect(() => checkEndBody(text, 64)).not.toThrow()
  })

  test.each([
    ['{"session":"x"}', 'This route takes no request body. The session ID travels in the CHAT_SESSION_ID header.'],
    ['[]', 'The request body must be a JSON object.'],
    ['null', 'The request body must be a JSON object.'],
    ['x', 'The request body is not valid JSON.'],
  ])('refuses %j', (text, message) => {
    expect(() => checkEndBody(text, 64)).toThrow(new Refusal(message))
  })
})

describe('checkContentType', () => {
  const check = (headers: Record<string, string>) => () =>
    checkContentType(new Request('http://chat.example/ai/run', { method: 'POST', headers }))

  test.each([
    [{}],
    [{ 'Content-Type': 'text/plain' }],
    [{ Origin: 'https://a.example', 'Content-Type': 'application/json' }],
    [{ Origin: 'https://a.example', 'Content-Type': 'Application/JSON; charset=utf-8' }],
    [{ Origin: 'https://a.example', 'Content-Type': 'application/vnd.chat+json' }],
  ])('lets %j through', (headers) => {
    expect(check(headers as Record<string, string>)).not.toThrow()
  })

  test.each([
    [{ Origin: 'https://a.example' }],
    [{ Origin: 'null', 'Content-Type': 'text/plain' }],
    [{ Origin: 'https://a.example', 'Content-Type': 'text/plain;application/json' }],
    [{ Origin: 'https://a.example', 'Content-Type': 'application/x-www-form-urlencoded' }],
    [{ Origin: 'https://a.example', 'Content-Type': 'multipart/form-data; boundary=x' }],
    [{ Origin: 'https://a.example', 'Content-Type': 'text/plain+json' }],
  ])('refuses %j', (headers) => {
    expect(check(headers as Record<string, string>)).toThrow(
      new Refusal('The request body must be sent as application/json.', 415),
    )
  })
})
