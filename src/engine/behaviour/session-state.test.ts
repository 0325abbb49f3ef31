import { afterEach, describe, expect, test } from 'vitest'
import {
  expectNothingLeft,
  flowOf,
  gate,
  type Harness,
  harness,
  never,
} from '../../../testing/contract/engine-harness.js'
import {
  type ExecuteResult,
  type FlowEngineOptions,
  type FlowRunInput,
  finish,
  reply,
  SessionConflictError,
  type SessionDocument,
  SessionFlowInvariantError,
} from '../../index.js'

afterEach(expectNothingLeft)

type State = ExecuteResult['sessionState']

/** An engine with a session of Ada's, and how often its store was asked to load since. */
async function withSession(options: FlowEngineOptions = {}) {
  const talk = flowOf('Talk', async ({ message }) => {
    if (message === 'finish') return finish('Good bye.')
    if (message === 'fail') throw new Error('It broke.')
    if (message === 'wait') await never()
    return reply('hello')
  })
  const other = flowOf('Other')
  const broken = flowOf('Broken', undefined, {
    init: () => {
      throw new Error('Not yet.')
    },
  })
  const made = harness({ flows: [talk, other, broken], ...options })
  const { session } = await made.engine.run({ flowName: 'Talk', userMessage: 'start', owner: 'ada' })
  const firstCall = made.store.journal.length
  const input: FlowRunInput = { flowName: 'Talk', userMessage: 'hi', sessionId: session, owner: 'ada' }
  return {
    ...made,
    session,
    input,
    execute: (changes: object = {}) => made.engine.execute({ ...input, ...changes }),
    loads: () => made.store.operations.slice(firstCall).filter((operation) => operation === 'load').length,
  }
}

type Made = Awaited<ReturnType<typeof withSession>>

/** The document as another program would have left it. */
const becomes = (made: Pick<Harness, 'rewrite'>, session: string, changes: Partial<SessionDocument>) =>
  made.rewrite(session, (document) => Object.assign(document, changes))

