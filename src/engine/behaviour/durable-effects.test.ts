// turn.once over a store that fails, and in processes that die: what is written, and that nothing is done twice.
import { afterEach, describe, expect, test, vi } from 'vitest'
import { either, payments, talking } from '../../../testing/contract/effects-harness.js'
import { expectNothingLeft, flowOf, gate, harness, never } from '../../../testing/contract/engine-harness.js'
import { namesOf } from '../../../testing/contract/event-recorder.js'
import { calling, modelStep, modelsOf } from '../../../testing/contract/stream-harness.js'
import { flowOf as flowOfSteps } from '../../../testing/contract/test-flows.js'
import { type ModelResponse, reply, type SessionDocument, tool } from '../../index.js'

afterEach(expectNothingLeft)

/** Pays in every turn but the first, whatever `once` throws. */
function paying(work: Parameters<typeof payments>[0], options: Parameters<typeof talking>[1] = {}) {
  const paid = payments(work)
  const cancel = new AbortController()
  const talk = talking(async (turn, step) => {
    if (turn.message === 'start') return reply('started')
    step.state.touched = true
    turn.addContext({ touched: true })
    const result = await turn.once('pay', paid.work, { durable: true }).catch((error: unknown) => `caught ${error}`)
    if (turn.message === 'leave') return never()
    return reply(String(result))
  }, options)
  return { ...talk, ...paid, cancel }
}

const begun = { begunAt: '2026-01-01T00:00:00.000Z', attempts: 1, turn: 2 }

describe('durable work', () => {
  test('is stored before it begins and after it, as the session was loaded, each over the revision before', async () => {
    const seen: SessionDocument[] = []
    const { start, say, store, document, events } = paying(async () => {
      seen.push(await document(session))
      return 'paid'
    })
    const session = await start('Talk')
    const before = await document(session)
    store.clearJournal()
    events.length = 0
    expect((await say('pay', session)).response.message).toBe('paid')
    const [{ revision, bytes, effects, ...rest } = before] = seen
    const { revision: loadedRevision, bytes: loadedBytes, ...loaded } = before
    expect(rest).toEqual(loaded)
    expect([effects, bytes > loadedBytes, revision === loadedRevision]).toEqual([{ pay: begun }, true, false])
    const saves = store.journal.filter(({ operation }) => operation === 'save')
    expect(saves.map(({ hint }) => hint)).toEqual([{ appended: {} }, { appended: {} }, { appended: { history: 1 } }])
    expect(saves.map(({ expectedRevision }) => expectedRevision?.split('-')[0])).toEqual(['1', '2', '3'])
    expect(namesOf(events)).toEqual([
      'turn:start',
      'session:restored',
      'session:saved',
      'session:saved',
      'session:saved',
      'turn:end',
    ])
  })

  test('creates a new session at its first step', async () => {
    const seen: SessionDocument[] = []
    const { say, document, events } = talking(async (turn) => {
      await turn.once('pay', async () => void seen.push(await document(turn.session.id)), { durable: true })
      return reply('Done.')
    })
    const { session } = (await say('Hi')).response
    expect(seen).toMatchObject([{ id: session, turns: 0, history: [], flow: { currentStep: null } }])
    expect(namesOf(events)).toEqual([
      'turn:start',
      'step:enter',
      'session:created',
      'session:saved',
      'session:saved',
      'turn:end',
    ])
  })

  test('of a session of an older version leaves it of that version until the turn commits', async () => {
    const backing = new Map<string, SessionDocument>()
    const first = harness({ backing, flows: [flowOf('Talk')] })
    const session = await first.start('Talk')
    const inside: unknown[] = []
    const next = flowOf(
      'Talk',
      async (turn) => {
        const note = async () => void inside.push((await talk.document(session)).flow.version)
        await turn.once('pay', note, { durable: true })
        return reply('Done.')
      },
      { version: 2 },
    )
    const flows = [Object.assign(next, { migrate: (stored: SessionDocument) => stored })]
    const talk = talking(() => reply(''), { backing, flows })
    expect((await talk.say('pay', session)).response.success).toBe(true)
    expect([inside, (await talk.document(session)).flow.version]).toEqual([[1], 2])
  })

  test('of two processes in one turn: the second does nothing, and its turn fails, whatever it catches', async () => {
    const backing = new Map<string, SessionDocument>()
    const wait = gate()
    const one = paying(() => wait.opened.then(() => 'paid'), { backing })
    const other = paying(() => 'paid twice', { backing })
    const session = await one.start('Talk')
    // The other one loads what is stored before the first one's intent.
    other.store.delayNext('save', 10)
    const late = other.say('pay', session)
    await other.clock.settle()
    const paying1 = one.say('pay', session)
    await one.clock.settle()
    await other.clock.advance(10)
    const lost = await late
    expect([lost.error?.code, lost.response.success]).toEqual(['SESSION_CONFLICT', false])
    expect(other.attempts).toEqual([])
    wait.open()
    expect((await paying1).response.message).toBe('paid')
    expect((await one.document(session)).turns).toBe(2)
  })

  test('does not begin where its turn is aborted while its intent is written; the intent is removed', async () => {
    const { start, say, store, attempts, cancel, clock, document } = paying(() => 'paid')
    const session = await start('Talk')
    store.clearJournal()
    store.delayNext('save', 100)
    let isSettled = false
    const saying = say('pay', session, { signal: cancel.signal }).finally(() => {
      isSettled = true
    })
    await clock.settle()
    cancel.abort()
    await clock.settle()
    expect(isSettled).toBe(false)
    await clock.advance(100)
    expect((await saying).error?.code).toBe('TURN_ABORTED')
    expect(attempts).toEqual([])
    expect(store.operations).toEqual(['load', 'save', 'save'])
    const after = await document(session)
    expect([after.effects, after.turns]).toEqual([{}, 1])
  })

  test('is settled after the write of its result, which needs no other write', async () => {
    const { start, say, store, attempts, cancel, clock, document } = paying(() => 'paid')
    const session = await start('Talk')
    store.clearJournal()
    store.inject({ operation: 'save', effect: 'latency', latencyMs: 100, nth: 2 })
    const saying = say('pay', session, { signal: cancel.signal })
    await clock.settle()
    cancel.abort()
    await clock.advance(100)
    expect((await saying).error?.code).toBe('TURN_ABORTED')
    expect((await document(session)).effects).toEqual({ pay: { ...begun, result: 'paid' } })
    expect(store.operations).toEqual(['load', 'save', 'save'])
    expect((await say('pay', session)).response.message).toBe('paid')
    expect(attempts.length).toBe(1)
  })

  test('that nobody waits for does not make the answer to a failure meet a stale revision', async () => {
    const { start, say, store, clock, document } = talking(
      async (turn) => {
        if (turn.message === 'start') return reply('started')
        void turn.once('pay', () => 'paid', { durable: true })
        await Promise.resolve()
        throw new Error('It broke.')
      },
      {},
      { onError: () => reply('Sorry.') },
    )
    const session = await start('Talk')
    store.delayNext('save', 100)
    const saying = say('pay', session)
    await clock.settle()
    await clock.advance(100)
    expect((await saying).response).toMatchObject({ success: true, message: 'Sorry.' })
    expect((await document(session)).turns).toBe(2)
  })

  test('stores what the models cost up to then, and what came later with the end of the turn', async () => {
    const cancel = new AbortController()
    const pay = tool({
      name: 'pay',
      description: 'Pays.',
      execute: (_args, turn) => turn.once('pay', () => 'paid', { durable: true }),
    })
    const wait = tool({
      name: 'wait',
      description: 'Waits.',
      execute: () => {
        cancel.abort()
        return never()
      },
    })
    const says = [calling('pay'), calling('wait')]
    const made = harness({
      flows: [flowOfSteps(modelStep({ tools: () => [pay, wait] }))],
      providers: [modelsOf({ generate: async () => says.shift() as ModelResponse })],
    })
    const { response } = await made.engine.execute({ flowName: 'Test', userMessage: 'Hi', signal: cancel.signal })
    const { usage, effects } = await made.document(response.session)
    expect([usage.modelCalls, Object.keys(effects ?? {})]).toEqual([2, ['pay']])
    expect(made.store.operations).toEqual(['create', 'save', 'save'])
  })
})

