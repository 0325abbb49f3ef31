import { afterEach, describe, expect, test } from 'vitest'
import { expectNothingLeft, flowOf, gate, gatedFlow, harness, never } from '../../../testing/contract/engine-harness.js'
import { type FlowConstructor, reply } from '../../index.js'

afterEach(expectNothingLeft)

const cancelled = (session: string) => ({
  success: false,
  completed: true,
  message: 'The turn was cancelled by its caller.',
  session,
  contentType: 'text/plain',
})

const hanging = (): FlowConstructor =>
  flowOf('Talk', (turn) => (turn.message === 'hang' ? never() : reply(turn.message)))

describe('a signal that fires', () => {
  test('before the turn: nothing is run, and the store is not asked', async () => {
    let runs = 0
    const flow = flowOf('Talk', () => {
      runs++
      return reply('ran')
    })
    const { engine, store } = harness({ flows: [flow] })
    const reason = new Error('gone')
    const { response, error } = await engine.execute({
      flowName: 'Talk',
      userMessage: 'hello',
      sessionId: 'given',
      signal: AbortSignal.abort(reason),
    })
    expect(response).toEqual(cancelled('given'))
    expect(error).toMatchObject({ code: 'TURN_ABORTED', statusCode: 400, cause: reason })
    expect([runs, store.journal]).toEqual([0, []])
    const first = await engine.run({ flowName: 'Talk', userMessage: 'hello', signal: AbortSignal.abort() })
    expect(first).toEqual(cancelled(''))
  })

  test('while the turn waits: it leaves the line at once, and the others go on', async () => {
    const { flow, journal, open } = gatedFlow()
    const { engine, clock, start, document } = harness({ flows: [flow] })
    const session = await start('Talk')
    const controller = new AbortController()
    const first = engine.run({ flowName: 'Talk', userMessage: 'a', sessionId: session })
    const second = engine.execute({
      flowName: 'Talk',
      userMessage: 'b',
      sessionId: session,
      signal: controller.signal,
    })
    const third = engine.run({ flowName: 'Talk', userMessage: 'c', sessionId: session })
    await clock.settle()
    controller.abort('bored')
    const { response, error } = await second
    expect(response).toEqual(cancelled(session))
    expect(error).toMatchObject({ code: 'TURN_ABORTED', cause: 'bored' })
    open('a')
    open('c')
    expect((await Promise.all([first, third])).map(({ success }) => success)).toEqual([true, true])
    expect(journal).toEqual(['a begins', 'a ends', 'c begins', 'c ends'])
    expect((await document(session)).runStatus).toBe('running')
  })

  test('in the turn: it is aborted, and the document stays byte for byte', async () => {
    const late = gate()
    const reasons: unknown[] = []
    const flow = flowOf('Talk', async (turn, step) => {
      if (turn.message === 'start') return reply('started')
      turn.signal.addEventListener('abort', () => reasons.push(turn.signal.reason))
      await late.opened
      step.state.late = true
      return reply('late')
    })
    const { engine, clock, start, stored, store } = harness({ flows: [flow] })
    const session = await start('Talk')
    const before = await stored(session)
    const controller = new AbortController()
    const running = engine.execute({
      flowName: 'Talk',
      userMessage: 'hello',
      sessionId: session,
      signal: controller.signal,
    })
    await clock.settle()
    controller.abort()
    const { response, error } = await running
    expect(response).toEqual(cancelled(session))
    expect(error?.code).toBe('TURN_ABORTED')
    expect(reasons).toEqual([error])
    late.open()
    await clock.settle()
    expect(await stored(session)).toBe(before)
    expect(store.operations).toEqual(['create', 'load'])
    // The session can be continued.
    expect(await engine.run({ flowName: 'Talk', userMessage: 'again', sessionId: session })).toMatchObject({ session })
  })

  test('in a first turn: no document, and no ID', async () => {
    const { engine, clock, backing } = harness({ flows: [hanging()] })
    const controller = new AbortController()
    const running = engine.run({ flowName: 'Talk', userMessage: 'hang', signal: controller.signal })
    await clock.settle()
    controller.abort()
    expect(await running).toEqual(cancelled(''))
    expect(backing.size).toBe(0)
  })

  test('while the session is loaded: no hook is called', async () => {
    let restored = 0
    const flow = flowOf('Talk', undefined, { onRestore: () => void restored++ })
    const { engine, clock, store, start, stored } = harness({ flows: [flow] })
    const session = await start('Talk')
    const before = await stored(session)
    store.delayNext('load', 100)
    const controller = new AbortController()
    const input = { flowName: 'Talk', userMessage: 'hello', sessionId: session, signal: controller.signal }
    const running = engine.run(input)
    await clock.advance(50)
    controller.abort()
    expect(await running).toEqual(cancelled(session))
    await clock.advance(50)
    expect(await stored(session)).toBe(before)
    expect(restored).toBe(0)
  })

  test('while an unknown session is looked for: none is made', async () => {
    const { engine, clock, store, backing } = harness({ flows: [hanging()] })
    store.delayNext('load', 100)
    const controller = new AbortController()
    const running = engine.run({
      flowName: 'Talk',
      userMessage: 'hello',
      sessionId: 'unknown',
      signal: controller.signal,
    })
    await clock.advance(50)
    controller.abort()
    expect(await running).toEqual(cancelled('unknown'))
    await clock.advance(50)
    expect(backing.size).toBe(0)
  })

  test('during the commit: too late, the turn is a success', async () => {
    const { engine, clock, store, start, document } = harness({ flows: [hanging()] })
    const session = await start('Talk')
    store.delayNext('save', 100)
    const controller = new AbortController()
    const input = { flowName: 'Talk', userMessage: 'hello', sessionId: session, signal: controller.signal }
    const running = engine.run(input)
    await clock.advance(50)
    controller.abort()
    await clock.advance(50)
    expect(await running).toMatchObject({ success: true, message: 'hello', session })
    expect((await document(session)).history).toHaveLength(2)
  })

  test('after the turn: nothing', async () => {
    const { engine, clock, start, stored } = harness({ flows: [hanging()] })
    const session = await start('Talk')
    const controller = new AbortController()
    const input = { flowName: 'Talk', userMessage: 'hello', sessionId: session, signal: controller.signal }
    expect((await engine.run(input)).success).toBe(true)
    const before = await stored(session)
    controller.abort()
    await clock.settle()
    expect(await stored(session)).toBe(before)
  })

  test('twice, and at the deadline as well: the first counts', async () => {
    const { engine, clock, start, stored } = harness({ flows: [hanging()], limits: { turnTimeoutMs: 1000 } })
    const session = await start('Talk')
    const before = await stored(session)
    const controller = new AbortController()
    const running = engine.execute({
      flowName: 'Talk',
      userMessage: 'hang',
      sessionId: session,
      signal: controller.signal,
    })
    await clock.advance(999)
    controller.abort('first')
    controller.abort('second')
    await clock.advance(1)
    expect((await running).error).toMatchObject({ code: 'TURN_ABORTED', cause: 'first' })
    expect(await stored(session)).toBe(before)
  })

  test('from within the turn itself', async () => {
    const controller = new AbortController()
    const flow = flowOf('Talk', () => {
      controller.abort()
      return reply('I did it')
    })
    const { engine, backing } = harness({ flows: [flow] })
    const response = await engine.run({ flowName: 'Talk', userMessage: 'hello', signal: controller.signal })
    expect(response).toEqual(cancelled(''))
    expect(backing.size).toBe(0)
  })

  test('in a listener, when the turn waits or starts', async () => {
    for (const name of ['turn:queued', 'turn:start'] as const) {
      const { flow, journal, open } = gatedFlow()
      const { engine, clock, start } = harness({ flows: [flow] })
      const session = await start('Talk')
      const first = engine.run({ flowName: 'Talk', userMessage: 'a', sessionId: session })
      await clock.settle()
      const controller = new AbortController()
      engine.on(name, () => controller.abort())
      const second = engine.run({
        flowName: 'Talk',
        userMessage: 'b',
        sessionId: session,
        signal: controller.signal,
      })
      open('a')
      open('b')
      await first
      expect(await second).toEqual(cancelled(session))
      expect(journal).toEqual(['a begins', 'a ends'])
    }
  })
})

