import { afterEach, describe, expect, test } from 'vitest'
import { expectNothingLeft, flowOf, harness } from '../../../testing/contract/engine-harness.js'
import { type FlowConstructor, HttpContentType, reply, SessionConflictError } from '../../index.js'

afterEach(expectNothingLeft)

const talk = (): FlowConstructor => flowOf('Talk')

const failing = (): FlowConstructor =>
  flowOf('Talk', (turn) => {
    if (turn.message === 'fail') throw new Error('It broke.')
    return reply(`You said: ${turn.message}`)
  })

describe('the envelope', () => {
  const fields = ['completed', 'contentType', 'message', 'session', 'success']

  test('[2.5-6] has exactly five fields, on success and on failure, from run and from runFlow', async () => {
    const { engine } = harness({ flows: [failing()] })
    const responses = [
      await engine.run({ flowName: 'Talk', userMessage: 'hello' }),
      await engine.run({ flowName: 'Talk', userMessage: 'fail' }),
      await engine.run({ flowName: 'Nobody', userMessage: 'hello' }),
      await engine.runFlow('Talk', 'hello'),
      await engine.runFlow('Talk', 'fail'),
    ]
    expect(responses.map(({ success }) => success)).toEqual([true, false, false, true, false])
    for (const response of responses) expect(Object.keys(response).sort()).toEqual(fields)
  })

  test('[2.3-6 2.4-3] carries the content type of the current step', async () => {
    const csv = flowOf('Csv', () => reply('a,b').withContentType(HttpContentType.Csv))
    const { engine } = harness({ flows: [csv] })
    const response = await engine.run({ flowName: 'Csv', userMessage: 'hello' })
    expect(response).toMatchObject({ message: 'a,b', contentType: 'text/csv' })
  })

  test('[4.1-9] a failure is Plain, even where the step answers otherwise', async () => {
    const csv = flowOf('Csv', (turn) => {
      if (turn.message === 'fail') throw new Error('It broke.')
      return reply('a,b').withContentType(HttpContentType.Csv)
    })
    const { engine } = harness({ flows: [csv] })
    const { session } = await engine.run({ flowName: 'Csv', userMessage: 'hello' })
    const response = await engine.run({ flowName: 'Csv', userMessage: 'fail', sessionId: session })
    expect(response).toMatchObject({ success: false, contentType: 'text/plain' })
  })

  test('execute reports the encoding of bytes, and nothing else besides the response and the state of the session', async () => {
    const bytes = flowOf('Bytes', () =>
      reply('AAEC').withContentType(HttpContentType.OctetStream, { encoding: 'base64' }),
    )
    const { engine } = harness({ flows: [bytes, talk()] })
    const withBytes = await engine.execute({ flowName: 'Bytes', userMessage: 'hello' })
    expect(withBytes).toEqual({
      response: expect.objectContaining({ message: 'AAEC' }),
      sessionState: 'running',
      encoding: 'base64',
    })
    expect(Object.keys(withBytes.response).sort()).toEqual(fields)
    const withText = await engine.execute({ flowName: 'Talk', userMessage: 'hello' })
    expect(Object.keys(withText)).toEqual(['response', 'sessionState'])
  })

  test('[7.1-2 7.3-4] only execute returns the error; the envelope has its text alone', async () => {
    const { engine, store } = harness({ flows: [talk()] })
    store.failNext('create', { error: new SessionConflictError({ sessionId: 'x' }) })
    const { response, error } = await engine.execute({ flowName: 'Talk', userMessage: 'hello' })
    expect(error).toMatchObject({ code: 'SESSION_CONFLICT', statusCode: 409 })
    expect(JSON.stringify(response)).not.toMatch(/SESSION_CONFLICT|409/)
  })
})

describe('failures are envelopes', () => {
  test('[4.5-4 4.5-5 7.1-1 7.1-3 7.2-5] an unregistered flow, without and with a session ID', async () => {
    const { engine, backing, start, stored } = harness({ flows: [talk()] })
    const { response, error } = await engine.execute({ flowName: 'Nobody', userMessage: 'hello' })
    expect(response).toEqual({
      success: false,
      completed: true,
      message: "Flow class 'Nobody' not registered.",
      session: '',
      contentType: 'text/plain',
    })
    expect(error).toMatchObject({ code: 'FLOW_NOT_FOUND', statusCode: 400 })
    const session = await start('Talk')
    const before = await stored(session)
    const given = await engine.run({ flowName: 'Nobody', userMessage: 'hello', sessionId: session })
    expect(given).toMatchObject({ message: "Flow class 'Nobody' not registered.", session })
    expect(await stored(session)).toBe(before)
    expect(backing.size).toBe(1)
  })

  test.each(['__proto__', 'constructor', 'toString'])('a flow named %s is not registered', async (flowName) => {
    const { engine, store } = harness({ flows: [talk()] })
    const response = await engine.run({ flowName, userMessage: 'hello' })
    expect(response).toMatchObject({ success: false, message: `Flow class '${flowName}' not registered.`, session: '' })
    expect(store.journal).toEqual([])
  })

  test('[3-3 2.6-3 2.6-4 4.5-5 7.2-5 7.3-3] what a step throws aborts the session and adds its text', async () => {
    const { engine, clock, document } = harness({ flows: [failing()] })
    const { session } = await engine.run({ flowName: 'Talk', userMessage: 'hello' })
    const before = await document(session)
    await clock.advance(5000)
    const { response, error } = await engine.execute({ flowName: 'Talk', userMessage: 'fail', sessionId: session })
    expect(response).toEqual({
      success: false,
      completed: true,
      message: 'It broke.',
      session,
      contentType: 'text/plain',
    })
    expect(error).toMatchObject({ code: 'FLOW_ERROR', statusCode: 400 })
    const after = await document(session)
    expect(after).toEqual({
      ...before,
      runStatus: 'aborted',
      error: ['It broke.'],
      savedAt: '2026-01-01T00:00:05.000Z',
      revision: expect.stringMatching(/^2-/),
    })
  })

  test('a first turn that fails creates its document as aborted, and answers with the new ID', async () => {
    const { engine, document, backing } = harness({ flows: [failing()] })
    const response = await engine.run({ flowName: 'Talk', userMessage: 'fail', config: { colour: 'red' } })
    expect(response).toMatchObject({ success: false, completed: true, message: 'It broke.' })
    expect([...backing.keys()]).toEqual([response.session])
    const stored = await document(response.session)
    expect(stored).toMatchObject({ runStatus: 'aborted', error: ['It broke.'], history: [] })
    expect(stored.revision).toMatch(/^1-/)
    expect(stored.flow).toMatchObject({ name: 'Talk', currentStep: null, context: { config: { colour: 'red' } } })
  })
})