describe('a store that fails', () => {
  test('at the intent: the work does not begin, and the turn fails even if flow code catches that', async () => {
    const { start, say, store, attempts, document } = paying(() => 'paid')
    const session = await start('Talk')
    store.inject({ operation: 'save', effect: 'fail-before', times: 3 })
    const { response, error, sessionState } = await say('pay', session)
    expect([error?.code, response.success, sessionState]).toEqual(['SESSION_STORE_ERROR', false, 'running'])
    expect(attempts).toEqual([])
    expect((await document(session)).effects).toEqual({})
  })

  test('with an unknown outcome: nothing more is written', async () => {
    const { start, say, store, attempts } = paying(() => 'paid')
    const session = await start('Talk')
    store.clearJournal()
    store.inject({ operation: 'save', effect: 'fail-after' })
    store.inject({ operation: 'load', effect: 'fail-before', nth: 2 })
    const { error, sessionState } = await say('pay', session)
    expect([error?.message, sessionState]).toEqual([
      `Session store failed to save session '${session}'. Whether it took effect is unknown.`,
      'unknown',
    ])
    expect(attempts).toEqual([])
    expect(store.operations).toEqual(['load', 'save', 'load'])
  })

  test('with an unknown outcome while the turn is cancelled: nothing more is written, and nobody knows the state', async () => {
    const error = vi.fn()
    const { say, store, attempts, cancel, clock } = paying(() => 'paid', { logger: { ...console, error } })
    store.inject({ operation: 'create', effect: 'hang-after' })
    store.inject({ operation: 'load', effect: 'hang-before' })
    const saying = say('pay', undefined, { signal: cancel.signal })
    await clock.settle()
    cancel.abort()
    await clock.advance(15_000)
    const result = await saying
    expect([result.error?.code, result.response.session, result.sessionState]).toEqual(['TURN_ABORTED', '', 'none'])
    expect(attempts).toEqual([])
    expect(store.operations).toEqual(['create', 'load'])
    expect(error).toHaveBeenCalledOnce()
  })

  test('at the result: the result is stored at the end of the turn', async () => {
    const { start, say, store, attempts, document } = paying(() => 'paid')
    const session = await start('Talk')
    store.inject({ operation: 'save', effect: 'fail-before', nth: 2, times: 3 })
    const { error, sessionState } = await say('pay', session)
    expect([error?.code, sessionState]).toEqual(['SESSION_STORE_ERROR', 'running'])
    expect((await document(session)).effects).toEqual({ pay: { ...begun, result: 'paid' } })
    expect((await say('pay', session)).response.message).toBe('paid')
    expect(attempts.length).toBe(1)
  })

  test('at the one swap of a cancelled turn: the reply stays the cancellation, and the log has the failure', async () => {
    const error = vi.fn()
    const cancel = new AbortController()
    const { start, say, store, stored } = talking(
      async (turn) => {
        if (turn.message === 'start') return reply('started')
        await turn.once('pay', () => 'paid')
        cancel.abort()
        return never()
      },
      { logger: { ...console, error } },
    )
    const session = await start('Talk')
    const before = await stored(session)
    store.inject({ operation: 'save', effect: 'fail-before', times: 3 })
    const result = await say('pay', session, { signal: cancel.signal })
    expect([result.error?.code, result.sessionState, result.response.session]).toEqual([
      'TURN_ABORTED',
      'running',
      session,
    ])
    expect(await stored(session)).toBe(before)
    expect(error.mock.calls.map(([text]) => text)).toEqual([`Session store failed to save session '${session}'.`])
  })

  test('as another process has changed the session: results that are not durable are lost', async () => {
    const { work, attempts } = payments(() => 'paid')
    const { start, say, store, document } = talking(async (turn) => {
      if (turn.message === 'start') return reply('started')
      return reply(String(await turn.once('pay', work, { durable: false })))
    })
    const session = await start('Talk')
    store.rivalWrites()
    expect((await say('pay', session)).error?.code).toBe('SESSION_CONFLICT')
    expect((await document(session)).effects).toBeUndefined()
    expect((await say('pay', session)).response.message).toBe('paid')
    expect(attempts.length).toBe(2)
  })

  test('as another process has deleted the session: a cancelled turn does not bring it back', async () => {
    const cancel = new AbortController()
    const { start, say, store, backing } = talking(
      async (turn) => {
        if (turn.message === 'start') return reply('started')
        await turn.once('pay', () => 'paid')
        cancel.abort()
        return never()
      },
      { logger: { ...console, error: () => undefined } },
    )
    const session = await start('Talk')
    store.rivalDeletes()
    const { sessionState, error } = await say('pay', session, { signal: cancel.signal })
    expect([error?.code, sessionState, backing.size]).toEqual(['TURN_ABORTED', 'none', 0])
  })
})