describe('the state of a session after', () => {
  interface Row {
    readonly what: string
    readonly options?: FlowEngineOptions
    readonly run: (made: Made) => Promise<ExecuteResult>
    /** The code of the failure. */
    readonly code?: string
    readonly state: State
    /** How often the store was asked. */
    readonly loads: number
    /** `given`: the ID that was sent; `new`: another; `''`: none. Default: `given`. */
    readonly session?: 'given' | 'new' | ''
  }

  /** Starts a turn, and does something while it waits for its flow. */
  const during = async (made: Made, act: (made: Made, controller: AbortController) => unknown) => {
    const controller = new AbortController()
    const running = made.execute({ userMessage: 'wait', signal: controller.signal })
    await made.clock.settle()
    await act(made, controller)
    return running
  }

  const rows: readonly Row[] = [
    { what: 'a success', run: ({ execute }) => execute(), state: 'running', loads: 1 },
    { what: 'the last turn', run: ({ execute }) => execute({ userMessage: 'finish' }), state: 'completed', loads: 1 },
    {
      what: 'a first turn',
      run: ({ execute }) => execute({ sessionId: '' }),
      state: 'running',
      loads: 0,
      session: 'new',
    },
    {
      what: 'a failure that aborts',
      run: ({ execute }) => execute({ userMessage: 'fail' }),
      code: 'FLOW_ERROR',
      state: 'aborted',
      loads: 1,
    },
    {
      what: 'a failure that is rolled back',
      options: { onTurnError: 'rollback' },
      run: ({ execute }) => execute({ userMessage: 'fail' }),
      code: 'FLOW_ERROR',
      state: 'running',
      loads: 1,
    },
    {
      what: 'a first turn that fails',
      run: ({ execute }) => execute({ userMessage: 'fail', sessionId: '' }),
      code: 'FLOW_ERROR',
      state: 'aborted',
      loads: 0,
      session: 'new',
    },
    {
      what: 'refused input',
      run: ({ execute }) => execute({ userMessage: 7 }),
      code: 'INVALID_INPUT',
      state: 'running',
      loads: 1,
    },
    {
      what: 'refused input without an ID',
      run: ({ execute }) => execute({ userMessage: 7, sessionId: undefined }),
      code: 'INVALID_INPUT',
      state: 'none',
      loads: 0,
      session: '',
    },
    {
      what: 'refused input under an unknown ID',
      run: ({ execute }) => execute({ userMessage: 7, sessionId: 'unknown' }),
      code: 'INVALID_INPUT',
      state: 'none',
      loads: 1,
    },
    {
      what: 'an ID of a bad shape',
      run: ({ execute }) => execute({ sessionId: 'a,b' }),
      code: 'INVALID_INPUT',
      state: 'none',
      loads: 0,
      session: '',
    },
    {
      what: 'an owner that is not valid',
      run: ({ execute }) => execute({ owner: 7 }),
      code: 'INVALID_INPUT',
      state: 'unknown',
      loads: 0,
    },
    {
      what: 'a message that is too long',
      options: { limits: { maxMessageBytes: 8 } },
      run: ({ execute }) => execute({ userMessage: 'too long for it' }),
      code: 'LIMIT_EXCEEDED',
      state: 'running',
      loads: 1,
    },
    {
      what: 'refused input for a session that has ended',
      run: async (made) => {
        await becomes(made, made.session, { runStatus: 'completed' })
        return made.execute({ userMessage: 7 })
      },
      code: 'INVALID_INPUT',
      state: 'completed',
      loads: 1,
    },
    {
      what: 'refused input while the store is down',
      run: (made) => {
        made.store.failNext('load', { times: 9 })
        return made.execute({ userMessage: 7 }).finally(() => made.store.heal())
      },
      code: 'INVALID_INPUT',
      state: 'unknown',
      loads: 1,
    },
    {
      what: 'an unknown flow',
      run: ({ execute }) => execute({ flowName: 'Nowhere' }),
      code: 'FLOW_NOT_FOUND',
      state: 'running',
      loads: 1,
    },
    {
      what: 'a flow that fails before its session is loaded',
      run: ({ execute }) => execute({ flowName: 'Broken' }),
      code: 'FLOW_ERROR',
      state: 'running',
      loads: 1,
    },
    {
      what: 'the flow of another session',
      run: ({ execute }) => execute({ flowName: 'Other' }),
      code: 'SESSION_FLOW_MISMATCH',
      state: 'running',
      loads: 1,
    },
    {
      what: 'the flow of another session, which has ended',
      run: async (made) => {
        await becomes(made, made.session, { runStatus: 'completed' })
        return made.execute({ flowName: 'Other' })
      },
      code: 'SESSION_FLOW_MISMATCH',
      state: 'completed',
      loads: 1,
    },
    {
      what: 'a session of another version of its flow',
      run: async (made) => {
        await made.rewrite(made.session, ({ flow }) => Object.assign(flow, { version: 2 }))
        return made.execute()
      },
      code: 'SESSION_FLOW_INVARIANT',
      state: 'running',
      loads: 1,
    },
    {
      what: 'a document that cannot be decoded',
      run: async (made) => {
        await becomes(made, made.session, { usage: 'none' as never })
        return made.execute()
      },
      code: 'SESSION_FLOW_INVARIANT',
      state: 'unknown',
      loads: 1,
    },
    {
      what: 'refused input for a document that cannot be decoded',
      run: async (made) => {
        await becomes(made, made.session, { usage: 'none' as never })
        return made.execute({ userMessage: 7 })
      },
      code: 'INVALID_INPUT',
      state: 'unknown',
      loads: 1,
    },
    {
      what: 'a session that does not exist',
      options: { unknownSession: 'reject' },
      run: ({ execute }) => execute({ sessionId: 'unknown' }),
      code: 'SESSION_NOT_FOUND',
      state: 'none',
      loads: 1,
    },
    {
      what: 'a session that has ended, where that is refused',
      options: { unknownSession: 'reject' },
      run: async (made) => {
        await becomes(made, made.session, { runStatus: 'aborted' })
        return made.execute()
      },
      code: 'SESSION_NOT_FOUND',
      state: 'aborted',
      loads: 1,
    },
    {
      what: 'a store that is down',
      run: (made) => {
        made.store.failNext('load', { times: 9 })
        return made.execute().finally(() => made.store.heal())
      },
      code: 'SESSION_STORE_ERROR',
      state: 'unknown',
      loads: 1,
    },
    {
      what: 'a commit whose outcome is unknown',
      run: (made) => {
        made.store.failNext('save', { times: 9 })
        made.store.failNext('load', { nth: 2, times: 9 })
        return made.execute().finally(() => made.store.heal())
      },
      code: 'SESSION_STORE_ERROR',
      state: 'unknown',
      loads: 2,
    },
    {
      what: 'a conflict',
      run: (made) => {
        made.store.failNext('save', { error: new SessionConflictError({ sessionId: made.session }) })
        return made.execute()
      },
      code: 'SESSION_CONFLICT',
      state: 'running',
      loads: 2,
    },
    {
      what: 'a conflict with the turn that was the last',
      run: async (made) => {
        made.store.delayNext('save', 10)
        const running = made.execute()
        await made.clock.settle()
        await becomes(made, made.session, { revision: '9-theirs', runStatus: 'completed' })
        await made.clock.advance(10)
        return running
      },
      code: 'SESSION_CONFLICT',
      state: 'completed',
      loads: 2,
    },
    {
      what: 'a conflict with a delete',
      run: async (made) => {
        made.store.delayNext('save', 10)
        const running = made.execute()
        await made.clock.settle()
        made.backing.clear()
        await made.clock.advance(10)
        return running
      },
      code: 'SESSION_CONFLICT',
      state: 'none',
      loads: 2,
    },
    {
      what: 'a caller that cancels: as it was loaded',
      run: (made) => during(made, (_made, controller) => controller.abort()),
      code: 'TURN_ABORTED',
      state: 'running',
      loads: 1,
    },
    {
      what: 'a caller that had cancelled before',
      run: ({ execute }) => execute({ signal: AbortSignal.abort() }),
      code: 'TURN_ABORTED',
      state: 'unknown',
      loads: 0,
    },
    {
      what: 'a first turn that is cancelled',
      run: async (made) => {
        const controller = new AbortController()
        const running = made.execute({ sessionId: undefined, userMessage: 'wait', signal: controller.signal })
        await made.clock.settle()
        controller.abort()
        return running
      },
      code: 'TURN_ABORTED',
      state: 'none',
      loads: 0,
      session: '',
    },
    {
      what: 'the deadline of the turn',
      run: (made) => during(made, ({ clock }) => clock.advance(120_000)),
      code: 'TURN_TIMEOUT',
      state: 'aborted',
      loads: 1,
    },
    {
      what: 'an engine that closes while the turn runs: as it was loaded',
      run: (made) =>
        during(made, async ({ engine, clock }) => {
          const closing = engine.close()
          await clock.advance(10_000)
          await closing
        }),
      code: 'ENGINE_CLOSED',
      state: 'running',
      loads: 1,
    },
    {
      what: 'an engine that is closed',
      run: async (made) => {
        await made.engine.close()
        return made.execute()
      },
      code: 'ENGINE_CLOSED',
      state: 'unknown',
      loads: 0,
    },
    {
      what: 'an engine that is closed, without an ID',
      run: async (made) => {
        await made.engine.close()
        return made.execute({ sessionId: undefined })
      },
      code: 'ENGINE_CLOSED',
      state: 'none',
      loads: 0,
      session: '',
    },
    {
      what: 'refused input at an engine that is closed',
      run: async (made) => {
        await made.engine.close()
        return made.execute({ userMessage: 7 })
      },
      code: 'INVALID_INPUT',
      state: 'unknown',
      loads: 0,
    },
    {
      what: 'a full queue',
      options: { limits: { maxQueuedTurnsPerSession: 1 } },
      run: async ({ execute, clock }) => {
        const controller = new AbortController()
        const { signal } = controller
        const before = [execute({ userMessage: 'wait', signal }), execute({ signal })]
        await clock.settle()
        const refused = await execute()
        controller.abort()
        await Promise.all(before)
        return refused
      },
      code: 'LIMIT_EXCEEDED',
      state: 'running',
      loads: 1,
    },
  ]

  test.each(rows)('$what: $state', async ({ options, run, code, state, loads, session = 'given' }) => {
    const made = await withSession(options)
    const { response, error, sessionState } = await run(made)
    expect([error?.code, sessionState]).toEqual([code, state])
    expect(made.loads(), 'loads').toBe(loads)
    const kind =
      response.session === ''
        ? ''
        : response.session === made.session || response.session === 'unknown'
          ? 'given'
          : 'new'
    expect(kind).toBe(session)
  })
})

