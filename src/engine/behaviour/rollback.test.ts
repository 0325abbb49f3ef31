import { afterEach, describe, expect, test, vi } from 'vitest'
import {
  expectNothingLeft,
  flowOf,
  gate,
  harness,
  never,
  type OnlyRun,
} from '../../../testing/contract/engine-harness.js'
import { namesOf, recordEvents } from '../../../testing/contract/event-recorder.js'
import { Chat, chatOf, fails, hello, modelHarness, says } from '../../../testing/contract/model-harness.js'
import { EngineClosedError, TurnAbortedError } from '../../errors/engine-errors.js'
import {
  type FlowConstructor,
  FlowEngine,
  type FlowEngineOptions,
  FlowError,
  go,
  LogicStep,
  reply,
  SessionConflictError,
  type SessionDocument,
  Step,
  type Turn,
} from '../../index.js'
import { TurnWork } from '../turn/control/turn-work.js'

afterEach(expectNothingLeft)

/** Fails after it has changed all that a turn can change, or answers. */
const run: OnlyRun = (turn, step) => {
  if (!turn.message.startsWith('fail')) return reply(`You said: ${turn.message}`)
  step.state.changed = true
  throw new Error(turn.message)
}

function rolling(options: FlowEngineOptions = {}, hooks: Parameters<typeof flowOf>[2] = {}) {
  const made = harness({ flows: [flowOf('Talk', run, hooks)], onTurnError: 'rollback', ...options })
  const events = recordEvents(made.engine)
  const say = (userMessage: string, sessionId?: string) =>
    made.engine.execute({ flowName: 'Talk', userMessage, ...(sessionId === undefined ? {} : { sessionId }) })
  return { ...made, events, say }
}

/** What is the same before and after a rollback. */
function unchanged({ revision: _revision, savedAt: _savedAt, error: _error, ...rest }: SessionDocument): string {
  return JSON.stringify(rest)
}

describe('a failed turn that is rolled back', () => {
  test('leaves the session as it was, with the text of the error under a new revision', async () => {
    const { start, document, say, clock, store } = rolling()
    const session = await start('Talk')
    const before = await document(session)
    await clock.advance(2000)
    const result = await say('fail', session)
    expect(result).toEqual({
      response: { success: false, completed: true, message: 'fail', session, contentType: 'text/plain' },
      sessionState: 'running',
      error: expect.objectContaining({ code: 'FLOW_ERROR' }),
    })
    const after = await document(session)
    expect(unchanged(after)).toBe(unchanged(before))
    expect(after).toMatchObject({
      revision: expect.stringMatching(/^2-/),
      runStatus: 'running',
      savedAt: '2026-01-01T00:00:02.000Z',
      error: ['fail'],
    })
    expect(store.journal.at(-1)).toMatchObject({ expectedRevision: before.revision, hint: { appended: {} } })
    expect(store.operations).toEqual(['create', 'load', 'save'])
  })

  test('does not count as a turn: the next message goes on', async () => {
    const { start, document, say } = rolling()
    const session = await start('Talk')
    await say('fail', session)
    expect((await say('and now', session)).response).toMatchObject({ success: true, message: 'You said: and now' })
    expect((await document(session)).history.map(({ turn, message }) => [turn, message])).toEqual([
      [1, 'start'],
      [2, 'and now'],
    ])
  })

  test('may happen as often as it likes; the last 20 texts are kept', async () => {
    const { start, document, say } = rolling()
    const session = await start('Talk')
    for (let count = 1; count <= 23; count++) await say(`fail ${count}`, session)
    const { error, runStatus } = await document(session)
    expect([error.length, error[0], error.at(-1), runStatus]).toEqual([20, 'fail 4', 'fail 23', 'running'])
  })

  test('reports it, and neither an aborted session nor a turn that succeeded', async () => {
    const { start, say, events } = rolling()
    const session = await start('Talk')
    events.length = 0
    await say('fail', session)
    expect(namesOf(events)).toEqual([
      'turn:start',
      'session:restored',
      'turn:error',
      'session:saved',
      'turn:rolled-back',
      'turn:end',
    ])
    expect(events[4]?.[1]).toMatchObject({ sessionId: session, flowName: 'Talk', code: 'FLOW_ERROR' })
    expect(events[5]?.[1]).toMatchObject({ success: false, completed: true })
  })

  test('keeps what was spent', async () => {
    const broken = class extends Step {
      static override readonly id: string = 'Talk'
      override onReply(text: string): string {
        if (text === 'fail') throw new Error('Not that.')
        return text
      }
    }
    const usage = { inputTokens: 5, outputTokens: 3 }
    const { engine, document } = modelHarness(
      { 'own/small': [says('Hi', usage), says('fail', usage)] },
      { flows: [chatOf(broken)], onTurnError: 'rollback' },
    )
    const { session } = await engine.run(hello)
    const before = await document(session)
    await engine.run({ ...hello, sessionId: session })
    const after = await document(session)
    expect(after.usage).toMatchObject({ modelCalls: 2, inputTokens: 10, outputTokens: 6 })
    expect(unchanged({ ...after, usage: before.usage })).toBe(unchanged(before))
  })

  test('takes every move of the turn back', async () => {
    const left: string[] = []
    class First extends LogicStep {
      static override readonly id = 'First'
      override run() {
        return go(Second).withState({ seen: true })
      }
      override onExit() {
        left.push('First')
      }
    }
    class Second extends LogicStep<{ seen?: boolean }> {
      static override readonly id = 'Second'
      override run(): never {
        throw new Error('Not here.')
      }
    }
    const { engine, document, backing } = harness({
      flows: [flowOf('Talk', run, { steps: () => [First, Second] })],
      onTurnError: 'rollback',
    })
    const { session } = await engine.run({ flowName: 'Talk', userMessage: 'Hi' })
    expect(left).toEqual(['First'])
    expect(await document(session)).toMatchObject({ flow: { currentStep: null, steps: {}, sequence: [] } })
    expect(backing.size).toBe(1)
  })
})