describe('a process that dies', () => {
  test.each([
    [
      'inside the work',
      1,
      [
        [1, false],
        [2, true],
      ],
    ],
    [
      'after the work and before its result is stored',
      2,
      [
        [1, false],
        [2, true],
      ],
    ],
    ['after the result and before the commit', 3, [[1, false]]],
  ])('%s', async (_title, dyingWrite, expected) => {
    const backing = new Map<string, SessionDocument>()
    const run = payments(({ uncertain }) => (uncertain ? 'asked' : dyingWrite === 1 ? never() : 'paid'))
    const first = paying(run.work as never, { backing })
    const session = await first.start('Talk')
    // The process that dies here: its store answers nothing any more.
    if (dyingWrite > 1) first.store.inject({ operation: 'save', effect: 'hang-before', nth: dyingWrite })
    void first.say('pay', session)
    await first.clock.settle()
    const second = paying(run.work as never, { backing })
    const { response } = await second.say('pay', session)
    expect(response.message).toBe(dyingWrite === 3 ? 'paid' : 'asked')
    expect(run.attempts.map(({ attempt, uncertain }) => [attempt, uncertain])).toEqual(expected)
    expect(new Set(run.attempts.map(({ idempotencyKey }) => idempotencyKey)).size).toBe(1)
    // The dead process is gone, and with it its timers.
    const closing = first.engine.close()
    await first.clock.advance(60_000)
    await closing
  })
})

test.each(either)(
  'two engines with one session: a result of one is kept for the other (%s)',
  async (_title, durable) => {
    const backing = new Map<string, SessionDocument>()
    const { attempts, work } = payments(() => 'paid')
    const make = () => talking(async (turn) => reply(String(await turn.once('pay', work, { durable }))), { backing })
    const [one, other] = [make(), make()]
    const { session } = (await one.say('Hi')).response
    expect((await other.say('Hi', session)).response.message).toBe('paid')
    expect(attempts.length).toBe(1)
  },
)
