import { afterEach, describe, expect, test, vi } from 'vitest'
import { consoleLogger } from './console-logger.js'

const levels = ['debug', 'info', 'warn', 'error'] as const

afterEach(() => {
  vi.restoreAllMocks()
})

describe('the default logger', () => {
  test.each(levels)('writes a text and its fields with console.%s', (level) => {
    const write = vi.spyOn(console, level).mockReturnValue(undefined)
    consoleLogger[level]('The turn failed.', { turnId: 't1' })
    expect(write.mock.calls).toEqual([['The turn failed.', { turnId: 't1' }]])
  })

  test.each(levels)('does not let the text be a format of console.%s', (level) => {
    const write = vi.spyOn(console, level).mockReturnValue(undefined)
    consoleLogger[level]('100 %s of %o', { turnId: 't1' })
    expect(write.mock.calls).toEqual([['%s', '100 %s of %o', { turnId: 't1' }]])
  })

  test('does not print the session ID of a request that was refused before its turn began', () => {
    const write = vi.spyOn(console, 'error').mockReturnValue(undefined)
    consoleLogger.error("Session 's1' is busy.", { sessionId: 's1', flowName: 'Test', code: 'SESSION_BUSY' })
    consoleLogger.error("Session 's1' is busy.", { sessionId: 's1', turnId: 't1' })
    expect(write.mock.calls).toEqual([
      ["Session '...' is busy.", { flowName: 'Test', code: 'SESSION_BUSY' }],
      ["Session 's1' is busy.", { sessionId: 's1', turnId: 't1' }],
    ])
  })
})