describe('a first turn that is rolled back', () => {
  test('leaves a session at its first step under the ID in the envelope; the next turn enters that step', async () => {
    const entered: string[] = []
    class Only extends LogicStep {
      static override readonly id = 'Only'
      override onEnter({ message }: Turn) {
        entered.push(message)
      }
      override run(turn: Turn) {
        return turn.message === 'fail' ? go('nowhere') : reply(`entered: ${turn.entered}`)
      }
    }
    const { say, document, events } = rolling({}, { steps: () => [Only] })
    const { response, sessionState } = await say('fail')
    const { session } = response
    expect([response.success, session.length, sessionState]).toEqual([false, 32, 'running'])
    expect(await document(session)).toMatchObject({
      revision: expect.stringMatching(/^1-/),
      runStatus: 'running',
      error: [expect.stringContaining("no step 'nowhere'")],
      turns: 0,
      history: [],
      flow: { currentStep: null, steps: {}, memory: {}, sequence: [] },
    })
    expect(namesOf(events).filter((name) => name.startsWith('session:'))).toEqual(['session:created'])
    const next = await say('again', session)
    expect(next.response).toMatchObject({ success: true, message: 'entered: true', session })
    expect(entered).toEqual(['fail', 'again'])
    expect(await document(session)).toMatchObject({ turns: 1, history: [{ turn: 1, message: 'again', step: 'Only' }] })
  })

  test('keeps the owner and the config', async () => {
    const { engine, document, say } = rolling()
    const input = { flowName: 'Talk', userMessage: 'fail', owner: 'ada', config: { shop: 'tea' } }
    const { session } = await engine.run(input)
    expect(await document(session)).toMatchObject({ owner: 'ada', flow: { context: { config: { shop: 'tea' } } } })
    expect((await say('hi', session)).response.session).not.toBe(session)
  })

  test('of an ID that is unknown or has ended starts a session of its own', async () => {
    const { say, document, start, rewrite } = rolling()
    const ended = await start('Talk')
    await rewrite(ended, (stored) => Object.assign(stored, { runStatus: 'completed' }))
    for (const given of ['unknown', ended]) {
      const { response, sessionState } = await say('fail', given)
      expect(response.session).not.toBe(given)
      expect([sessionState, (await document(response.session)).runStatus]).toEqual(['running', 'running'])
    }
  })
})

describe('a batch flow', () => {
  const batch = { isBatch: () => true }

  test('is rolled back on its checkpoint', async () => {
    const { start, say, document, store } = rolling({}, batch)
    const session = await start('Talk')
    const before = await document(session)
    await say('fail', session)
    const after = await document(session)
    expect(unchanged(after)).toBe(unchanged(before))
    expect(after.revision).toMatch(/^4-/)
    expect(store.journal.at(-1)?.expectedRevision).toBe(store.journal.at(-2)?.revision)
  })

  test('in its first turn, too', async () => {
    const { say, document, events } = rolling({}, batch)
    const { response } = await say('fail')
    expect(await document(response.session)).toMatchObject({ revision: expect.stringMatching(/^2-/), error: ['fail'] })
    expect(namesOf(events).filter((name) => name.startsWith('session:'))).toEqual(['session:created', 'session:saved'])
  })
})

