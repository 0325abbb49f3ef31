import { afterEach, describe, expect, test } from 'vitest'
import { expectNothingLeft, flowOf, gate, harness } from '../../../testing/contract/engine-harness.js'
import { type FlowConstructor, finish, reply } from '../../index.js'

afterEach(expectNothingLeft)

const talk = (): FlowConstructor => flowOf('Talk')

/** Finishes when the test says so. */
const untilDone = (): FlowConstructor =>
  flowOf('Talk', (turn) => (turn.message === 'done' ? finish('Goodbye.') : reply(`You said: ${turn.message}`)))

const failing = (): FlowConstructor =>
  flowOf('Talk', (turn) => {
    if (turn.message === 'fail') throw new Error('It broke.')
    return reply(`You said: ${turn.message}`)
  })

describe('the end of a session', () => {
  test('[2.3-2 3-5 3-8] reaching an end step completes the session, and its document is kept', async () => {
    const { engine, document } = harness({ flows: [untilDone()] })
    const { session, completed } = await engine.run({ flowName: 'Talk', userMessage: 'hello' })
    expect(completed).toBe(false)
    const last = await engine.run({ flowName: 'Talk', userMessage: 'done', sessionId: session })
    expect(last).toEqual({
      success: true,
      completed: true,
      message: 'Goodbye.',
      session,
      contentType: 'text/plain',
    })
    const stored = await document(session)
    expect(stored.runStatus).toBe('completed')
    expect(stored.flow.currentStep).toBe('End')
    expect(stored.history).toHaveLength(2)
  })

  test('[2.3-2] a session may be completed by its first turn', async () => {
    const { engine, document } = harness({ flows: [untilDone()] })
    const { session, completed } = await engine.run({ flowName: 'Talk', userMessage: 'done' })
    expect(completed).toBe(true)
    expect((await document(session)).runStatus).toBe('completed')
  })

  test('the ID of a completed session starts a new one, and the old document stays as it was', async () => {
    const { engine, stored, document } = harness({ flows: [untilDone()] })
    const { session } = await engine.run({ flowName: 'Talk', userMessage: 'done' })
    const before = await stored(session)
    const next = await engine.run({ flowName: 'Talk', userMessage: 'again', sessionId: session })
    expect(next).toMatchObject({ success: true, message: 'You said: again' })
    expect(next.session).not.toBe(session)
    expect(await stored(session)).toBe(before)
    expect((await document(next.session)).history).toHaveLength(1)
  })

  test('the ID of an aborted session starts a new one, and the old document stays as it was', async () => {
    const { engine, stored } = harness({ flows: [failing()] })
    const { session } = await engine.run({ flowName: 'Talk', userMessage: 'hello' })
    await engine.run({ flowName: 'Talk', userMessage: 'fail', sessionId: session })
    const before = await stored(session)
    const next = await engine.run({ flowName: 'Talk', userMessage: 'again', sessionId: session })
    expect(next).toMatchObject({ success: true, message: 'You said: again' })
    expect(next.session).not.toBe(session)
    expect(await stored(session)).toBe(before)
  })

  test('an unknown ID starts a new session under an ID of the engine', async () => {
    const { engine, backing } = harness({ flows: [talk()] })
    const response = await engine.run({ flowName: 'Talk', userMessage: 'hello', sessionId: 'chosen-by-the-client' })
    expect(response.success).toBe(true)
    expect(response.session).toMatch(/^[A-Za-z0-9_-]{32}$/)
    expect([...backing.keys()]).toEqual([response.session])
  })

  test('a run queued behind a delete finds nothing and starts a new session', async () => {
    const { engine, backing, start } = harness({ flows: [talk()] })
    const session = await start('Talk')
    const held = gate()
    const holding = engine.getFlowSession().withSessionLock(session, () => held.opened)
    const deleting = engine.deleteSession(session)
    const running = engine.run({ flowName: 'Talk', userMessage: 'hello', sessionId: session })
    held.open()
    await holding
    expect(await deleting).toEqual({ success: true, session })
    const response = await running
    expect(response.success).toBe(true)
    expect(response.session).not.toBe(session)
    expect([...backing.keys()]).toEqual([response.session])
  })
})

describe("unknownSession: 'reject'", () => {
  const sentence = (id: string): string =>
    `Session '${id}' does not exist or has ended. Leave the session ID out to start a new one.`

  test('refuses an unknown, a completed and an aborted session, and makes none', async () => {
    const flow = flowOf('Talk', (turn) => {
      if (turn.message === 'fail') throw new Error('It broke.')
      return turn.message === 'done' ? finish('Goodbye.') : reply('hello')
    })
    const { engine, backing, stored } = harness({ flows: [flow], unknownSession: 'reject' })
    const { session: completed } = await engine.run({ flowName: 'Talk', userMessage: 'done' })
    const { session: aborted } = await engine.run({ flowName: 'Talk', userMessage: 'fail' })
    const before = [await stored(completed), await stored(aborted)]
    for (const sessionId of ['nobody', completed, aborted]) {
      const { response, error } = await engine.execute({ flowName: 'Talk', userMessage: 'hello', sessionId })
      expect(response).toEqual({
        success: false,
        completed: true,
        message: sentence(sessionId),
        session: sessionId,
        contentType: 'text/plain',
      })
      expect(error).toMatchObject({ code: 'SESSION_NOT_FOUND', statusCode: 400 })
    }
    expect(backing.size).toBe(2)
    expect([await stored(completed), await stored(aborted)]).toEqual(before)
  })

  test('continues a running session, and starts one where no ID is given', async () => {
    const { engine } = harness({ flows: [talk()], unknownSession: 'reject' })
    const { session } = await engine.run({ flowName: 'Talk', userMessage: 'one' })
    const second = await engine.run({ flowName: 'Talk', userMessage: 'two', sessionId: session })
    expect(second).toMatchObject({ success: true, session })
  })
})
