import { describe, expect, test } from 'vitest'
import type { JsonObject } from '../../index.js'
import { resolveLimits } from '../core/engine-limits.js'
import { checkConfig, checkSessionId, checkTurnInput } from './check-input.js'

const limits = resolveLimits()
const turn = { flowName: 'Talk', userMessage: 'hello', sessionId: undefined }

describe('checkSessionId', () => {
  test('[2.1-5] absent and empty ask for a new session', () => {
    expect(checkSessionId(undefined)).toBeUndefined()
    expect(checkSessionId('')).toBeUndefined()
  })

  test('gives an ID back', () => {
    expect(checkSessionId('an-id')).toBe('an-id')
  })

  test.each([null, 0, 5, {}, [], 'a b', 'a,b'])('refuses %j', (sessionId) => {
    expect(() => checkSessionId(sessionId)).toThrow(
      'sessionId must be 1 to 256 visible ASCII characters without a comma.',
    )
  })
})

describe('checkConfig', () => {
  test('copies, freezes, and leaves out what is undefined', () => {
    const config = { a: { b: [1, { c: 2 }] }, d: undefined }
    const checked = checkConfig(config, limits)
    expect(checked).toEqual({ a: { b: [1, { c: 2 }] } })
    expect(Object.keys(checked ?? {})).toEqual(['a'])
    config.a.b.push(3)
    expect(checked).toEqual({ a: { b: [1, { c: 2 }] } })
    const { a } = checked as { a: { b: readonly unknown[] } }
    expect([checked, a, a.b, a.b[1]].every((value) => Object.isFrozen(value))).toBe(true)
  })

  test('[4.5-2] undefined is none', () => {
    expect(checkConfig(undefined, limits)).toBeUndefined()
  })

  test.each([
    [12, { a: 'bcd' }, true],
    [12, { a: 'bcdef' }, false],
  ])('at most maxConfigBytes (%d): %j', (maxConfigBytes, config, fits) => {
    const check = () => checkConfig(config, resolveLimits({ maxConfigBytes }))
    if (fits) expect(check()).toEqual(config)
    else expect(check).toThrow('config exceeds the limit maxConfigBytes (12).')
  })

  test.each([null, [], 'text', 5, true])('refuses %j', (config) => {
    expect(() => checkConfig(config, limits)).toThrow('config must be a plain object.')
  })
})

describe('checkTurnInput', () => {
  test('gives the eight facts of a turn, and nothing else', () => {
    const { signal } = new AbortController()
    const given = { ...turn, sessionId: 'id', context: { a: 1 }, signal, owner: 'ada', serverContext: { b: 2 } }
    const attachments = [{ type: 'image', mediaType: 'image/png', data: 'aGk=' }]
    const full = { ...given, attachments }
    expect(checkTurnInput({ ...full, config: 'ignored' } as never, limits)).toEqual(full)
    expect(checkTurnInput(turn, limits)).toEqual({
      ...turn,
      attachments: [],
      context: undefined,
      signal: undefined,
      owner: undefined,
      serverContext: undefined,
    })
  })

  test('takes a signal of another realm: whatever behaves like one', () => {
    const signal = { aborted: false, addEventListener: () => undefined, removeEventListener: () => undefined }
    expect(checkTurnInput({ ...turn, signal }, limits).signal).toBe(signal)
  })

  test('counts bytes only where it can matter, and then exactly', () => {
    const strict = resolveLimits({ maxMessageBytes: 9 })
    expect(checkTurnInput({ ...turn, userMessage: '€€€' }, strict).userMessage).toBe('€€€')
    expect(checkTurnInput({ ...turn, userMessage: 'abcdefghi' }, strict).userMessage).toBe('abcdefghi')
    expect(() => checkTurnInput({ ...turn, userMessage: '€€€a' }, strict)).toThrow('maxMessageBytes (9)')
  })

  test('context and serverContext are copies, frozen', () => {
    const data = { list: [1] }
    const { context, serverContext } = checkTurnInput({ ...turn, context: data, serverContext: data }, limits)
    data.list.push(2)
    for (const copy of [context, serverContext] as JsonObject[]) {
      expect(copy).toEqual({ list: [1] })
      expect([Object.isFrozen(copy), Object.isFrozen(copy.list)]).toEqual([true, true])
    }
  })

  test('a serverContext may have any key but config', () => {
    expect(() => checkTurnInput({ ...turn, serverContext: { config: undefined } }, limits)).not.toThrow()
    expect(() => checkTurnInput({ ...turn, serverContext: { config: null } }, limits)).toThrow(
      "serverContext may not have the key 'config'.",
    )
  })

  test('an error that is not about JSON passes as it is', () => {
    const context = Object.defineProperty({}, 'a', {
      enumerable: true,
      get() {
        throw new TypeError('read me not')
      },
    })
    expect(() => checkTurnInput({ ...turn, context }, limits)).toThrow(TypeError)
  })
})