describe('what leaves a session alone still does', () => {
  test.each([new SessionConflictError({ sessionId: 'elsewhere' }), new TurnAbortedError(), new EngineClosedError()])(
    '$code',
    async (error) => {
      // What the flow throws stands for a failure of the engine itself.
      const isOwn = vi.spyOn(TurnWork.prototype, 'isOwn').mockReturnValue(true)
      const flow = flowOf('Talk', (turn) => {
        if (turn.message === 'fail') throw error
        return reply('hello')
      })
      const { start, say, stored, events } = rolling({ flows: [flow] })
      const session = await start('Talk')
      const before = await stored(session)
      expect((await say('fail', session)).error).toBe(error)
      expect(await stored(session)).toBe(before)
      expect(namesOf(events)).not.toContain('turn:rolled-back')
      isOwn.mockRestore()
    },
  )

  test('a caller that cancels', async () => {
    const flow = flowOf('Talk', (turn) => (turn.message === 'wait' ? never() : reply('hello')))
    const { start, engine, stored, clock } = rolling({ flows: [flow] })
    const session = await start('Talk')
    const before = await stored(session)
    const controller = new AbortController()
    const running = engine.execute({
      flowName: 'Talk',
      userMessage: 'wait',
      sessionId: session,
      signal: controller.signal,
    })
    await clock.settle()
    controller.abort()
    expect(await running).toMatchObject({ error: { code: 'TURN_ABORTED' }, sessionState: 'running' })
    expect(await stored(session)).toBe(before)
  })

  test('an outcome that is unknown', async () => {
    const { start, say, stored, store, events } = rolling()
    const session = await start('Talk')
    const before = await stored(session)
    store.failNext('save', { times: Number.POSITIVE_INFINITY })
    store.failNext('load', { nth: 2, times: Number.POSITIVE_INFINITY })
    const { response, sessionState } = await say('hello', session)
    expect([response.message, sessionState]).toEqual([expect.stringMatching(/ is unknown/), 'unknown'])
    store.heal()
    expect(await stored(session)).toBe(before)
    expect(namesOf(events)).not.toContain('turn:rolled-back')
  })
})

describe('the deadline of the turn', () => {
  test('rolls back; what runs on after it changes nothing', async () => {
    const { opened, open } = gate()
    const flow = flowOf('Talk', async (turn, step) => {
      if (turn.message === 'start') return reply('hello')
      await opened
      step.state.late = true
      return reply('too late')
    })
    const { start, say, document, clock } = rolling({ flows: [flow], limits: { turnTimeoutMs: 1000 } })
    const session = await start('Talk')
    const before = await document(session)
    const running = say('wait', session)
    await clock.advance(1000)
    expect(await running).toMatchObject({ error: { code: 'TURN_TIMEOUT' }, sessionState: 'running' })
    open()
    await clock.settle()
    expect(unchanged(await document(session))).toBe(unchanged(before))
  })
})

describe('a session that onRestore changed', () => {
  test('is rolled back to what was loaded', async () => {
    const { start, say, document } = rolling(
      {},
      {
        onRestore: (loaded) => ({ ...loaded, flow: { ...loaded.flow, context: { restored: true } } }),
      },
    )
    const session = await start('Talk')
    const before = await document(session)
    await say('fail', session)
    expect(unchanged(await document(session))).toBe(unchanged(before))
  })

  test('is rolled back where onRestore itself fails', async () => {
    const hooks = {
      onRestore: () => {
        throw new Error('Not restored.')
      },
    }
    const { start, say, document } = rolling({}, hooks)
    const session = await start('Talk')
    expect(await say('hello', session)).toMatchObject({
      response: { message: 'Not restored.' },
      sessionState: 'running',
    })
    expect(await document(session)).toMatchObject({ runStatus: 'running', error: ['Not restored.'], turns: 1 })
  })
})

