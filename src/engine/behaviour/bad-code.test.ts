import { afterEach, describe, expect, test } from 'vitest'
import { expectNothingLeft, flowOf, harness } from '../../../testing/contract/engine-harness.js'
import { ModelError, reply } from '../../index.js'

afterEach(expectNothingLeft)

/** Runs a flow whose second turn does `run`. */
async function secondTurn(run: Parameters<typeof flowOf>[1]) {
  const flow = flowOf('Talk', (turn, step) =>
    turn.message === 'start' ? reply('started') : (run as NonNullable<typeof run>)(turn, step),
  )
  const made = harness({ flows: [flow] })
  const session = await made.start('Talk')
  const before = await made.document(session)
  const result = await made.engine.execute({ flowName: 'Talk', userMessage: 'hello', sessionId: session })
  return { ...made, session, before, ...result }
}

describe('things thrown that are not errors', () => {
  const plain = (kind: string): string => `Something without a message was thrown: ${kind}.`
  const unreadable = new Proxy(
    {},
    {
      get: () => {
        throw new Error('no')
      },
      has: () => {
        throw new Error('no')
      },
    },
  )

  test.each<readonly [string, unknown, string]>([
    ['undefined', undefined, plain('undefined')],
    ['null', null, plain('null')],
    ['a number', 42, plain('42')],
    ['a text', 'just a text', 'just a text'],
    ['an empty text', '', plain('')],
    ['an object', { code: 7 }, plain('[object Object]')],
    ['an object with a message', { message: 'like an error' }, 'like an error'],
    ['an object whose message is not a string', { message: 5 }, plain('[object Object]')],
    ['a symbol', Symbol('oops'), plain('Symbol(oops)')],
    ['a big integer', 12n, plain('12')],
    ['an error without a message', new TypeError(), 'Something without a message was thrown: TypeError.'],
    ['a function', Object.assign(() => 1, { toString: () => 'f' }), plain('f')],
    ['an object that throws when it is read', unreadable, 'Something without a message was thrown.'],
  ])('[4.5-4 7.2-5] %s', async (_what, thrown, message) => {
    for (const run of [
      () => {
        throw thrown
      },
      () => Promise.reject(thrown),
    ]) {
      const { response, error, session, document, before } = await secondTurn(run)
      expect(response).toEqual({ success: false, completed: true, message, session, contentType: 'text/plain' })
      expect(error).toMatchObject({ code: 'FLOW_ERROR', statusCode: 400 })
      expect(await document(session)).toEqual({
        ...before,
        runStatus: 'aborted',
        error: [message],
        revision: expect.stringMatching(/^2-/),
      })
    }
  })
})

describe('what goes out of an error of flow code', () => {
  test('its text as it is, and no stack', async () => {
    const { response, session, stored } = await secondTurn(() => {
      throw new Error('No table for 12 people.')
    })
    expect(response.message).toBe('No table for 12 people.')
    expect(await stored(session)).not.toContain('.test.ts')
  })

  test.each([
    ['fetch of https://bob:hunter2@example.com/a failed', 'fetch of https://[redacted]@example.com/a failed'],
    ['redis://user:p@ss@host/0', 'redis://[redacted]@host/0'],
    ['sent Bearer abc.def-ghi to the host', 'sent Bearer [redacted] to the host'],
    ['the key sk-abcdefgh12345678 is wrong', 'the key [redacted] is wrong'],
  ])('[7.1-2] credentials are blacked out: %s', async (text, expected) => {
    const { response, session, document } = await secondTurn(() => {
      throw new Error(text)
    })
    expect(response.message).toBe(expected)
    expect((await document(session)).error).toEqual([expected])
  })

  test('a long text is cut at 500 characters', async () => {
    const { response } = await secondTurn(() => {
      throw new Error('x'.repeat(10_000))
    })
    expect(response.message).toBe(`${'x'.repeat(499)}…`)
  })

  test("an error of the engine's own kind passes as it is, unless it is about a session or a turn", async () => {
    const thrown = new ModelError({ provider: 'p', model: 'm' })
    const { error, session, document } = await secondTurn(() => {
      throw thrown
    })
    expect(error).toBe(thrown)
    expect((await document(session)).runStatus).toBe('aborted')
  })
})

describe('the last 20 texts', () => {
  test('[2.6-4] are kept in the document', async () => {
    const flow = flowOf('Talk', (turn) => {
      if (turn.message === 'start') return reply('started')
      throw new Error('the newest')
    })
    const { engine, start, rewrite, document } = harness({ flows: [flow] })
    const session = await start('Talk')
    const older = Array.from({ length: 20 }, (_, index) => `error ${index}`)
    await rewrite(session, (stored) => Object.assign(stored, { error: older }))
    await engine.run({ flowName: 'Talk', userMessage: 'fail', sessionId: session })
    expect((await document(session)).error).toEqual([...older.slice(1), 'the newest'])
  })
})

describe('state that JSON cannot carry', () => {
  test.each<readonly [string, unknown, string]>([
    ['a Date', new Date(0), 'is an instance of Date, which JSON cannot carry: use date.toISOString().'],
    ['a Map', new Map(), 'is an instance of Map, which JSON cannot carry.'],
    ['NaN', Number.NaN, 'is NaN, which JSON cannot carry.'],
    ['a big integer', 1n, 'is a bigint, which JSON cannot carry.'],
    ['a function', () => 1, 'is a function, which JSON cannot carry.'],
  ])('fails the turn whole, and the path is named: %s', async (_what, value, problem) => {
    const { response, error, session, document, before } = await secondTurn((_turn, step) => {
      step.state.order = { items: [{ price: 1 }, { price: value }] }
      return reply('stored')
    })
    const message = `Only.state.order.items[1].price ${problem}`
    expect(response).toMatchObject({ success: false, message, session })
    expect(error?.code).toBe('FLOW_ERROR')
    expect(await document(session)).toMatchObject({ runStatus: 'aborted', error: [message], flow: before.flow })
  })
})
