import { afterEach, describe, expect, test } from 'vitest'
import { expectNothingLeft, flowOf, gate, harness } from '../../../testing/contract/engine-harness.js'
import { type Flow, type FlowConstructor, type JsonObject, reply } from '../../index.js'

afterEach(expectNothingLeft)

const talk = (): FlowConstructor => flowOf('Talk')

describe('config and context', () => {
  /** Answers with the context as JSON. */
  const telling = (init?: (flow: Flow) => void): FlowConstructor =>
    flowOf('Talk', (turn) => reply(JSON.stringify(turn.context)), init === undefined ? {} : { init })

  test('[4.5-1 2.2-3 2.6-5] config is in the context before init, and is stored as { config }', async () => {
    const seen: unknown[] = []
    const flow = telling((made) => {
      seen.push(JSON.parse(JSON.stringify(made.context)))
    })
    const { engine, document } = harness({ flows: [flow] })
    const response = await engine.run({ flowName: 'Talk', userMessage: 'hello', config: { colour: 'red' } })
    expect(seen).toEqual([{ config: { colour: 'red' } }])
    expect(response.message).toBe('{"config":{"colour":"red"}}')
    expect((await document(response.session)).flow.context).toEqual({ config: { colour: 'red' } })
  })

  test('[4.5-1] what init adds is stored with it', async () => {
    const { engine, document } = harness({ flows: [telling((flow) => flow.addContext({ greeting: 'Hi' }))] })
    const { session } = await engine.run({ flowName: 'Talk', userMessage: 'hello', config: {} })
    expect((await document(session)).flow.context).toEqual({ config: {}, greeting: 'Hi' })
  })

  test('[4.5-2] without a config nothing is added, and the stored context is not disturbed', async () => {
    const { engine, start, document } = harness({ flows: [telling()] })
    const none = await start('Talk')
    expect((await document(none)).flow.context).toEqual({})
    const session = await start('Talk', { colour: 'red' })
    const later = await engine.run({ flowName: 'Talk', userMessage: 'hello', sessionId: session })
    expect(later.message).toBe('{"config":{"colour":"red"}}')
    expect((await document(session)).flow.context).toEqual({ config: { colour: 'red' } })
  })

  test('the config of a later turn, and what init adds then, give way to the stored context', async () => {
    let turns = 0
    const { engine, start, document } = harness({
      flows: [telling((flow) => flow.addContext({ turns: ++turns }))],
    })
    const session = await start('Talk', { colour: 'red' })
    const later = await engine.run({
      flowName: 'Talk',
      userMessage: 'hello',
      sessionId: session,
      config: { colour: 'blue' },
    })
    expect(JSON.parse(later.message)).toEqual({ config: { colour: 'red' }, turns: 1 })
    expect((await document(session)).flow.context).toEqual({ config: { colour: 'red' }, turns: 1 })
  })

  test('a config that the caller changes later does not change the session', async () => {
    const held = gate()
    const flow = flowOf('Talk', (turn) => reply(JSON.stringify(turn.context)), { init: () => held.opened })
    const { engine } = harness({ flows: [flow] })
    const config = { colour: 'red', list: [1] }
    const running = engine.run({ flowName: 'Talk', userMessage: 'hello', config })
    config.colour = 'blue'
    config.list.push(2)
    held.open()
    expect((await running).message).toBe('{"config":{"colour":"red","list":[1]}}')
  })

  test('[4.4-10 4.5-3] runFlow adds its context as it is, without wrapping it', async () => {
    const { engine, document } = harness({ flows: [telling()] })
    const response = await engine.runFlow('Talk', 'hello', undefined, { shop: 'north', config: { a: 1 } })
    expect(response.message).toBe('{"shop":"north","config":{"a":1}}')
    expect((await document(response.session)).flow.context).toEqual({ shop: 'north', config: { a: 1 } })
    const later = await engine.runFlow('Talk', 'hello', response.session)
    expect(later).toMatchObject({ success: true, session: response.session, message: response.message })
  })

  test('[4.4-9 4.5-3] run and runFlow lead to the same session and the same envelope', async () => {
    const { engine } = harness({ flows: [talk()] })
    const first = await engine.runFlow('Talk', 'one')
    const second = await engine.run({ flowName: 'Talk', userMessage: 'two', sessionId: first.session })
    const third = await engine.runFlow('Talk', 'three', second.session)
    expect([first, second, third].map(({ message }) => message)).toEqual([
      'You said: one',
      'You said: two',
      'You said: three',
    ])
    expect(new Set([first.session, second.session, third.session]).size).toBe(1)
  })

  test("the server's context of a turn is laid over the stored one and never stored", async () => {
    const { engine, document } = harness({ flows: [telling((flow) => flow.addContext({ role: 'guest' }))] })
    const serverContext: JsonObject = { role: 'admin', tenant: 7 }
    const response = await engine.run({ flowName: 'Talk', userMessage: 'hello', config: { a: 1 }, serverContext })
    expect(JSON.parse(response.message)).toEqual({ config: { a: 1 }, role: 'admin', tenant: 7 })
    expect((await document(response.session)).flow.context).toEqual({ config: { a: 1 }, role: 'guest' })
    const later = await engine.run({ flowName: 'Talk', userMessage: 'hello', sessionId: response.session })
    expect(JSON.parse(later.message)).toEqual({ config: { a: 1 }, role: 'guest' })
  })
})