describe('a rollback that cannot be stored', () => {
  test('fails with both texts, and the session is as it was', async () => {
    const { start, say, stored, store, events } = rolling()
    const session = await start('Talk')
    const before = await stored(session)
    store.failNext('save', { times: 3 })
    const { response, error, sessionState } = await say('fail', session)
    expect(response.message).toBe(`fail Saving the session failed: Session store failed to save session '${session}'.`)
    expect([response.session, error?.code, sessionState]).toEqual([session, 'FLOW_ERROR', 'running'])
    expect(await stored(session)).toBe(before)
    expect(namesOf(events)).not.toContain('turn:rolled-back')
  })

  test('in a first turn: there is no session, and no ID', async () => {
    const { say, store, backing } = rolling()
    store.failNext('create', { times: 3 })
    expect(await say('fail')).toMatchObject({ response: { session: '' }, sessionState: 'none' })
    expect(backing.size).toBe(0)
  })

  test('because another request was first: its document stays, and its state is returned', async () => {
    const { start, say, store, rewrite, stored, clock } = rolling()
    const session = await start('Talk')
    store.delayNext('save', 10)
    const running = say('fail', session)
    await clock.settle()
    await rewrite(session, (document) => Object.assign(document, { revision: '9-theirs', runStatus: 'completed' }))
    const winner = await stored(session)
    await clock.advance(10)
    const { response, sessionState } = await running
    expect(response.message).toBe(
      `fail Saving the session failed: Session '${session}' was changed or deleted by another request.`,
    )
    expect([response.session, sessionState]).toEqual([session, 'completed'])
    expect(await stored(session)).toBe(winner)
  })
})

describe('who decides', () => {
  const withStatic = (onTurnError: 'abort' | 'rollback' | undefined): FlowConstructor =>
    Object.defineProperty(flowOf('Talk', run), 'onTurnError', { value: onTurnError })

  test.each([
    [undefined, undefined, 'aborted'],
    ['abort', undefined, 'aborted'],
    ['rollback', undefined, 'running'],
    [undefined, 'rollback', 'running'],
    ['abort', 'rollback', 'running'],
    ['rollback', 'abort', 'aborted'],
  ] as const)('engine: %s, flow: %s', async (ofEngine, ofFlow, runStatus) => {
    const engineOption = ofEngine === undefined ? {} : { onTurnError: ofEngine }
    const { engine, start, document } = harness({ flows: [withStatic(ofFlow)], ...engineOption })
    const session = await start('Talk')
    const { sessionState } = await engine.execute({ flowName: 'Talk', userMessage: 'fail', sessionId: session })
    expect([sessionState, (await document(session)).runStatus]).toEqual([runStatus, runStatus])
  })

  test.each(['Rollback', true, null, 1])('an option that is neither is refused: %s', (onTurnError) => {
    expect(() => new FlowEngine({ onTurnError: onTurnError as never })).toThrow(
      expect.objectContaining({
        code: 'INVALID_INPUT',
        message: "FlowEngine: onTurnError must be 'abort' or 'rollback'.",
      }),
    )
  })

  test.each(['Rollback', true, null, 1])('a static that is neither is refused at registration: %s', (onTurnError) => {
    const engine = new FlowEngine()
    expect(() => engine.registerFlow(withStatic(onTurnError as never))).toThrow(
      expect.objectContaining({
        code: 'FLOW_REGISTRATION',
        message: expect.stringMatching(/^Flow 'Talk': static onTurnError must be 'abort' or 'rollback'; got .+\.$/),
      }),
    )
    expect(engine.getFlowNames()).toEqual([])
  })

  test('code that is compiled below ES2022 assigns the static', () => {
    const flow = flowOf('Talk', run)
    Object.assign(flow, { onTurnError: 'rollback' })
    expect([flow.onTurnError, flowOf('Talk', run).onTurnError]).toEqual(['rollback', undefined])
  })
})

test('a model that is down is rolled back like any failure, and the next message is answered', async () => {
  const outage = fails(Object.assign(new Error('down'), { statusCode: 400 }))
  const { engine, document } = modelHarness(
    { 'own/small': [says('Hi'), outage, says('Here I am.')] },
    { flows: [Chat], onTurnError: 'rollback' },
  )
  const { session } = await engine.run(hello)
  const { error } = await engine.execute({ ...hello, userMessage: 'Are you there?', sessionId: session })
  expect(FlowError.isInstance(error) && error.code).toBe('MODEL_ERROR')
  const next = await engine.run({ ...hello, userMessage: 'Still?', sessionId: session })
  expect(next).toMatchObject({ success: true, message: 'Here I am.', session })
  const { flow } = await document(session)
  const texts = flow.memory.Talk?.messages.map(({ parts }) => (parts[0]?.type === 'text' ? parts[0].text : ''))
  expect(texts).toEqual(['Hello', 'Hi', 'Still?', 'Here I am.'])
})
