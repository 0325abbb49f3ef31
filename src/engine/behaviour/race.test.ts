import { afterEach, describe, expect, test } from 'vitest'
import { expectNothingLeft, flowOf, gate, gatedFlow, harness } from '../../../testing/contract/engine-harness.js'
import { reply } from '../../index.js'

afterEach(expectNothingLeft)

describe('two engines', () => {
  test('[4.8-4] do not share a lock', async () => {
    const first = harness()
    const second = harness({ backing: first.backing })
    const held = gate()
    const holding = first.engine.getFlowSession().withSessionLock('one', () => held.opened)
    expect(await second.engine.getFlowSession().withSessionLock('one', () => 'done')).toBe('done')
    held.open()
    await holding
  })

  test('[4.8-5 3-4 7.2-1 7.3-2] racing for one session: one wins, the other conflicts and leaves the winner alone', async () => {
    const { flow, open } = gatedFlow()
    const first = harness({ flows: [flow] })
    const second = harness({ flows: [flow], backing: first.backing })
    const session = await first.start('Talk')
    const slow = first.engine.execute({ flowName: 'Talk', userMessage: 'slow', sessionId: session })
    await first.clock.settle()
    open('fast')
    const fast = await second.engine.run({ flowName: 'Talk', userMessage: 'fast', sessionId: session })
    expect(fast).toMatchObject({ success: true, session })
    const winner = await first.stored(session)
    open('slow')
    const { response, error } = await slow
    expect(response).toEqual({
      success: false,
      completed: true,
      message: `Session '${session}' was changed or deleted by another request.`,
      session,
      contentType: 'text/plain',
    })
    expect(error).toMatchObject({ code: 'SESSION_CONFLICT', statusCode: 409 })
    expect(await first.stored(session)).toBe(winner)
    expect((await first.document(session)).history.map(({ message }) => message)).toEqual(['start', 'fast'])
    // The loser tries again, on what the winner left.
    const again = await first.engine.run({ flowName: 'Talk', userMessage: 'slow', sessionId: session })
    expect(again).toMatchObject({ success: true, session })
  })

  test('[4.8-5] a turn that lost against a delete conflicts, and brings nothing back', async () => {
    const { flow, open } = gatedFlow()
    const first = harness({ flows: [flow] })
    const second = harness({ flows: [flow], backing: first.backing })
    const session = await first.start('Talk')
    const slow = first.engine.execute({ flowName: 'Talk', userMessage: 'slow', sessionId: session })
    await first.clock.settle()
    expect(await second.engine.deleteSession(session)).toEqual({ success: true, session })
    open('slow')
    const { response, error } = await slow
    expect(error?.code).toBe('SESSION_CONFLICT')
    expect(response.session).toBe(session)
    expect(first.backing.size).toBe(0)
  })

  test('[7.2-1 3-4] a failing turn that lost the race leaves the winner alone as well', async () => {
    const held = gate()
    const failing = flowOf('Talk', async (turn) => {
      if (turn.message !== 'fail') return reply(turn.message)
      await held.opened
      throw new Error('It broke.')
    })
    const first = harness({ flows: [failing] })
    const second = harness({ flows: [failing], backing: first.backing })
    const session = await first.start('Talk')
    const slow = first.engine.run({ flowName: 'Talk', userMessage: 'fail', sessionId: session })
    await first.clock.settle()
    await second.engine.run({ flowName: 'Talk', userMessage: 'fast', sessionId: session })
    const winner = await first.stored(session)
    held.open()
    expect(await slow).toEqual({
      success: false,
      completed: true,
      message: `It broke. Saving the aborted session failed: Session '${session}' was changed or deleted by another request.`,
      session,
      contentType: 'text/plain',
    })
    expect(await first.stored(session)).toBe(winner)
  })
})

describe('two engines, and a save whose reply was lost', () => {
  /** The first engine's save fails as told; before it reads back, the second engine stores the session's next turn. */
  async function overtaken(effect: 'fail-before' | 'fail-after') {
    const { flow, open } = gatedFlow()
    const first = harness({ flows: [flow] })
    const second = harness({ flows: [flow], backing: first.backing })
    const session = await first.start('Talk')
    open('mine')
    open('theirs')
    first.store.inject({ operation: 'save', effect })
    first.store.delayNext('load', 10, { nth: 2 })
    const mine = first.engine.execute({ flowName: 'Talk', userMessage: 'mine', sessionId: session })
    await first.clock.settle()
    const theirs = await second.engine.run({ flowName: 'Talk', userMessage: 'theirs', sessionId: session })
    expect(theirs.success).toBe(true)
    const winner = await first.stored(session)
    await first.clock.advance(10)
    const result = await mine
    expect(await first.stored(session)).toBe(winner)
    const { history } = await first.document(session)
    return { ...result, said: history.map(({ message }) => message) }
  }

  test('it had happened, and the next turn goes on from it: a success', async () => {
    const { response, said } = await overtaken('fail-after')
    expect(response).toMatchObject({ success: true, message: 'mine' })
    expect(said).toEqual(['start', 'mine', 'theirs'])
  })

  test('[4.8-5 7.2-1] it had not, and the other turn came instead of it: a conflict', async () => {
    const { response, error, said } = await overtaken('fail-before')
    expect(response.success).toBe(false)
    expect(error?.code).toBe('SESSION_CONFLICT')
    expect(said).toEqual(['start', 'theirs'])
  })
})
