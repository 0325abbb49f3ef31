// The audit trail of requests for other owners' sessions, and the owner in the events of turns.
import { afterEach, describe, expect, test } from 'vitest'
import { expectNothingLeft, flowOf, gatedFlow } from '../../../testing/contract/engine-harness.js'
import { namesOf, type RecordedEvent, recorded } from '../../../testing/contract/event-recorder.js'
import { readAll } from '../../../testing/contract/stream-harness.js'
import { SessionFlowInvariantError } from '../../index.js'

afterEach(expectNothingLeft)

const at = Date.UTC(2026, 0, 1)

/** A session of Ada's, and what is reported from now on. */
async function adas() {
  const made = recorded([flowOf('Talk'), flowOf('Other')])
  const { session } = await made.engine.run({ flowName: 'Talk', userMessage: 'hello', owner: 'ada' })
  made.events.length = 0
  return { ...made, session, foreign: () => foreignOf(made.events) }
}

function foreignOf(events: readonly RecordedEvent[]): unknown[] {
  return events.filter(([name]) => name === 'session:foreign').map(([, event]) => event)
}

describe('session:foreign', () => {
  test('names who asked, for whose session, and the turn of a run, once for each request', async () => {
    const { engine, session, foreign } = await adas()
    const input = { flowName: 'Talk', userMessage: 'hello', sessionId: session, owner: 'bob' }
    await engine.run(input)
    await readAll(engine.stream(input))
    await engine.run({ ...input, idempotencyKey: 'a-key-of-bob-0001' })
    const run = { sessionId: session, at, operation: 'run', askedBy: 'bob', owner: 'ada', flowName: 'Talk' }
    expect(foreign()).toEqual(['turn-2', 'turn-3', 'turn-4'].map((turnId) => ({ ...run, turnId })))
  })

  test('of a delete and a load', async () => {
    const { engine, events, session, foreign } = await adas()
    await engine.deleteSession(session, { owner: 'bob' })
    await engine.getSession(session, {})
    expect(foreign()).toEqual([
      { sessionId: session, at, operation: 'delete', askedBy: 'bob', owner: 'ada' },
      { sessionId: session, at, operation: 'get', owner: 'ada' },
    ])
    expect(Object.isFrozen(events[0]?.[1])).toBe(true)
  })

  test('of a cancel, where a turn of the session runs, and not of one of an idle session', async () => {
    const { flow, open } = gatedFlow()
    const { engine, events, clock } = recorded([flow])
    const { session } = await engine.run({ flowName: 'Talk', userMessage: 'start', owner: 'ada' })
    expect(await engine.cancel(session, { owner: 'bob' })).toBe(false)
    const running = engine.run({ flowName: 'Talk', userMessage: 'a', sessionId: session, owner: 'ada' })
    await clock.settle()
    expect(await engine.cancel(session, { owner: 'bob' })).toBe(false)
    expect(await engine.cancel(session, {})).toBe(false)
    expect(foreignOf(events)).toEqual([
      { sessionId: session, at, operation: 'cancel', askedBy: 'bob', owner: 'ada' },
      { sessionId: session, at, operation: 'cancel', owner: 'ada' },
    ])
    open('a')
    expect((await running).success).toBe(true)
  })

  test('of a run whose input is refused, and of one that fails before its session is loaded', async () => {
    const { engine, session, foreign } = await adas()
    const input = { flowName: 'Talk', userMessage: 'hello', sessionId: session, owner: 'bob' }
    const refused = await engine.execute({ ...input, userMessage: 5 as unknown as string })
    const failed = await engine.execute({ ...input, flowName: 'None' })
    expect([refused.sessionState, failed.sessionState]).toEqual(['none', 'none'])
    const event = { sessionId: session, at, operation: 'run', askedBy: 'bob', owner: 'ada' }
    expect(foreign()).toEqual([event, { ...event, flowName: '', turnId: 'turn-2' }])
  })

  test('names the request, where it has an ID', async () => {
    const { flow, open } = gatedFlow()
    const { engine, events, clock } = recorded([flow])
    const { session } = await engine.run({ flowName: 'Talk', userMessage: 'start', owner: 'ada' })
    const running = engine.run({ flowName: 'Talk', userMessage: 'a', sessionId: session, owner: 'ada' })
    await clock.settle()
    const bob = { owner: 'bob', requestId: 'request-7' }
    const input = { flowName: 'Talk', userMessage: 'start', sessionId: session, ...bob }
    await engine.run(input)
    await engine.run({ ...input, userMessage: 5 as unknown as string })
    await engine.deleteSession(session, bob)
    await engine.cancel(session, bob)
    await engine.getSession(session, bob)
    const seen = foreignOf(events) as { operation: string; requestId?: string }[]
    expect(seen.map(({ operation, requestId }) => [operation, requestId])).toEqual(
      ['run', 'run', 'delete', 'cancel', 'get'].map((operation) => [operation, 'request-7']),
    )
    open('a')
    await running
  })

  test('does not name an owner that cannot be read', async () => {
    const { engine, session, store, foreign } = await adas()
    const error = new SessionFlowInvariantError({ sessionId: session, problem: 'its head cannot be read' })
    store.failNext('load', { error, times: 2 })
    expect(await engine.getSession(session, { owner: 'bob' })).toBeUndefined()
    await expect(engine.getSession(session, {})).rejects.toBe(error)
    expect(foreign()).toEqual([{ sessionId: session, at, operation: 'get', askedBy: 'bob' }])
  })

  test('is not emitted for the owner, the application, or an ID that nobody has', async () => {
    const { engine, session, foreign } = await adas()
    await engine.run({ flowName: 'Talk', userMessage: 'hello', sessionId: session, owner: 'ada' })
    await engine.run({ flowName: 'Talk', userMessage: 'hello', sessionId: 'unknown', owner: 'bob' })
    await engine.getSession(session)
    await engine.getSession('unknown', { owner: 'bob' })
    await engine.deleteSession('unknown', { owner: 'bob' })
    await engine.deleteSession(session)
    expect(foreign()).toEqual([])
  })
})

describe('the owner in events', () => {
  test('is that of the request, in every event of a turn and in its repeats', async () => {
    const { engine, events } = recorded([flowOf('Talk')])
    const input = { flowName: 'Talk', userMessage: 'hello', owner: 'ada', idempotencyKey: 'a-key-of-ada-0001' }
    await engine.run(input)
    await engine.run(input)
    expect(namesOf(events)).toEqual(['turn:start', 'step:enter', 'session:created', 'turn:end', 'turn:replayed'])
    expect(events.map(([, { owner }]) => owner)).toEqual(events.map(() => 'ada'))
  })

  test('is absent where the request names none', async () => {
    const { events, start } = recorded([flowOf('Talk')])
    await start('Talk')
    expect(events.filter(([, event]) => 'owner' in event)).toEqual([])
  })
})

test('cancel without options ends the turn of the owner, and not that of a stranger who came first', async () => {
  const { flow } = gatedFlow()
  const { engine, store, clock } = recorded([flow])
  const { session } = await engine.run({ flowName: 'Talk', userMessage: 'start', owner: 'ada' })
  store.delayNext('load', 20)
  const input = { flowName: 'Talk', userMessage: 'start', sessionId: session }
  const stranger = engine.execute({ ...input, owner: 'bob' })
  const running = engine.execute({ ...input, userMessage: 'a', owner: 'ada' })
  await clock.settle()
  expect(await clock.runUntil(engine.cancel(session))).toBe(true)
  expect((await running).error?.code).toBe('TURN_ABORTED')
  expect((await clock.runUntil(stranger)).response.success).toBe(true)
})