describe("another owner's session is never more than none", () => {
  const strangers: readonly [string, string | undefined][] = [
    ['another owner', 'eve'],
    ['nobody', undefined],
  ]
  const ended: readonly (Partial<SessionDocument> | undefined)[] = [
    undefined,
    { runStatus: 'completed' },
    { runStatus: 'aborted' },
    { usage: 'none' as never },
    { version: 99 as never },
  ]

  test.each(strangers)('%s: after refused input, whatever is stored', async (_who, owner) => {
    for (const changes of ended) {
      const made = await withSession()
      if (changes !== undefined) await becomes(made, made.session, changes)
      const { sessionState, response } = await made.execute({ owner, userMessage: 7 })
      expect([sessionState, response.session, made.loads()]).toEqual(['none', made.session, 1])
    }
  })

  test.each([...strangers, ['its own owner', 'ada'] as const])(
    '%s: a session that only a newer release can read',
    async (_who, owner) => {
      const made = await withSession()
      const { session: sessionId } = made
      const error = new SessionFlowInvariantError({ sessionId, problem: 'layout 9', newerLayout: true, owner: 'ada' })
      made.store.failNext('load', { error })
      expect((await made.execute({ owner, userMessage: 7 })).sessionState).toBe(owner === 'ada' ? 'unknown' : 'none')
    },
  )

  test.each(strangers)('%s: where an unknown session is refused', async (_who, owner) => {
    for (const changes of ended) {
      const made = await withSession({ unknownSession: 'reject' })
      if (changes !== undefined) await becomes(made, made.session, changes)
      const { sessionState, error } = await made.execute({ owner })
      expect([error?.code, sessionState]).toEqual(['SESSION_NOT_FOUND', 'none'])
    }
  })

  test.each(strangers)('%s: with another flow, and with one that fails before the load', async (_who, owner) => {
    const made = await withSession({ unknownSession: 'reject' })
    expect((await made.execute({ owner, flowName: 'Other' })).sessionState).toBe('none')
    expect((await made.execute({ owner, flowName: 'Broken' })).sessionState).toBe('none')
    expect((await made.execute({ owner, flowName: 'Nowhere' })).sessionState).toBe('none')
  })

  test.each(strangers)('%s: a session of their own that fails or is cancelled', async (_who, owner) => {
    const made = await withSession()
    const { sessionState, response } = await made.execute({ owner, userMessage: 'fail' })
    expect([sessionState, response.session === made.session]).toEqual(['aborted', false])
    const controller = new AbortController()
    const running = made.execute({ owner, userMessage: 'wait', signal: controller.signal })
    await made.clock.settle()
    controller.abort()
    expect(await running).toMatchObject({ sessionState: 'none', response: { session: '' } })
  })
})

test('a batch flow that is cancelled in its first turn: its checkpoint is a session', async () => {
  const { opened } = gate()
  const flow = flowOf(
    'Talk',
    async () => {
      await opened
      return reply('never')
    },
    { isBatch: () => true },
  )
  const { engine, clock, backing } = harness({ flows: [flow] })
  const controller = new AbortController()
  const running = engine.execute({ flowName: 'Talk', userMessage: 'hi', signal: controller.signal })
  await clock.settle()
  controller.abort()
  const { sessionState, response } = await running
  expect([sessionState, [...backing.keys()]]).toEqual(['running', [response.session]])
})

test('a stream ends with it', async () => {
  const { engine, input } = await withSession()
  const last = async (userMessage: unknown) => {
    let event: object = {}
    for await (const next of engine.stream({ ...input, userMessage } as FlowRunInput)) event = next
    return event
  }
  expect(await last('hi')).toMatchObject({ type: 'result', sessionState: 'running' })
  expect(await last(7)).toMatchObject({ type: 'error', sessionState: 'running', error: { code: 'INVALID_INPUT' } })
  expect(await last('fail')).toMatchObject({ type: 'error', sessionState: 'aborted' })
})
