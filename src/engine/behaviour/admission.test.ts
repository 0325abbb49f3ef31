// How many turns are under way in an engine at the same time: `maxConcurrentTurns`, `maxConcurrentTurnsPerOwner`.
import { afterEach, describe, expect, test } from 'vitest'
import { expectNothingLeft, flowOf, gatedFlow, harness } from '../../../testing/contract/engine-harness.js'
import { recordEvents } from '../../../testing/contract/event-recorder.js'
import { VirtualClock } from '../../../testing/index.js'
import { type EngineLimits, type ExecuteResult, type FlowRunInput, reply } from '../../index.js'
import { resolveLimits } from '../core/engine-limits.js'
import { Admission } from '../lock/admission.js'

afterEach(expectNothingLeft)

const sentence =
  'The engine has as many turns under way as the limit maxConcurrentTurns allows (2). Send the message again in a moment.'

/** An engine for two turns at once, which wait for the gate of their message. */
function forTwo(limits: Partial<EngineLimits> = {}) {
  const { flow, journal, open } = gatedFlow()
  const made = harness({ flows: [flow], limits: { maxConcurrentTurns: 2, ...limits } })
  const say = (userMessage: string, more: Partial<FlowRunInput> = {}): Promise<ExecuteResult> =>
    made.engine.execute({ flowName: 'Talk', userMessage, ...more })
  return { ...made, journal, open, say }
}

