import { afterEach, describe, expect, test } from 'vitest'
import { expectNothingLeft, flowOf, gate, gatedFlow, harness, never } from '../../../testing/contract/engine-harness.js'
import { type FlowConstructor, reply } from '../../index.js'

afterEach(expectNothingLeft)

const closedEnvelope = (session: string) => ({
  success: false,
  completed: true,
  message: 'The engine is closed.',
  session,
  contentType: 'text/plain',
})

/** A turn that says `hang` never ends by itself. */
const hanging = (): FlowConstructor =>
  flowOf('Talk', (turn) => (turn.message === 'hang' ? never() : reply(turn.message)))

describe('turns that do not end', () => {
  test('are aborted after closeTimeoutMs; their documents stay as they were', async () => {
    const reasons = new Map<boolean, unknown>()
    const flow = flowOf('Talk', (turn) => {
      if (turn.message !== 'hang') return reply(turn.message)
      turn.signal.addEventListener('abort', () => {
        reasons.set(turn.session.isNew, turn.signal.reason)
      })
      return never()
    })
    const { engine, clock, store, start, stored, backing } = harness({ flows: [flow], limits: { closeTimeoutMs: 700 } })
    const session = await start('Talk')
    const before = await stored(session)
    const running = engine.execute({ flowName: 'Talk', userMessage: 'hang', sessionId: session })
    const first = engine.execute({ flowName: 'Talk', userMessage: 'hang' })
    const closing = engine.close()
    await clock.advance(699)
    expect(reasons.size).toBe(0)
    await clock.advance(1)
    const { response, error } = await running
    expect(response).toEqual(closedEnvelope(session))
    expect(error?.code).toBe('ENGINE_CLOSED')
    expect((await first).response).toEqual(closedEnvelope(''))
    expect(reasons.get(false)).toBe(error)
    expect(reasons.get(true)).toMatchObject({ code: 'ENGINE_CLOSED' })
    await closing
    expect(await stored(session)).toBe(before)
    expect(backing.size).toBe(1)
    expect(store.operations.at(-1)).toBe('close')
  })

  test('closeTimeoutMs is 10 seconds unless said otherwise', async () => {
    const { engine, clock } = harness({ flows: [hanging()] })
    let settled = false
    const running = engine.run({ flowName: 'Talk', userMessage: 'hang' }).then((response) => {
      settled = true
      return response
    })
    const closing = engine.close()
    await clock.advance(9_999)
    expect(settled).toBe(false)
    await clock.advance(1)
    expect(await running).toEqual(closedEnvelope(''))
    await closing
  })

  test('a commit under way is waited for beyond that', async () => {
    const { engine, clock, store, start, document } = harness({ flows: [hanging()], limits: { closeTimeoutMs: 100 } })
    const session = await start('Talk')
    store.delayNext('save', 4_000)
    const running = engine.run({ flowName: 'Talk', userMessage: 'a', sessionId: session })
    await clock.settle()
    const closing = engine.close()
    await clock.advance(3_999)
    expect(store.operations).not.toContain('close')
    await clock.advance(1)
    expect(await running).toMatchObject({ success: true, message: 'a' })
    await closing
    expect((await document(session)).history).toHaveLength(2)
  })

  test('a commit that hangs is waited for as long as it may take', async () => {
    const { engine, clock, store, start } = harness({ flows: [hanging()], limits: { closeTimeoutMs: 100 } })
    const session = await start('Talk')
    store.hangNext('save', { times: 3 })
    const running = engine.execute({ flowName: 'Talk', userMessage: 'a', sessionId: session })
    await clock.settle()
    const closing = engine.close()
    await clock.advance(15_000)
    expect((await running).error?.code).toBe('SESSION_STORE_ERROR')
    await clock.advance(100)
    await closing
    expect(store.operations.at(-1)).toBe('close')
  })

  test('the work of an application that never ends does not keep the engine open', async () => {
    const made = harness({ limits: { closeTimeoutMs: 100 } })
    const held = gate()
    const working = made.engine.getFlowSession().withSessionLock('one', () => held.opened)
    const closing = made.engine.close()
    await made.clock.advance(100)
    await closing
    expect(made.store.operations).toEqual(['close'])
    held.open()
    await working
  })

  test('a turn that waits for the engine to close is aborted like any other', async () => {
    const flow = flowOf('Talk', async () => {
      await made.engine.close()
      return reply('closed')
    })
    const made = harness({ flows: [flow], limits: { closeTimeoutMs: 100 } })
    const running = made.engine.run({ flowName: 'Talk', userMessage: 'close' })
    await made.clock.advance(100)
    expect(await running).toEqual(closedEnvelope(''))
    await made.engine.close()
  })

  test('Infinity waits for as long as it takes', async () => {
    const { flow, open } = gatedFlow()
    const { engine, clock, start, store } = harness({
      flows: [flow],
      limits: { closeTimeoutMs: Number.POSITIVE_INFINITY, turnTimeoutMs: Number.POSITIVE_INFINITY },
    })
    const session = await start('Talk')
    const running = engine.run({ flowName: 'Talk', userMessage: 'a', sessionId: session })
    await clock.settle()
    const closing = engine.close()
    await clock.advance(10_000_000)
    expect(store.operations).not.toContain('close')
    open('a')
    expect(await running).toMatchObject({ success: true })
    await closing
  })
})

describe('a store that does not close', () => {
  test.each(['hang-before', 'hang-after'] as const)('ends after storeTimeoutMs (%s)', async (effect) => {
    const { engine, clock, store } = harness()
    store.inject({ operation: 'close', effect })
    const closing = engine.close()
    const rejected = expect(closing).rejects.toMatchObject({
      code: 'SESSION_STORE_ERROR',
      message: 'Session store failed to close.',
      operation: 'close',
      sessionId: undefined,
      cause: { code: 'LIMIT_EXCEEDED', limit: 'storeTimeoutMs', value: 5000 },
    })
    await clock.advance(4999)
    await clock.advance(1)
    await rejected
    await expect(engine.close()).rejects.toMatchObject({ code: 'SESSION_STORE_ERROR' })
    expect(store.operations).toEqual(['close'])
  })

  test('ends while turns are in flight, too', async () => {
    const { engine, clock, store } = harness({ flows: [hanging()] })
    store.hangNext('close')
    const running = engine.run({ flowName: 'Talk', userMessage: 'hang' })
    const rejected = expect(engine.close()).rejects.toMatchObject({ code: 'SESSION_STORE_ERROR' })
    await clock.advance(10_000)
    expect(await running).toEqual(closedEnvelope(''))
    await clock.advance(5_000)
    await rejected
  })

  test('that rejects or throws is reported, with its error only as the cause', async () => {
    const { engine, store } = harness()
    const cause = new Error('redis://user:secret@host is down')
    store.failNext('close', { error: cause })
    await expect(engine.close()).rejects.toMatchObject({ message: 'Session store failed to close.', cause })
    const other = harness()
    other.store.failNext('close', { atOnce: true, error: cause })
    await expect(other.engine.close()).rejects.toMatchObject({ message: 'Session store failed to close.', cause })
  })
})
