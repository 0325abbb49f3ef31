import { afterEach, describe, expect, test } from 'vitest'
import { expectNothingLeft, flowOf, gate, gatedFlow, harness, never } from '../../../testing/contract/engine-harness.js'
import { EngineClosedError } from '../../errors/engine-errors.js'
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

describe('an idle engine', () => {
  test('[4.4-19] closes its store, and leaves what is stored', async () => {
    const { engine, store, start, stored, backing } = harness({ flows: [hanging()] })
    const session = await start('Talk')
    const before = await stored(session)
    expect(await engine.close()).toBeUndefined()
    expect(store.operations).toEqual(['create', 'close'])
    expect(backing.size).toBe(1)
    expect(await stored(session)).toBe(before)
  })

  test('twice is once', async () => {
    const { engine, store } = harness()
    const first = engine.close()
    expect(engine.close()).toBe(first)
    await first
    expect(engine.close()).toBe(first)
    await engine.close()
    expect(store.operations).toEqual(['close'])
  })

  test('a closed engine runs nothing', async () => {
    const { engine, store, start } = harness({ flows: [hanging()] })
    const session = await start('Talk')
    await engine.close()
    const calls = store.journal.length
    const { response, error } = await engine.execute({ flowName: 'Talk', userMessage: 'hello', sessionId: session })
    expect(response).toEqual(closedEnvelope(session))
    expect(error).toMatchObject({ code: 'ENGINE_CLOSED', statusCode: 400 })
    expect(await engine.run({ flowName: 'Talk', userMessage: 'hello' })).toEqual(closedEnvelope(''))
    expect(await engine.runFlow('Talk', 'hello')).toEqual(closedEnvelope(''))
    await expect(engine.getFlowSession().withSessionLock(session, () => 1)).rejects.toBeInstanceOf(EngineClosedError)
    await expect(engine.getFlowSession().withSessionLock('', () => 1)).rejects.toBeInstanceOf(EngineClosedError)
    expect(store.journal).toHaveLength(calls)
  })

  test('bad input is reported before that', async () => {
    const { engine } = harness()
    await engine.close()
    const { error } = await engine.execute({ flowName: '', userMessage: 'hello' })
    expect(error?.code).toBe('INVALID_INPUT')
  })

  test('getSession rejects with the failure of the closed store', async () => {
    const { engine, start } = harness({ flows: [hanging()] })
    const session = await start('Talk')
    await engine.close()
    await expect(engine.getSession(session)).rejects.toMatchObject({ code: 'SESSION_STORE_ERROR', operation: 'load' })
  })
})

describe('turns in flight', () => {
  test('one: it ends and is stored, and then the store is closed', async () => {
    const { flow, open } = gatedFlow()
    const { engine, clock, store, start, document } = harness({ flows: [flow] })
    const session = await start('Talk')
    const running = engine.run({ flowName: 'Talk', userMessage: 'a', sessionId: session })
    await clock.settle()
    let closed = false
    const closing = engine.close().then(() => {
      closed = true
    })
    await clock.advance(9999)
    expect([closed, store.operations.includes('close')]).toEqual([false, false])
    open('a')
    expect(await running).toMatchObject({ success: true, message: 'a', session })
    await closing
    expect(store.operations).toEqual(['create', 'load', 'save', 'close'])
    expect((await document(session)).history).toHaveLength(2)
  })

  test('a hundred, with and without a session: all end, and the store is closed after the last', async () => {
    const { flow, open } = gatedFlow()
    const { engine, clock, store, start, backing } = harness({ flows: [flow] })
    const sessions: (string | undefined)[] = []
    for (let index = 0; index < 50; index++) sessions.push(await start('Talk'), undefined)
    const running = sessions.map((sessionId, index) => engine.runFlow('Talk', `turn ${index}`, sessionId))
    await clock.settle()
    const closing = engine.close()
    for (let index = 99; index >= 0; index--) open(`turn ${index}`)
    const responses = await Promise.all(running)
    await closing
    expect(responses.map(({ message }) => message)).toEqual(sessions.map((_, index) => `turn ${index}`))
    expect(backing.size).toBe(100)
    expect(store.operations.at(-1)).toBe('close')
    expect(store.operations.filter((operation) => operation === 'close')).toHaveLength(1)
  })

  test('waiting turns, deletes and work are turned away at once; who holds the lock goes on', async () => {
    const { flow, open, journal } = gatedFlow()
    const { engine, clock, start, document } = harness({ flows: [flow] })
    const session = await start('Talk')
    const running = engine.run({ flowName: 'Talk', userMessage: 'a', sessionId: session })
    const waiting = engine.run({ flowName: 'Talk', userMessage: 'b', sessionId: session })
    const deleting = engine.deleteSession(session)
    const working = engine.getFlowSession().withSessionLock(session, () => 'done')
    const refused = expect(working).rejects.toMatchObject({ code: 'ENGINE_CLOSED' })
    await clock.settle()
    const closing = engine.close()
    expect(await waiting).toEqual(closedEnvelope(session))
    expect(await deleting).toEqual({ success: false, session, message: 'The engine is closed.' })
    await refused
    open('a')
    expect(await running).toMatchObject({ success: true })
    await closing
    expect(journal).toEqual(['a begins', 'a ends'])
    expect((await document(session)).runStatus).toBe('running')
  })

  test('a delete and the work of the application are waited for', async () => {
    const { engine, clock, store, start } = harness({ flows: [hanging()] })
    const session = await start('Talk')
    store.delayNext('delete', 1000)
    const deleting = engine.deleteSession(session)
    const held = gate()
    const working = engine.getFlowSession().withSessionLock('other', () => held.opened)
    const closing = engine.close()
    await clock.advance(1000)
    expect(await deleting).toEqual({ success: true, session })
    expect(store.operations).not.toContain('close')
    held.open()
    await working
    await closing
    expect(store.operations.at(-1)).toBe('close')
  })

  test('a waiter that was given the lock in the moment of closing is not left to a closed store', async () => {
    const { flow, open } = gatedFlow()
    const { engine, store, start, document } = harness({ flows: [flow] })
    const session = await start('Talk')
    open('a')
    const held = gate()
    const holding = engine.getFlowSession().withSessionLock(session, () => held.opened)
    const waiting = engine.execute({ flowName: 'Talk', userMessage: 'a', sessionId: session })
    held.open()
    await holding
    const closing = engine.close()
    const { error } = await waiting
    await closing
    expect([undefined, 'ENGINE_CLOSED']).toContain(error?.code)
    expect((await document(session)).runStatus).toBe('running')
    expect(store.operations.at(-1)).toBe('close')
  })

  test('a turn queued by a listener that closes the engine is turned away', async () => {
    const { flow, open } = gatedFlow()
    const { engine, clock, start } = harness({ flows: [flow] })
    const session = await start('Talk')
    let closing: Promise<void> | undefined
    engine.on('turn:queued', () => {
      closing = engine.close()
    })
    const running = engine.run({ flowName: 'Talk', userMessage: 'a', sessionId: session })
    await clock.settle()
    const waiting = engine.run({ flowName: 'Talk', userMessage: 'b', sessionId: session })
    open('a')
    open('b')
    expect(await running).toMatchObject({ success: true })
    expect(await waiting).toEqual(closedEnvelope(session))
    await closing
  })
})
