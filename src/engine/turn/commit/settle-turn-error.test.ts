import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { expectNothingLeft, flowOf, harness } from '../../../../testing/contract/engine-harness.js'
import {
  BudgetExceededError,
  EngineBusyError,
  EngineClosedError,
  FlowCodeError,
  FlowNotFoundError,
  FlowRegistrationError,
  IdempotencyMismatchError,
  LimitExceededError,
  SessionBusyError,
  ToolExecutionError,
  TurnAbortedError,
  TurnSupersededError,
  TurnTimeoutError,
} from '../../../errors/engine-errors.js'
import { errorFacts } from '../../../errors/error-facts.js'
import { EventNotTakenError, SessionNotFoundError } from '../../../errors/session-errors.js'
import {
  FlowError,
  InvalidInputError,
  ModelBlockedError,
  ModelError,
  reply,
  SessionConflictError,
  SessionFlowInvariantError,
  SessionFlowMismatchError,
  SessionStoreError,
} from '../../../index.js'
import { TurnWork } from '../control/turn-work.js'

afterEach(expectNothingLeft)

// What the flows of these tests throw stands for failures of the engine itself. Those of flow code are in
// flow-engine.nested.test.ts.
beforeEach(() => {
  vi.spyOn(TurnWork.prototype, 'isOwn').mockReturnValue(true)
})
afterEach(() => {
  vi.restoreAllMocks()
})

const sessionId = 'elsewhere'

/** After these the document stays as it was. */
const untouching: readonly FlowError[] = [
  new SessionConflictError({ sessionId }),
  new SessionFlowMismatchError({ sessionId, boundFlow: 'A', requestedFlow: 'B' }),
  new SessionFlowInvariantError({ sessionId, problem: 'of this test' }),
  new TurnAbortedError(),
  new TurnSupersededError(),
  new SessionBusyError(),
  new IdempotencyMismatchError(),
  new EngineBusyError({ value: 1 }),
  new EngineClosedError(),
  new EventNotTakenError({ sessionId, event: 'decision' }),
  new FlowError({ code: 'SESSION_ENDED', message: 'An ended session.' }),
]

/** After these it is marked aborted. */
const aborting: readonly FlowError[] = [
  new SessionStoreError({ operation: 'load', sessionId }),
  new SessionNotFoundError({ sessionId }),
  new FlowNotFoundError({ flowName: 'A' }),
  new FlowRegistrationError({ message: 'A flow.' }),
  new InvalidInputError({ message: 'An input.' }),
  new LimitExceededError({ limit: 'aLimit', value: 1, problem: 'A thing' }),
  new BudgetExceededError({ scope: 'turn', amount: 'modelCalls', value: 1, spent: 1 }),
  new ModelError({ provider: 'p', model: 'm' }),
  new ModelBlockedError({ provider: 'p', model: 'm' }),
  new ToolExecutionError({ tool: 't', message: 'A tool.' }),
  new FlowCodeError({ message: 'A hook.' }),
  new TurnTimeoutError({ timeoutMs: 1, phase: 'turn' }),
]

/** An engine whose flow throws `error` when the test says so. */
function throwing(error: unknown, hooks: Parameters<typeof flowOf>[2] = {}) {
  const flow = flowOf(
    'Talk',
    (turn) => {
      if (turn.message === 'fail') throw error
      return reply('hello')
    },
    hooks,
  )
  return harness({ flows: [flow] })
}

describe('a turn that fails in a stored session', () => {
  test.each(untouching.map((error) => [error.code, error] as const))(
    '[3-4 7.3-2] with %s leaves it byte for byte as it was',
    async (code, error) => {
      const { engine, start, stored, store } = throwing(error)
      const session = await start('Talk')
      const before = await stored(session)
      expect(await engine.execute({ flowName: 'Talk', userMessage: 'fail', sessionId: session })).toEqual({
        response: { success: false, completed: true, message: error.message, session, contentType: 'text/plain' },
        sessionState: 'running',
        error,
      })
      expect(await stored(session)).toBe(before)
      // After a conflict the store is asked for the state.
      expect(store.operations).toEqual(['create', 'load', ...(code === 'SESSION_CONFLICT' ? ['load'] : [])])
    },
  )

  test.each(aborting.map((error) => [error.code, error] as const))(
    '[3-3 7.3-3] with %s marks it aborted, in one swap on the revision that was loaded',
    async (_code, error) => {
      const { engine, start, document, store, clock } = throwing(error)
      const session = await start('Talk')
      const before = await document(session)
      await clock.advance(2000)
      expect(await engine.execute({ flowName: 'Talk', userMessage: 'fail', sessionId: session })).toEqual({
        response: { success: false, completed: true, message: error.message, session, contentType: 'text/plain' },
        sessionState: 'aborted',
        error,
      })
      expect(await document(session)).toEqual({
        ...before,
        runStatus: 'aborted',
        error: [error.message],
        revision: expect.stringMatching(/^2-/),
        savedAt: '2026-01-01T00:00:02.000Z',
      })
      expect(store.operations).toEqual(['create', 'load', 'save'])
      expect(store.journal.at(-1)?.expectedRevision).toBe(before.revision)
    },
  )

  test('every code is in one of the two lists, or rolls the turn back', () => {
    // For the last one see timers.test.ts.
    const codes = [...untouching.map(({ code }) => code), ...aborting.map(({ code }) => code), 'SCHEDULE_ERROR']
    expect(codes.sort()).toEqual(Object.keys(errorFacts).sort())
  })
})

