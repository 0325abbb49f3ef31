import { runInNewContext } from 'node:vm'
import { describe, expect, test, vi } from 'vitest'
import { FlowError } from './flow-error.js'

describe('FlowError', () => {
  test('keeps its code and its message, and has the status that the contract intends for the code', () => {
    const error = new FlowError({ code: 'INVALID_INPUT', message: 'No.' })
    expect(error).toMatchObject({ code: 'INVALID_INPUT', message: 'No.', statusCode: 400, name: 'FlowError' })
    expect(new FlowError({ code: 'SESSION_CONFLICT', message: 'No.' }).statusCode).toBe(409)
  })

  test('is an Error, and its stack begins with its name', () => {
    const error = new FlowError({ code: 'INVALID_INPUT', message: 'No.' })
    expect(error).toBeInstanceOf(Error)
    expect(error.stack).toMatch(/^FlowError: No\./)
    expect(String(error)).toBe('FlowError: No.')
  })

  test('has a cause where one was given, and no such property otherwise', () => {
    const cause = new Error('the reason')
    expect(new FlowError({ code: 'INVALID_INPUT', message: 'No.', cause }).cause).toBe(cause)
    expect(new FlowError({ code: 'INVALID_INPUT', message: 'No.', cause: null }).cause).toBeNull()
    expect(Object.hasOwn(new FlowError({ code: 'INVALID_INPUT', message: 'No.' }), 'cause')).toBe(false)
  })

  test('prints its facts and nothing else: the name and the mark are on the prototype', () => {
    expect(Object.keys(new FlowError({ code: 'INVALID_INPUT', message: 'No.' }))).toEqual(['code', 'statusCode'])
  })
})

describe('FlowError.isInstance', () => {
  test('recognises an error of another copy of the package', async () => {
    vi.resetModules()
    const other = await import('./flow-error.js')
    const foreign = new other.FlowError({ code: 'INVALID_INPUT', message: 'No.' })
    expect(foreign instanceof FlowError).toBe(false)
    expect(FlowError.isInstance(foreign)).toBe(true)
    expect(other.FlowError.isInstance(new FlowError({ code: 'INVALID_INPUT', message: 'No.' }))).toBe(true)
  })

  test('recognises a subclass', () => {
    class Own extends FlowError {}
    expect(FlowError.isInstance(new Own({ code: 'FLOW_ERROR', message: 'No.' }))).toBe(true)
  })

  test.each<[string, unknown]>([
    ['another error', new Error('x')],
    ['an object that looks like one', { code: 'INVALID_INPUT', statusCode: 400, message: 'x', name: 'FlowError' }],
    ['null', null],
    ['undefined', undefined],
    ['a text', 'FlowError'],
    ['a function', FlowError],
    ['an error of another realm', runInNewContext('new Error("x")')],
  ])('is false of %s', (_name, value) => {
    expect(FlowError.isInstance(value)).toBe(false)
  })

  test('never throws, whatever the value does when it is read', () => {
    const hostile = new Proxy(
      {},
      {
        get: () => {
          throw new Error('hands off')
        },
      },
    )
    expect(FlowError.isInstance(hostile)).toBe(false)
    const { proxy, revoke } = Proxy.revocable({}, {})
    revoke()
    expect(FlowError.isInstance(proxy)).toBe(false)
  })
})
