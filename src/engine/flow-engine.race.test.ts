import { afterEach, describe, expect, test } from 'vitest'
import { expectNothingLeft, flowOf, gate, gatedFlow, harness } from '../../testing/contract/engine-harness.js'
import { reply } from '../index.js'

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
