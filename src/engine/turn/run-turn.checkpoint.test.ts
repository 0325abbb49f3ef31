import { afterEach, describe, expect, test } from 'vitest'
import { expectNothingLeft, flowOf, harness } from '../../../testing/contract/engine-harness.js'
import { type FlowConstructor, reply } from '../../index.js'

afterEach(expectNothingLeft)

describe('the checkpoint of a batch flow', () => {
  test('[4.5-3] is the state before the turn: never half a turn', async () => {
    const seen: unknown[] = []
    const flow: FlowConstructor = flowOf(
      'Batch',
      async (turn, step) => {
        step.state.count = turn.number
        const checkpoint = await made.document(turn.session.id)
        seen.push([checkpoint.flow.steps.Only?.state, checkpoint.history.length, checkpoint.runStatus])
        return reply('counted')
      },
      { isBatch: () => true },
    )
    const made = harness({ flows: [flow] })
    const session = await made.start('Batch')
    await made.engine.run({ flowName: 'Batch', userMessage: 'again', sessionId: session })
    expect(seen).toEqual([
      [undefined, 0, 'running'],
      [{ count: 1 }, 1, 'running'],
    ])
    expect((await made.document(session)).flow.steps.Only?.state).toEqual({ count: 2 })
    expect((await made.document(session)).revision).toMatch(/^4-/)
  })

  test('each write swaps the one before it', async () => {
    const { engine, store, start } = harness({ flows: [flowOf('Batch', undefined, { isBatch: () => true })] })
    const session = await start('Batch')
    await engine.run({ flowName: 'Batch', userMessage: 'again', sessionId: session })
    const writes = store.journal.filter(({ operation }) => operation !== 'load')
    expect(writes.map(({ operation }) => operation)).toEqual(['create', 'save', 'save', 'save'])
    expect(writes.slice(1).map(({ expectedRevision }) => expectedRevision)).toEqual(
      writes.slice(0, 3).map(({ revision }) => revision),
    )
  })

  test('what onRestore changed goes out with the turn, not with the checkpoint', async () => {
    const texts: (string | undefined)[] = []
    const flow: FlowConstructor = flowOf(
      'Batch',
      async (turn) => {
        if (turn.message !== 'start') texts.push(await made.stored(turn.session.id))
        return reply('ok')
      },
      {
        isBatch: () => true,
        onRestore: (document) => ({ ...document, flow: { ...document.flow, context: { changed: true } } }),
      },
    )
    const made = harness({ flows: [flow] })
    const session = await made.start('Batch')
    await made.engine.run({ flowName: 'Batch', userMessage: 'again', sessionId: session })
    expect(texts[0]).not.toContain('changed')
    expect((await made.document(session)).flow.context).toEqual({ changed: true })
  })

  test('[7.2-1] that loses a race ends the turn before it runs', async () => {
    let runs = 0
    const flow = flowOf(
      'Batch',
      () => {
        runs++
        return reply('ran')
      },
      { isBatch: () => true },
    )
    const { engine, clock, start, store, rewrite, stored } = harness({ flows: [flow] })
    const session = await start('Batch')
    runs = 0
    store.delayNext('save', 10)
    const running = engine.execute({ flowName: 'Batch', userMessage: 'again', sessionId: session })
    await clock.settle()
    await rewrite(session, (document) => Object.assign(document, { revision: '9-theirs' }))
    const winner = await stored(session)
    await clock.advance(10)
    expect((await running).error?.code).toBe('SESSION_CONFLICT')
    expect(await stored(session)).toBe(winner)
    expect(runs).toBe(0)
  })

  test('that fails for good aborts the session; nothing ran', async () => {
    let runs = 0
    const flow = flowOf(
      'Batch',
      () => {
        runs++
        return reply('ran')
      },
      { isBatch: () => true },
    )
    const { engine, store, document } = harness({ flows: [flow] })
    store.failNext('create', { times: 3 })
    const { response, error } = await engine.execute({ flowName: 'Batch', userMessage: 'hello' })
    expect(error).toMatchObject({ code: 'SESSION_STORE_ERROR', operation: 'create' })
    expect(await document(response.session)).toMatchObject({ runStatus: 'aborted', error: [error?.message] })
    expect(runs).toBe(0)
  })

  test('a deadline that ends during it aborts the session once it is stored', async () => {
    const flow = flowOf('Batch', undefined, { isBatch: () => true })
    const { engine, clock, store, document } = harness({ flows: [flow], limits: { turnTimeoutMs: 100 } })
    store.delayNext('create', 200)
    const running = engine.execute({ flowName: 'Batch', userMessage: 'hello' })
    await clock.advance(200)
    const { response, error } = await running
    expect(error?.code).toBe('TURN_TIMEOUT')
    expect(await document(response.session)).toMatchObject({ runStatus: 'aborted', history: [] })
  })

  test('a caller that goes away during it leaves the checkpoint', async () => {
    const flow = flowOf('Batch', undefined, { isBatch: () => true })
    const { engine, clock, store, document, backing } = harness({ flows: [flow] })
    store.delayNext('create', 200)
    const controller = new AbortController()
    const running = engine.execute({ flowName: 'Batch', userMessage: 'hello', signal: controller.signal })
    await clock.advance(100)
    controller.abort()
    await clock.advance(100)
    const { response, error } = await running
    expect(error?.code).toBe('TURN_ABORTED')
    expect([...backing.keys()]).toEqual([response.session])
    expect(await document(response.session)).toMatchObject({ runStatus: 'running', history: [], error: [] })
  })

  test('an isBatch that throws aborts the session it was asked about', async () => {
    let fails = false
    const isBatch = (): boolean => {
      if (fails) throw new Error('no batch today')
      return false
    }
    const { engine, start, document, store } = harness({ flows: [flowOf('Batch', undefined, { isBatch })] })
    const session = await start('Batch')
    fails = true
    const response = await engine.run({ flowName: 'Batch', userMessage: 'hello', sessionId: session })
    expect(response).toMatchObject({ success: false, message: 'no batch today', session })
    expect(await document(session)).toMatchObject({ runStatus: 'aborted', error: ['no batch today'] })
    expect(store.operations).toEqual(['create', 'load', 'save'])
  })
})
