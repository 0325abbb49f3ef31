import { afterEach, describe, expect, test } from 'vitest'
import { expectNothingLeft, flowOf, harness } from '../../../testing/contract/engine-harness.js'
import { type FlowConstructor, type JsonObject, reply } from '../../index.js'

afterEach(expectNothingLeft)

const off = Number.POSITIVE_INFINITY

const talk = (): FlowConstructor => flowOf('Talk')

/** `{}` within itself, `depth` levels in all. */
function nested(depth: number): JsonObject {
  return depth === 1 ? {} : { inner: nested(depth - 1) }
}

describe('maxMessageBytes', () => {
  test.each([
    ['ASCII', 'aaaaaaaaaa', 'aaaaaaaaaaa'],
    ['two bytes each', 'ééééé', 'éééééa'],
    ['three bytes each', '€€€a', '€€€€'],
    ['four bytes each', '😀😀aa', '😀😀😀'],
    ['half a pair', '\ud83d\ud83d\ud83da', '\ud83d\ud83d\ud83d\ud83d'],
  ])('counts bytes of UTF-8: %s', async (_what, fits, tooLong) => {
    const { engine, store } = harness({ flows: [talk()], limits: { maxMessageBytes: 10 } })
    const { response, error } = await engine.execute({ flowName: 'Talk', userMessage: tooLong })
    expect(response.message).toBe(`The user message exceeds the limit maxMessageBytes (10).`)
    expect(error).toMatchObject({ code: 'LIMIT_EXCEEDED', limit: 'maxMessageBytes', value: 10, statusCode: 400 })
    expect(store.journal).toEqual([])
    expect((await engine.run({ flowName: 'Talk', userMessage: fits })).success).toBe(true)
    expect((await engine.runFlow('Talk', tooLong)).success).toBe(false)
  })

  test('refuses a message to a stored session, and leaves it as it was', async () => {
    const { engine, start, stored } = harness({ flows: [talk()], limits: { maxMessageBytes: 10 } })
    const session = await start('Talk')
    const before = await stored(session)
    const response = await engine.run({ flowName: 'Talk', userMessage: 'a'.repeat(11), sessionId: session })
    expect(response).toMatchObject({ success: false, session })
    expect(await stored(session)).toBe(before)
  })

  test('Infinity switches it off', async () => {
    const { engine } = harness({ flows: [talk()], limits: { maxMessageBytes: off } })
    expect((await engine.run({ flowName: 'Talk', userMessage: 'a'.repeat(300_000) })).success).toBe(true)
  })
})

describe('maxConfigBytes', () => {
  test('counts the bytes of the config as JSON', async () => {
    const { engine, store } = harness({ flows: [talk()], limits: { maxConfigBytes: 100 } })
    const run = (config: JsonObject) => engine.execute({ flowName: 'Talk', userMessage: 'hello', config })
    const { response, error } = await run({ text: 'a'.repeat(100) })
    expect(response).toMatchObject({
      message: `config exceeds the limit maxConfigBytes (100).`,
      session: '',
    })
    expect(error).toMatchObject({ code: 'LIMIT_EXCEEDED', limit: 'maxConfigBytes', value: 100 })
    expect(store.journal).toEqual([])
    expect((await run({ text: 'é'.repeat(50) })).response.success).toBe(false)
    expect((await run({ text: 'a'.repeat(80) })).response.success).toBe(true)
  })

  test('64 KiB unless said otherwise; Infinity switches it off', async () => {
    const config = { text: 'a'.repeat(65_536) }
    const { engine } = harness({ flows: [talk()] })
    expect((await engine.run({ flowName: 'Talk', userMessage: 'hello', config })).success).toBe(false)
    const open = harness({ flows: [talk()], limits: { maxConfigBytes: off } })
    expect((await open.engine.run({ flowName: 'Talk', userMessage: 'hello', config })).success).toBe(true)
  })
})

describe('maxJsonDepth', () => {
  test('counts the outermost object of a config as 1', async () => {
    const { engine, store } = harness({ flows: [talk()], limits: { maxJsonDepth: 4, maxConfigBytes: off } })
    const run = (config: JsonObject) => engine.execute({ flowName: 'Talk', userMessage: 'hello', config })
    const { response, error } = await run(nested(5))
    expect(response).toEqual({
      success: false,
      completed: true,
      message: `The nesting of config.inner.inner.inner.inner exceeds the limit maxJsonDepth (4).`,
      session: '',
      contentType: 'text/plain',
    })
    expect(error).toMatchObject({ code: 'LIMIT_EXCEEDED', limit: 'maxJsonDepth', value: 4 })
    expect(store.journal).toEqual([])
    // It is stored one level further down, in { config }.
    expect((await run(nested(3))).response.success).toBe(true)
  })

  test('a config is refused at the door, or stored: its depth is checked once', async () => {
    let inits = 0
    const flow = flowOf('Talk', undefined, { init: () => void inits++ })
    const { engine, backing } = harness({ flows: [flow], limits: { maxJsonDepth: 4 } })
    const results: unknown[] = []
    for (const depth of [3, 4, 5]) {
      const { response, error } = await engine.execute({ flowName: 'Talk', userMessage: 'hi', config: nested(depth) })
      results.push([depth, response.success, error?.code])
      // It is read back, too.
      if (response.success)
        expect(await engine.run({ flowName: 'Talk', userMessage: 'hi', sessionId: response.session })).toMatchObject({
          success: true,
          session: response.session,
        })
    }
    expect(results).toEqual([
      [3, true, undefined],
      [4, true, undefined],
      [5, false, 'LIMIT_EXCEEDED'],
    ])
    expect([inits, backing.size]).toEqual([4, 2])
  })

  test('holds for serverContext and for the context of runFlow', async () => {
    const { engine } = harness({ flows: [talk()], limits: { maxJsonDepth: 4 } })
    const deep = await engine.run({ flowName: 'Talk', userMessage: 'hello', serverContext: nested(5) })
    expect(deep.message).toMatch(/^The nesting of serverContext\.inner.* exceeds the limit maxJsonDepth \(4\)\./)
    // A context may be one level deeper: that of { config }.
    expect((await engine.runFlow('Talk', 'hello', undefined, nested(6))).message).toMatch(
      /^The nesting of context\.inner\.inner.* exceeds the limit maxJsonDepth \(4\)\./,
    )
    expect((await engine.runFlow('Talk', 'hello', undefined, nested(4))).success).toBe(true)
  })

  test('holds for a state', async () => {
    const flow = flowOf('Talk', (turn, step) => {
      step.state.deep = nested(Number(turn.message))
      return reply('ok')
    })
    const { engine } = harness({ flows: [flow], limits: { maxJsonDepth: 4 } })
    expect((await engine.run({ flowName: 'Talk', userMessage: '3' })).success).toBe(true)
    const { response, error } = await engine.execute({ flowName: 'Talk', userMessage: '4' })
    expect(response.message).toMatch(/^The nesting of Only\.state\.deep\.inner\.inner\.inner exceeds the limit/)
    expect(error).toMatchObject({ code: 'LIMIT_EXCEEDED', limit: 'maxJsonDepth', value: 4 })
  })
})
