import { afterEach, describe, expect, test } from 'vitest'
import {
  expectNothingLeft,
  flowOf,
  gate,
  gatedFlow,
  type Harness,
  harness,
  never,
} from '../../../testing/contract/engine-harness.js'
import { type FlowConstructor, reply, type Turn } from '../../index.js'

afterEach(expectNothingLeft)

describe('the length of the queue', () => {
  const sentence = 'The number of turns that wait for this session exceeds the limit maxQueuedTurnsPerSession (2).'

  test('one turn runs and as many wait as the limit says; one more is refused at once and runs nothing', async () => {
    const { flow, journal, open } = gatedFlow()
    const { engine, clock, start, document } = harness({ flows: [flow], limits: { maxQueuedTurnsPerSession: 2 } })
    const session = await start('Talk')
    const running = ['a', 'b', 'c'].map((userMessage) =>
      engine.run({ flowName: 'Talk', userMessage, sessionId: session }),
    )
    const { response, error } = await engine.execute({ flowName: 'Talk', userMessage: 'd', sessionId: session })
    expect(response).toEqual({
      success: false,
      completed: true,
      message: sentence,
      session,
      contentType: 'text/plain',
    })
    expect(error).toMatchObject({ code: 'LIMIT_EXCEEDED', limit: 'maxQueuedTurnsPerSession', value: 2 })
    open('a')
    await clock.settle()
    // There is room again.
    const later = engine.run({ flowName: 'Talk', userMessage: 'e', sessionId: session })
    for (const message of ['b', 'c', 'e']) open(message)
    await Promise.all([...running, later])
    expect(journal.filter((entry) => entry.endsWith('begins'))).toEqual([
      'a begins',
      'b begins',
      'c begins',
      'e begins',
    ])
    expect(await document(session)).toMatchObject({ runStatus: 'running', error: [] })
  })

  test('who leaves the line makes room for another', async () => {
    const { flow, open } = gatedFlow()
    const { engine, start } = harness({ flows: [flow], limits: { maxQueuedTurnsPerSession: 1 } })
    const session = await start('Talk')
    const first = engine.run({ flowName: 'Talk', userMessage: 'a', sessionId: session })
    const controller = new AbortController()
    const leaving = engine.run({
      flowName: 'Talk',
      userMessage: 'b',
      sessionId: session,
      signal: controller.signal,
    })
    controller.abort()
    expect((await leaving).success).toBe(false)
    const next = engine.run({ flowName: 'Talk', userMessage: 'c', sessionId: session })
    open('a')
    open('c')
    expect((await Promise.all([first, next])).map(({ success }) => success)).toEqual([true, true])
  })

  test('deletes and the work of the application wait with it', async () => {
    const { flow, open } = gatedFlow()
    const { engine, start } = harness({ flows: [flow], limits: { maxQueuedTurnsPerSession: 1 } })
    const session = await start('Talk')
    const running = [engine.run({ flowName: 'Talk', userMessage: 'a', sessionId: session })]
    const working = Array.from({ length: 5 }, () => engine.getFlowSession().withSessionLock(session, () => 'done'))
    running.push(engine.run({ flowName: 'Talk', userMessage: 'b', sessionId: session }))
    const deleting = Array.from({ length: 5 }, () => engine.deleteSession(session))
    const refused = await engine.run({ flowName: 'Talk', userMessage: 'c', sessionId: session })
    expect(refused.success).toBe(false)
    open('a')
    open('b')
    expect((await Promise.all(running)).map(({ success }) => success)).toEqual([true, true])
    expect(await Promise.all(working)).toEqual(Array(5).fill('done'))
    expect((await Promise.all(deleting)).map(({ success }) => success)).toEqual(Array(5).fill(true))
  })

  test('each session has a queue of its own', async () => {
    const { flow, open } = gatedFlow()
    const { engine, start } = harness({ flows: [flow], limits: { maxQueuedTurnsPerSession: 1 } })
    const sessions = [await start('Talk'), await start('Talk')]
    const running = sessions.flatMap((sessionId) =>
      ['a', 'b'].map((userMessage) => engine.run({ flowName: 'Talk', userMessage, sessionId })),
    )
    open('a')
    open('b')
    expect((await Promise.all(running)).map(({ success }) => success)).toEqual([true, true, true, true])
  })

  test('Infinity lets any number wait', async () => {
    const { flow, open } = gatedFlow()
    const limits = { maxQueuedTurnsPerSession: Number.POSITIVE_INFINITY }
    const { engine, start, document } = harness({ flows: [flow], limits })
    const session = await start('Talk')
    open('a')
    const running = Array.from({ length: 200 }, () =>
      engine.run({ flowName: 'Talk', userMessage: 'a', sessionId: session }),
    )
    expect((await Promise.all(running)).every(({ success }) => success)).toBe(true)
    expect((await document(session)).history).toHaveLength(201)
  })
})