describe('maxConcurrentTurns', () => {
  test('refuses a turn beyond it with ENGINE_BUSY, and runs nothing of it', async () => {
    const { say, open, engine, store } = forTwo()
    const two = [say('a'), say('b')]
    const events = recordEvents(engine)
    const before = store.journal.length
    const { response, error, sessionState } = await say('c')
    expect(response).toEqual({
      success: false,
      completed: true,
      message: sentence,
      session: '',
      contentType: 'text/plain',
    })
    expect(error).toMatchObject({ code: 'ENGINE_BUSY', name: 'EngineBusyError', value: 2, statusCode: 400 })
    expect(error?.details).toBe('Raise it with the engine option limits: { maxConcurrentTurns: ... }.')
    expect(sessionState).toBe('none')
    expect(events.filter(([name]) => name.startsWith('turn:'))).toEqual([
      [
        'turn:refused',
        {
          ...{ code: 'ENGINE_BUSY', sessionId: '', flowName: 'Talk', waitedMs: 0 },
          ...{ turnId: expect.any(String), at: expect.any(Number) },
        },
      ],
    ])
    expect(store.journal).toHaveLength(before)
    open('a')
    open('b')
    await Promise.all(two)
  })

  test('leaves the session alone, and does not ask the store for its state', async () => {
    const { say, open, start, stored, store } = forTwo()
    const session = await start('Talk')
    const before = await stored(session)
    const two = [say('a'), say('b')]
    const operations = store.journal.length
    const refused = await say('c', { sessionId: session })
    expect([refused.response.session, refused.sessionState, store.journal.length]).toEqual([
      session,
      'unknown',
      operations,
    ])
    expect(await stored(session)).toBe(before)
    open('a')
    open('b')
    await Promise.all(two)
    open('c')
    expect((await say('c', { sessionId: session })).response).toMatchObject({ success: true, session })
  })

  test('counts turns that wait, and a place is free again when a turn is settled', async () => {
    const { say, open, start, journal } = forTwo()
    const sessionId = await start('Talk')
    const first = say('a', { sessionId })
    const second = say('b', { sessionId })
    expect((await say('c')).error?.code).toBe('ENGINE_BUSY')
    open('a')
    await first
    const third = say('c')
    expect((await say('d')).error?.code).toBe('ENGINE_BUSY')
    open('b')
    open('c')
    await Promise.all([second, third])
    expect(journal).not.toContain('d begins')
  })

  test.each<[string, Partial<FlowRunInput>]>([
    ['fails', { flowName: 'Nobody' }],
    ['is refused before it is admitted', { owner: '' }],
    ['was cancelled before', { signal: AbortSignal.abort() }],
    ['throws', { userMessage: 'throw' }],
  ])('a turn that %s keeps no place', async (_what, input) => {
    const flow = flowOf('Talk', ({ message }) => {
      if (message === 'throw') throw new Error('No.')
      return reply(message)
    })
    const { engine } = harness({ flows: [flow], limits: { maxConcurrentTurns: 1 } })
    for (let time = 0; time < 3; time++) {
      const { error } = await engine.execute({ flowName: 'Talk', userMessage: 'hello', ...input })
      expect(error?.code).not.toBe('ENGINE_BUSY')
    }
    expect((await engine.run({ flowName: 'Talk', userMessage: 'hello' })).success).toBe(true)
  })

  test('a repeat that joins a turn under way takes no place', async () => {
    const { say, open } = forTwo()
    const keyed = { idempotencyKey: 'key-of-the-message' }
    const other = say('b')
    const first = say('a', keyed)
    const repeats = [say('a', keyed), say('a', keyed)]
    open('a')
    const { response } = await first
    for (const repeat of await Promise.all(repeats)) expect(repeat).toMatchObject({ response, replayed: true })
    const third = say('c')
    open('b')
    open('c')
    expect((await Promise.all([other, third])).map(({ response: { success } }) => success)).toEqual([true, true])
  })

  test('a message with a key that was refused can be sent again', async () => {
    const { say, open } = forTwo()
    const two = [say('a'), say('b')]
    const keyed = { idempotencyKey: 'key-of-the-message' }
    expect((await say('c', keyed)).error?.code).toBe('ENGINE_BUSY')
    for (const message of ['a', 'b', 'c']) open(message)
    await Promise.all(two)
    expect(await say('c', keyed)).toMatchObject({ response: { message: 'c' } })
  })

  test('an engine that is closed says so, however busy it was', async () => {
    const { say, open, engine } = forTwo()
    const two = [say('a'), say('b')]
    const closing = engine.close()
    expect((await say('c')).error?.code).toBe('ENGINE_CLOSED')
    open('a')
    open('b')
    await Promise.all([...two, closing])
  })

  test('a turn within a turn takes a place of its own, and does not wait for one', async () => {
    const inner: unknown[] = []
    const flow = flowOf('Talk', async ({ message }) => {
      if (message === 'outer')
        inner.push((await engine.execute({ flowName: 'Talk', userMessage: 'inner' })).error?.code)
      return reply(message)
    })
    const { engine } = harness({ flows: [flow], limits: { maxConcurrentTurns: 1 } })
    expect((await engine.run({ flowName: 'Talk', userMessage: 'outer' })).success).toBe(true)
    expect(inner).toEqual(['ENGINE_BUSY'])
  })

  test('a stream is refused before it begins', async () => {
    const { say, open, engine } = forTwo()
    const two = [say('a'), say('b')]
    const pieces: unknown[] = []
    for await (const piece of engine.stream({ flowName: 'Talk', userMessage: 'c' })) pieces.push(piece)
    expect(pieces).toMatchObject([{ type: 'error', response: { message: sentence } }])
    open('a')
    open('b')
    await Promise.all(two)
  })

  test('Infinity switches it off', async () => {
    const { say, open } = forTwo({ maxConcurrentTurns: Number.POSITIVE_INFINITY })
    open('a')
    const replies = await Promise.all(Array.from({ length: 1_500 }, () => say('a')))
    expect(replies.every(({ response }) => response.success)).toBe(true)
  })
})

