import { describe, expect, test } from 'vitest'
import { FlowCodeError } from '../../errors/engine-errors.js'
import { SessionConflictError } from '../../index.js'
import { asFlowError, thrownText } from './error-text.js'

describe('thrownText', () => {
  test('an error: its message', () => {
    expect(thrownText(new Error('It broke.'))).toBe('It broke.')
    expect(thrownText({ message: 'like an error' })).toBe('like an error')
    expect(thrownText('a text')).toBe('a text')
  })

  test('what has no message: what it is', () => {
    expect(thrownText(new RangeError())).toBe('Something without a message was thrown: RangeError.')
    expect(thrownText(undefined)).toBe('Something without a message was thrown: undefined.')
    expect(thrownText(0)).toBe('Something without a message was thrown: 0.')
    expect(thrownText({ message: 4 })).toBe('Something without a message was thrown: [object Object].')
    expect(thrownText(null)).toBe('Something without a message was thrown: null.')
    expect(thrownText('')).toBe('Something without a message was thrown: .')
  })

  test('what cannot be read: that it cannot', () => {
    const { proxy, revoke } = Proxy.revocable({}, {})
    revoke()
    expect(thrownText(proxy)).toBe('Something without a message was thrown.')
    const angry = {
      get message(): string {
        throw new Error('no')
      },
    }
    expect(thrownText(angry)).toBe('Something without a message was thrown.')
    const unprintable = Object.assign(() => 1, {
      toString(): string {
        throw new Error('no')
      },
    })
    expect(thrownText(unprintable)).toBe('Something without a message was thrown.')
  })

  test.each([
    ['500 characters', 500, 500, 'x'],
    ['501 characters', 501, 500, '…'],
    ['a megabyte', 1_000_000, 500, '…'],
  ])('is cut at 500 characters: %s', (_what, length, expected, end) => {
    const text = thrownText(new Error('x'.repeat(length)))
    expect(text).toHaveLength(expected)
    expect(text.at(-1)).toBe(end)
  })

  test.each([
    ['postgres://bob:hunter2@db:5432/x', 'postgres://[redacted]@db:5432/x'],
    ['postgres://bob@db/x', 'postgres://[redacted]@db/x'],
    ['REDIS://:hunter2@db', 'REDIS://[redacted]@db'],
    ['redis://bob:hunt@er2@db/0', 'redis://[redacted]@db/0'],
    ['a+b.c-d://x:y@z twice: a://b:c@d', 'a+b.c-d://[redacted]@z twice: a://[redacted]@d'],
    ['https://example.com/a@b stays', 'https://example.com/a@b stays'],
    ['mail bob@example.com stays', 'mail bob@example.com stays'],
    ['Authorization: Bearer abc.DEF-1_2~3+4/5==', 'Authorization: Bearer [redacted]'],
    ['bearer   abc', 'Bearer [redacted]'],
    ['the bearer of news', 'the Bearer [redacted] news'],
    ['sk-abcdefgh12345678', '[redacted]'],
    ['sk_live_abcdefgh1234, pk-abcdefgh12345678 and rk_abcdefgh12345678', '[redacted], [redacted] and [redacted]'],
    ['sk-short stays, and so does task-abcdefghijk', 'sk-short stays, and so does task-abcdefghijk'],
  ])('blacks out credentials: %s', (text, expected) => {
    expect(thrownText(new Error(text))).toBe(expected)
    expect(thrownText(text)).toBe(expected)
  })

  test('blacks out before it cuts, so that no half of a credential is left', () => {
    expect(thrownText(`${'x'.repeat(480)} https://bob:hunter2@host`)).not.toContain('bob')
    expect(thrownText(`Bearer ${'x'.repeat(3_960)} https://bob:hunter2@host`)).not.toContain('bob')
    for (let length = 3_900; length < 4_100; length += 7) {
      const text = thrownText(`Bearer ${'x'.repeat(length)} sk-7${'y'.repeat(60)} https://bob:hunter2@host`)
      expect(text).not.toMatch(/bob|hun|yyyyyyyy/)
    }
  })

  const key = `${'AK'}${'IA'}QWERTYUIOPASDFGH`

  test.each([
    ['in JSON without a space', (length: number) => `{"token":"${'a'.repeat(length)}","k":"${key}","m":"x"}`],
    ['without any place to cut', (length: number) => `sk-${'a1'.repeat(length / 2)}.${key}`],
    ['the user of an address', (length: number) => `{"token":"${'a'.repeat(length)}","u":"a://QWERTY,UIOPA@b"}`],
    ['groups of a card', (length: number) => `token="${'a'.repeat(length)}" 4111 1111 1111 1111`],
  ])('leaves no half of a secret at the cut: %s', (_what, textOf) => {
    for (let length = 3_930; length < 4_010; length++) {
      expect(thrownText(textOf(length))).not.toMatch(/QWE|111/)
    }
  })

  test('takes no time that grows with the square of the text', () => {
    // Each of these took seconds when a pattern was tried again at every word.
    for (const unit of ['a.', 'a-', 'Bearer ', 'sk-', 'a://', '@', 'x:@']) {
      expect(thrownText(new Error(unit.repeat(200_000))).length).toBeLessThanOrEqual(500)
    }
  })
})

test('a long text without a space is cut without a search at each of its characters', () => {
  const text = `${'x'.repeat(3_999)} ${'y'.repeat(100)}`
  const before = process.cpuUsage().user
  for (let round = 0; round < 200; round++) thrownText(text)
  expect((process.cpuUsage().user - before) / 1000).toBeLessThan(1_000)
})

describe('asFlowError', () => {
  test("passes the engine's own errors, of this copy of the package or another", () => {
    const own = new SessionConflictError({ sessionId: 'one' })
    expect(asFlowError(own)).toBe(own)
    const foreign = Object.assign(new Error('foreign'), {
      [Symbol.for('turnkeeper.FlowError')]: true,
      code: 'TOOL_ERROR',
    })
    expect(asFlowError(foreign)).toBe(foreign)
  })

  test('makes a FlowCodeError of anything else, with what was thrown as the cause', () => {
    const thrown = new Error('Bearer abc')
    const error = asFlowError(thrown)
    expect(error).toBeInstanceOf(FlowCodeError)
    expect(error).toMatchObject({ code: 'FLOW_ERROR', message: 'Bearer [redacted]', statusCode: 400, cause: thrown })
    expect(asFlowError(7)).toMatchObject({ message: 'Something without a message was thrown: 7.', cause: 7 })
    expect('cause' in asFlowError(undefined)).toBe(false)
  })

  test("does not touch the engine's own sentences", () => {
    const own = new FlowCodeError({ message: `sk-abcdefgh ${'x'.repeat(1000)}` })
    expect(asFlowError(own).message).toHaveLength(1012)
  })
})