describe('a first turn that fails', () => {
  test.each(untouching.map((error) => [error.code, error] as const))(
    'with %s creates nothing, and has no ID',
    async (_code, error) => {
      const { engine, backing } = throwing(error)
      const { response } = await engine.execute({ flowName: 'Talk', userMessage: 'fail' })
      expect(response).toMatchObject({ success: false, message: error.message, session: '' })
      expect(backing.size).toBe(0)
    },
  )

  test.each(untouching.map((error) => [error.code, error] as const))(
    'with %s under an unknown ID does not hand that ID back',
    async (_code, error) => {
      const { engine, backing } = throwing(error)
      const response = await engine.run({ flowName: 'Talk', userMessage: 'fail', sessionId: 'unknown' })
      expect(response).toMatchObject({ success: false, session: '' })
      expect(backing.size).toBe(0)
    },
  )

  test.each(aborting.map((error) => [error.code, error] as const))(
    'with %s is created as aborted, and answers with the new ID',
    async (_code, error) => {
      const { engine, backing, document } = throwing(error)
      for (const given of [undefined, 'unknown']) {
        backing.clear()
        const input = { flowName: 'Talk', userMessage: 'fail', owner: 'ada' }
        const response = await engine.run(given === undefined ? input : { ...input, sessionId: given })
        expect(response).toMatchObject({ success: false, message: error.message })
        expect([...backing.keys()]).toEqual([response.session])
        expect(response.session).toMatch(/^[A-Za-z0-9_-]{32}$/)
        expect(await document(response.session)).toMatchObject({
          owner: 'ada',
          runStatus: 'aborted',
          error: [error.message],
          revision: expect.stringMatching(/^1-/),
          history: [],
        })
      }
    },
  )
})

describe('a batch flow, whose checkpoint is stored before the turn', () => {
  const batch = { isBatch: () => true }

  test('a first turn that fails aborts what the checkpoint created', async () => {
    const { engine, document, store, backing } = throwing(new Error('It broke.'), batch)
    const response = await engine.run({ flowName: 'Talk', userMessage: 'fail' })
    expect([...backing.keys()]).toEqual([response.session])
    expect(await document(response.session)).toMatchObject({
      runStatus: 'aborted',
      error: ['It broke.'],
      revision: expect.stringMatching(/^2-/),
    })
    expect(store.operations).toEqual(['create', 'save'])
    expect(store.journal[1]?.expectedRevision).toBe(store.journal[0]?.revision)
  })

  test.each(untouching.map((error) => [error.code, error] as const))(
    'after %s the checkpoint stays, and its ID is returned',
    async (_code, error) => {
      const { engine, document, backing } = throwing(error, batch)
      const response = await engine.run({ flowName: 'Talk', userMessage: 'fail' })
      expect([...backing.keys()]).toEqual([response.session])
      expect(await document(response.session)).toMatchObject({ runStatus: 'running', error: [], history: [] })
    },
  )

  test('a later turn that fails is aborted on the checkpoint', async () => {
    const { engine, start, document, store } = throwing(new Error('It broke.'), batch)
    const session = await start('Talk')
    const before = await document(session)
    await engine.run({ flowName: 'Talk', userMessage: 'fail', sessionId: session })
    expect(await document(session)).toEqual({
      ...before,
      runStatus: 'aborted',
      error: ['It broke.'],
      revision: expect.stringMatching(/^4-/),
    })
    expect(store.operations).toEqual(['create', 'save', 'load', 'save', 'save'])
  })
})