test('a signal that is used for many turns collects no listeners', async () => {
  const { engine, start } = harness({ flows: [hanging()] })
  const session = await start('Talk')
  const { signal } = new AbortController()
  let listeners = 0
  const add = signal.addEventListener.bind(signal)
  const remove = signal.removeEventListener.bind(signal)
  signal.addEventListener = (...args: Parameters<typeof add>) => {
    listeners++
    add(...args)
  }
  signal.removeEventListener = (...args: Parameters<typeof remove>) => {
    listeners--
    remove(...args)
  }
  const say = (userMessage: string) => engine.run({ flowName: 'Talk', userMessage, sessionId: session, signal })
  const responses = await Promise.all(['a', 'b', 'c', 'd'].map(say))
  expect(responses.map(({ success }) => success)).toEqual([true, true, true, true])
  expect(listeners).toBe(0)
})

test('what is not an AbortSignal is refused', async () => {
  const { engine, store } = harness({ flows: [hanging()] })
  const half = { aborted: false, addEventListener: () => undefined }
  for (const signal of [null, 5, 'abort', {}, { aborted: 'no' }, half, new AbortController()]) {
    const { response, error } = await engine.execute({
      flowName: 'Talk',
      userMessage: 'hello',
      signal: signal as unknown as AbortSignal,
    })
    expect(response).toMatchObject({ success: false, message: 'signal must be an AbortSignal.', session: '' })
    expect(error?.code).toBe('INVALID_INPUT')
  }
  expect(store.journal).toEqual([])
})

test('a signal that fires after the last step, before the commit, cancels the turn', async () => {
  const controller = new AbortController()
  let isCancelling = false
  let count = 0
  const { engine, start, document } = harness({
    flows: [flowOf('Talk', (turn) => reply(turn.message))],
    generateId(kind) {
      // The revision is made between the flow's part and the commit.
      if (isCancelling && kind === 'revision') controller.abort()
      return `${kind}-${++count}`
    },
  })
  const session = await start('Talk')
  const before = await document(session)
  isCancelling = true
  const input = { flowName: 'Talk', userMessage: 'hello', sessionId: session, signal: controller.signal }
  expect(await engine.run(input)).toEqual(cancelled(session))
  expect(await document(session)).toEqual(before)
})