describe('maxConcurrentTurnsPerOwner', () => {
  const limits = { maxConcurrentTurns: 10, maxConcurrentTurnsPerOwner: 2 }
  const ada = { owner: 'ada' }

  test('refuses a turn of the owner beyond it, and no other caller', async () => {
    const { say, open, store } = forTwo(limits)
    const two = [say('a', ada), say('b', ada)]
    const before = store.journal.length
    const { response, error, sessionState } = await say('c', { ...ada, sessionId: 'some-session' })
    expect(response).toMatchObject({
      success: false,
      message: 'The number of turns of one owner exceeds the limit maxConcurrentTurnsPerOwner (2).',
      session: 'some-session',
    })
    expect(error).toMatchObject({ code: 'LIMIT_EXCEEDED', limit: 'maxConcurrentTurnsPerOwner', value: 2 })
    // A flood must not become reads of the store.
    expect([sessionState, store.journal.length]).toEqual(['unknown', before])
    const others = [say('d', { owner: 'bob' }), say('d'), say('d'), say('d')]
    for (const message of ['a', 'b', 'd']) open(message)
    expect((await Promise.all(others)).every(({ response: { success } }) => success)).toBe(true)
    await Promise.all(two)
    open('c')
    expect((await say('c', ada)).response.success).toBe(true)
  })

  test('counts the waiting turns of the owner', async () => {
    const { say, open, engine } = forTwo(limits)
    open('first')
    const sessionId = (await say('first', ada)).response.session
    const two = [say('a', { ...ada, sessionId }), say('b', { ...ada, sessionId })]
    expect((await say('c', ada)).error?.code).toBe('LIMIT_EXCEEDED')
    open('a')
    await two[0]
    open('c')
    const third = say('c', ada)
    expect((await say('d', ada)).error?.code).toBe('LIMIT_EXCEEDED')
    open('b')
    await Promise.all([...two, third])
    expect(engine.limits.maxConcurrentTurnsPerOwner).toBe(2)
  })

  test('the bound of all comes first', async () => {
    const { say, open } = forTwo({ maxConcurrentTurns: 2, maxConcurrentTurnsPerOwner: 2 })
    const two = [say('a', ada), say('b', ada)]
    expect((await say('c', ada)).error?.code).toBe('ENGINE_BUSY')
    open('a')
    open('b')
    await Promise.all(two)
  })
})

describe('a turn that a runtime has dropped together with its request, so that it never settles', () => {
  const [lost, kept, next] = [{}, {}, {}]

  test('keeps its place only for as long as a turn may take', async () => {
    const clock = new VirtualClock()
    const limits = resolveLimits({ maxConcurrentTurns: 2, turnTimeoutMs: 1_000, storeTimeoutMs: 100 })
    const admission = new Admission(clock, limits)
    expect(admission.enter(lost)).toBe(undefined)
    await clock.advance(100)
    expect(admission.enter(kept)).toBe(undefined)
    await clock.advance(4_099)
    expect(admission.enter(next)).toBe('maxConcurrentTurns')
    await clock.advance(1)
    expect(admission.enter(next)).toBe(undefined)
    expect(admission.enter({})).toBe('maxConcurrentTurns')
    // It settles after all: that frees no other place.
    admission.leave(lost)
    expect(admission.enter({})).toBe('maxConcurrentTurns')
    admission.leave(kept)
    expect(admission.enter({})).toBe(undefined)
  })
  test('keeps the place of its owner for as long, too', async () => {
    const clock = new VirtualClock()
    const limits = resolveLimits({ maxConcurrentTurnsPerOwner: 1, turnTimeoutMs: 1_000, storeTimeoutMs: 100 })
    const admission = new Admission(clock, limits)
    const [first, second] = [{ owner: 'ada' }, { owner: 'ada' }]
    expect(admission.enter(first)).toBe(undefined)
    await clock.advance(4_199)
    expect(admission.enter(second)).toBe('maxConcurrentTurnsPerOwner')
    await clock.advance(1)
    expect(admission.enter(second)).toBe(undefined)
    admission.leave(first)
    expect(admission.enter({ owner: 'ada' })).toBe('maxConcurrentTurnsPerOwner')
    admission.leave(second)
    expect(admission.enter({ owner: 'ada' })).toBe(undefined)
  })
})