describe('how long a turn waits', () => {
  const waited =
    "The wait for the session's earlier turns took longer than the limit turnTimeoutMs (1000 ms). A turn that is started within a turn of the same session, and awaited there, waits for itself and ends like this."

  test('no longer than turnTimeoutMs; then it leaves the line, and nothing of it runs', async () => {
    const { flow, journal, open } = gatedFlow()
    const { engine, clock, start, stored } = harness({ flows: [flow], limits: { turnTimeoutMs: 1000 } })
    const session = await start('Talk')
    const before = await stored(session)
    const held = gate()
    const holding = engine.getFlowSession().withSessionLock(session, () => held.opened)
    const impatient = engine.execute({ flowName: 'Talk', userMessage: 'a', sessionId: session })
    await clock.advance(500)
    open('b')
    const patient = engine.run({ flowName: 'Talk', userMessage: 'b', sessionId: session })
    await clock.advance(500)
    const { response, error } = await impatient
    expect(response).toEqual({
      success: false,
      completed: true,
      message: waited,
      session,
      contentType: 'text/plain',
    })
    expect(error).toMatchObject({ code: 'TURN_TIMEOUT', timeoutMs: 1000 })
    expect(await stored(session)).toBe(before)
    held.open()
    await holding
    expect(await patient).toMatchObject({ success: true, message: 'b' })
    expect(journal).toEqual(['b begins', 'b ends'])
  })

  test('the time of waiting is not taken from the time of the turn', async () => {
    const { flow, open } = gatedFlow()
    const { engine, clock, start } = harness({ flows: [flow], limits: { turnTimeoutMs: 1000 } })
    const session = await start('Talk')
    const held = gate()
    const holding = engine.getFlowSession().withSessionLock(session, () => held.opened)
    const running = engine.run({ flowName: 'Talk', userMessage: 'a', sessionId: session })
    await clock.advance(900)
    held.open()
    await holding
    await clock.advance(900)
    open('a')
    expect(await running).toMatchObject({ success: true })
  })

  test("the application's own work waits for as long as it takes", async () => {
    const { engine, clock } = harness({ limits: { turnTimeoutMs: 1000 } })
    const sessions = engine.getFlowSession()
    const held = gate()
    const holding = sessions.withSessionLock('one', () => held.opened)
    const waiting = sessions.withSessionLock('one', () => 'done')
    await clock.advance(100_000)
    held.open()
    await holding
    expect(await waiting).toBe('done')
  })
})

test('a turn that never ends is aborted at its deadline, and its lock goes to the next one', async () => {
  const flow = flowOf('Talk', (turn) => (turn.message === 'hang' ? never() : reply(turn.message)))
  const { engine, clock, start } = harness({ flows: [flow], limits: { turnTimeoutMs: 1000 } })
  const session = await start('Talk')
  const hanging = engine.run({ flowName: 'Talk', userMessage: 'hang', sessionId: session })
  await clock.advance(500)
  const next = engine.run({ flowName: 'Talk', userMessage: 'next', sessionId: session })
  await clock.advance(500)
  expect((await hanging).success).toBe(false)
  expect(await next).toMatchObject({ success: true, message: 'next' })
})

describe('a turn that waits for its own session', () => {
  const hint =
    'Raise it with the engine option limits: { turnTimeoutMs: ... }.' +
    ' Other requests of the session waited for this turn. If flow code awaits one of them, the turn waited for itself.' +
    ' Pass signal: turn.signal to a turn that flow code starts, so that it is cancelled with this one.'

  /** A turn that does this with its own session, and waits for it. */
  async function outerTurn(act: (made: Harness, turn: Turn) => Promise<unknown>) {
    const journal: string[] = []
    let inner: Promise<unknown> | undefined
    const flow: FlowConstructor = flowOf('Talk', async (turn) => {
      journal.push(turn.message)
      if (turn.message !== 'outer') return reply(turn.message)
      inner = act(made, turn)
      await inner
      return reply('outer')
    })
    const made = harness({ flows: [flow], limits: { turnTimeoutMs: 1000 } })
    const session = await made.start('Talk')
    const outer = made.engine.execute({ flowName: 'Talk', userMessage: 'outer', sessionId: session })
    await made.clock.advance(1000)
    const { error } = await outer
    expect(made.engine.getFlowSession().locked).toBe(0)
    return { made, session, error, inner, journal }
  }

  test('for a turn: it ends at the deadline, with the likely cause, and leaves the lock free', async () => {
    const { made, session, error, inner } = await outerTurn(({ engine }, turn) =>
      engine.run({ flowName: 'Talk', userMessage: 'inner', sessionId: turn.session.id }),
    )
    expect(error).toMatchObject({ code: 'TURN_TIMEOUT', details: hint })
    expect(error?.message).toBe('The turn took longer than the limit turnTimeoutMs (1000 ms).')
    // It had the lock next; the session it asked for has ended by then.
    expect(await inner).toMatchObject({ success: true, message: 'inner' })
    expect(await inner).not.toMatchObject({ session })
    expect((await made.document(session)).runStatus).toBe('aborted')
  })

  test('for a delete: it ends like that, too', async () => {
    const { made, session, error, inner } = await outerTurn(({ engine }, turn) =>
      engine.deleteSession(turn.session.id as string),
    )
    expect(error).toMatchObject({ code: 'TURN_TIMEOUT', details: hint })
    expect(await inner).toMatchObject({ success: true })
    expect(await made.stored(session)).toBe('')
  })

  test('and passes its signal: what waits is cancelled, and nothing of it runs', async () => {
    const { made, session, error, inner, journal } = await outerTurn(({ engine }, { session: { id }, signal }) =>
      engine.execute({ flowName: 'Talk', userMessage: 'inner', sessionId: id, signal }),
    )
    expect(error).toMatchObject({ code: 'TURN_TIMEOUT', details: hint })
    expect(await inner).toMatchObject({ error: { code: 'TURN_ABORTED' } })
    await made.clock.settle()
    expect(journal).toEqual(['start', 'outer'])
    expect([...made.backing.keys()]).toEqual([session])
  })

  test('is named as a cause only where something waits', async () => {
    const { error } = await outerTurn(() => never())
    expect(error).toMatchObject({ details: 'Raise it with the engine option limits: { turnTimeoutMs: ... }.' })
  })
})
