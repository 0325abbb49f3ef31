// A message that interrupts the turn under way, at each phase of that turn.
import { afterEach, describe, expect, test } from 'vitest'
import { busyTalk, outcomeOf } from '../../../testing/contract/busy-talk.js'
import {
  expectNothingLeft,
  flowOf,
  gate,
  type Harness,
  harness,
  never,
} from '../../../testing/contract/engine-harness.js'
import { namesOf, recordEvents } from '../../../testing/contract/event-recorder.js'
import { Chat, calls, modelHarness } from '../../../testing/contract/model-harness.js'
import { type ExecuteResult, type FlowConstructor, type FlowStreamEvent, reply, tool } from '../../index.js'

afterEach(expectNothingLeft)

const busy = 'interrupt'

test('the turn under way ends at once and leaves the session as it was; the new one runs', async () => {
  const { say, open, session, stored, clock, events, messages, journal } = await busyTalk({ busy })
  const before = await stored(session)
  const first = say('a')
  await clock.settle()
  const second = say('b')
  const { response, error, sessionState } = await first
  expect(response).toEqual({
    success: false,
    completed: true,
    message: 'A newer message took the place of this one.',
    session,
    contentType: 'text/plain',
  })
  expect([error?.code, sessionState]).toEqual(['TURN_SUPERSEDED', 'running'])
  expect(await stored(session)).toBe(before)
  open('b')
  expect(outcomeOf(await second)).toBe('ok')
  // What still runs changes nothing.
  open('a')
  await clock.settle()
  expect(journal).toEqual(['a begins', 'b begins', 'b ends', 'a ends'])
  expect(await messages()).toEqual(['start', 'b'])
  const [one, other] = events.filter(([name]) => name === 'turn:start').map(([, { turnId }]) => turnId)
  expect(events.filter(([name]) => name.startsWith('turn:')).map(([name, { turnId }]) => [name, turnId])).toEqual([
    ['turn:start', one],
    ['turn:queued', other],
    ['turn:superseded', one],
    ['turn:error', one],
    ['turn:end', one],
    ['turn:start', other],
    ['turn:end', other],
  ])
  expect(events.find(([name]) => name === 'turn:superseded')?.[1]).toMatchObject({
    byTurnId: other,
    sessionId: session,
  })
})

test('of those that come meanwhile only the newest waits', async () => {
  const { say, open, clock, store, session, messages } = await busyTalk({ busy })
  // While a commit is under way, messages can only wait.
  store.delayNext('save', 10)
  const first = say('a')
  open('a')
  await clock.settle()
  const turns = [say('b'), say('c'), say('d')]
  open('d')
  const results = await clock.runUntil(Promise.all([first, ...turns]))
  expect(results.map(outcomeOf)).toEqual(['ok', 'TURN_SUPERSEDED', 'TURN_SUPERSEDED', 'ok'])
  expect(results[1]).toMatchObject({ response: { session }, sessionState: 'running' })
  expect(await messages()).toEqual(['start', 'a', 'd'])
})

test('one that waits is not counted against the one that takes its place', async () => {
  const { say, open, clock, store } = await busyTalk({ busy, limits: { maxQueuedTurnsPerSession: 1 } })
  store.delayNext('save', 10)
  const first = say('a')
  open('a')
  await clock.settle()
  const turns = [first, say('b'), say('c')]
  open('c')
  expect((await clock.runUntil(Promise.all(turns))).map(outcomeOf)).toEqual(['ok', 'TURN_SUPERSEDED', 'ok'])
})

test('two at once: each supersedes the one before it', async () => {
  const { say, open, messages } = await busyTalk({ busy })
  const turns = [say('a'), say('b'), say('c')]
  for (const message of ['a', 'b', 'c']) open(message)
  expect((await Promise.all(turns)).map(outcomeOf)).toEqual(['TURN_SUPERSEDED', 'TURN_SUPERSEDED', 'ok'])
  expect(await messages()).toEqual(['start', 'c'])
})

describe('the turn under way', () => {
  /** A flow that stops at a place that a test names; nothing there listens to the signal. */
  function stopping(at: string): { flow: FlowConstructor; reached: Promise<void> } {
    const { opened: reached, open } = gate()
    const stop = async (place: string, message = 'a'): Promise<void> => {
      if (place !== at || message !== 'a') return
      open()
      await never()
    }
    let turns = 0
    const flow = flowOf(
      'Talk',
      async (turn) => {
        await stop('run', turn.message)
        return reply(turn.message)
      },
      {
        init: () => (++turns === 2 ? stop('init') : undefined),
        onRestore: () => (turns === 2 ? stop('onRestore') : undefined),
        onStepRestore: (turn) => stop('step', turn.message),
      },
    )
    return { flow, reached }
  }

  async function interrupted(made: Harness, reached: Promise<void>): Promise<ExecuteResult> {
    const { engine, start, stored, document } = made
    const session = await start('Talk')
    const before = await stored(session)
    const first = engine.execute({ flowName: 'Talk', userMessage: 'a', sessionId: session })
    await reached
    const second = engine.execute({ flowName: 'Talk', userMessage: 'b', sessionId: session })
    const result = await first
    expect(outcomeOf(result)).toBe('TURN_SUPERSEDED')
    expect(await stored(session)).toBe(before)
    expect(outcomeOf(await second)).toBe('ok')
    expect((await document(session)).history.map(({ message }) => message)).toEqual(['start', 'b'])
    return result
  }

  test.each(['init', 'onRestore', 'step', 'run'])('is superseded in %s', async (at) => {
    const { flow, reached } = stopping(at)
    expect((await interrupted(harness({ flows: [flow], busy }), reached)).sessionState).toBe('running')
  })

  test('is superseded while it waits for the load, and what it would have loaded is dropped', async () => {
    const { say, open, clock, store, session, messages } = await busyTalk({ busy })
    store.delayNext('load', 50)
    const first = say('a')
    await clock.advance(10)
    open('b')
    const second = say('b')
    expect([outcomeOf(await first), (await first).sessionState]).toEqual(['TURN_SUPERSEDED', 'running'])
    expect(outcomeOf(await second)).toBe('ok')
    await clock.advance(50)
    expect((await first).response.session).toBe(session)
    expect(await messages()).toEqual(['start', 'b'])
  })

  test('is superseded in a tool and in a model call, whose signals fire', async () => {
    const signals: AbortSignal[] = []
    const reached = [gate(), gate()]
    const hang = tool({
      name: 'hang',
      description: 'Hangs.',
      execute: (_input, call) => {
        signals.push(call.signal)
        reached[0]?.open()
        return never()
      },
    })
    class Tooled extends Chat {
      override tools() {
        return [hang]
      }
    }
    const made = modelHarness(
      {
        'own/small': [
          'hello',
          calls('hang'),
          ({ signal }) => {
            signals.push(signal)
            reached[1]?.open()
            return never()
          },
          'done',
        ],
      },
      { flows: [Tooled], busy },
    )
    const { engine, document } = made
    const { session } = await engine.run({ flowName: Tooled.id, userMessage: 'start' })
    const say = (userMessage: string) => engine.execute({ flowName: Tooled.id, userMessage, sessionId: session })
    const first = say('a')
    await reached[0]?.opened
    const second = say('b')
    await reached[1]?.opened
    const third = say('c')
    expect((await Promise.all([first, second, third])).map(outcomeOf)).toEqual([
      'TURN_SUPERSEDED',
      'TURN_SUPERSEDED',
      'ok',
    ])
    expect(signals.map(({ reason }) => reason?.code)).toEqual(['TURN_SUPERSEDED', 'TURN_SUPERSEDED'])
    expect((await document(session)).history.map(({ message }) => message)).toEqual(['start', 'c'])
  })

  test('is not superseded once its commit has begun', async () => {
    const { say, open, clock, store, messages, events } = await busyTalk({ busy })
    store.delayNext('save', 20)
    const first = say('a')
    open('a')
    await clock.settle()
    const second = say('b')
    open('b')
    expect((await clock.runUntil(Promise.all([first, second]))).map(outcomeOf)).toEqual(['ok', 'ok'])
    expect(await messages()).toEqual(['start', 'a', 'b'])
    expect(events.map(([name]) => name)).not.toContain('turn:superseded')
  })

  test('is superseded before it has begun: the lock was passed to it a moment ago', async () => {
    const { engine, say, open, session, clock, messages } = await busyTalk({ busy })
    const held = gate()
    let second: Promise<ExecuteResult> | undefined
    const stop = engine.getFlowSession().watchLocks(({ kind, holder }) => {
      if (kind === 'released' && holder === 'application') queueMicrotask(() => (second = say('b')))
    })
    const working = engine.getFlowSession().withSessionLock(session, () => held.opened)
    const first = say('a')
    await clock.settle()
    open('a')
    open('b')
    held.open()
    await working
    expect(outcomeOf(await first)).toBe('TURN_SUPERSEDED')
    expect(outcomeOf((await second) as ExecuteResult)).toBe('ok')
    expect(await messages()).toEqual(['start', 'b'])
    stop()
  })

  test('of a batch flow, during its checkpoint: the checkpoint is stored, and then the turn is superseded', async () => {
    const flow = flowOf('Talk', (turn) => reply(turn.message), { isBatch: () => true })
    const { engine, start, clock, store, document } = harness({ flows: [flow], busy })
    const session = await start('Talk')
    store.delayNext('save', 20)
    const first = engine.execute({ flowName: 'Talk', userMessage: 'a', sessionId: session })
    await clock.settle()
    const second = engine.execute({ flowName: 'Talk', userMessage: 'b', sessionId: session })
    const results = await clock.runUntil(Promise.all([first, second]))
    expect(results.map(outcomeOf)).toEqual(['TURN_SUPERSEDED', 'ok'])
    const { history, turns } = await document(session)
    expect([history.map(({ message }) => message), turns]).toEqual([['start', 'b'], 2])
  })

  test('that runs a turn of its own session is superseded by that', async () => {
    const made = harness({
      busy,
      flows: [
        flowOf('Talk', async (turn) => {
          if (turn.message === 'outer') await engine.run({ flowName: 'Talk', userMessage: 'inner', sessionId: session })
          return reply(turn.message)
        }),
      ],
    })
    const { engine, start, clock, document } = made
    const session = await start('Talk')
    const outer = await engine.execute({ flowName: 'Talk', userMessage: 'outer', sessionId: session })
    await clock.settle()
    expect(outcomeOf(outer)).toBe('TURN_SUPERSEDED')
    expect((await document(session)).history.map(({ message }) => message)).toEqual(['start', 'inner'])
  })
})

test('a streamed turn that is superseded ends with the error, and what follows it is streamed', async () => {
  const { engine, say, open, session, clock } = await busyTalk({ busy })
  const events: FlowStreamEvent[] = []
  const reading = (async () => {
    for await (const event of engine.stream({ flowName: 'Talk', userMessage: 'a', sessionId: session }))
      events.push(event)
  })()
  await clock.settle()
  open('b')
  const second = await say('b')
  await reading
  expect(outcomeOf(second)).toBe('ok')
  expect(events.map(({ type }) => type)).toEqual(['session', 'error'])
  expect(events[1]).toMatchObject({ error: { code: 'TURN_SUPERSEDED' }, sessionState: 'running' })
})

test('the first turn of a session, by one who read the ID in its stream: the session is created under that ID', async () => {
  const { flow, begun } = hangingOnce()
  const { engine, backing } = harness({ flows: [flow], busy })
  const stream = engine.stream({ flowName: 'Talk', userMessage: 'a' })
  const { value } = await stream.next()
  const session = (value as { session: string }).session
  await begun
  const second = await engine.execute({ flowName: 'Talk', userMessage: 'b', sessionId: session })
  const rest: FlowStreamEvent[] = []
  for await (const event of stream) rest.push(event)
  expect(rest.at(-1)).toMatchObject({ type: 'error', sessionState: 'none', response: { session: '' } })
  expect([outcomeOf(second), second.restarted]).toEqual(['ok', undefined])
  expect([...backing.keys()]).toEqual([session])
})

/** A flow whose first turn never ends. */
function hangingOnce(): { flow: FlowConstructor; begun: Promise<void> } {
  const { opened: begun, open } = gate()
  let turns = 0
  const flow = flowOf('Talk', (turn) => {
    if (++turns > 1) return reply(turn.message)
    open()
    return never()
  })
  return { flow, begun }
}

test('a listener that sends a message while one is superseded does not upset the order', async () => {
  const { engine, say, open, clock, messages, journal } = await busyTalk({ busy })
  const extra: Promise<ExecuteResult>[] = []
  engine.once('turn:queued', () => extra.push(say('from queued')))
  engine.once('turn:superseded', () => extra.push(say('from superseded')))
  const turns = [say('a')]
  await clock.settle()
  turns.push(say('b'))
  await clock.settle()
  for (const message of ['a', 'b', 'from queued', 'from superseded']) open(message)
  const outcomes = (await Promise.all([...turns, ...extra])).map(outcomeOf)
  expect(outcomes.filter((outcome) => outcome === 'ok')).toHaveLength(1)
  expect(journal.filter((entry) => entry.endsWith('ends'))).not.toContain('b ends')
  expect(await messages()).toHaveLength(2)
})

test('an engine that closes refuses the message that waits, and what it superseded stays superseded', async () => {
  const flow = flowOf('Talk', (turn) => (turn.message === 'a' ? never() : reply(turn.message)), { isBatch: () => true })
  const { engine, start, clock, store } = harness({ flows: [flow], busy })
  const session = await start('Talk')
  store.delayNext('save', 20)
  const say = (userMessage: string) => engine.execute({ flowName: 'Talk', userMessage, sessionId: session })
  const turns = [say('a')]
  await clock.settle()
  turns.push(say('b'))
  await clock.settle()
  const closing = engine.close()
  expect((await clock.runUntil(Promise.all(turns))).map(outcomeOf)).toEqual(['TURN_SUPERSEDED', 'ENGINE_CLOSED'])
  await clock.runUntil(closing)
  const events = recordEvents(engine)
  expect(outcomeOf(await say('c'))).toBe('ENGINE_CLOSED')
  expect(namesOf(events)).toEqual(['turn:refused'])
})

test('a full queue refuses the message before anything is superseded', async () => {
  const limits = { maxQueuedTurnsPerSession: 1 }
  const { say, open, clock, messages } = await busyTalk({ busy, limits, flows: [flowOf('Other')] })
  const first = say('a')
  await clock.settle()
  const waiting = say('other', { flowName: 'Other' })
  expect(outcomeOf(await say('b'))).toBe('LIMIT_EXCEEDED')
  open('a')
  expect([outcomeOf(await first), outcomeOf(await waiting)]).toEqual(['ok', 'SESSION_FLOW_MISMATCH'])
  expect(await messages()).toEqual(['start', 'a'])
})

test('a turn that fails in the moment in which it is interrupted has failed, or was superseded: never both', async () => {
  const outcomes = new Set<string>()
  for (let moments = 0; moments < 30; moments++) {
    const { opened, open } = gate()
    const flow = flowOf('Talk', async (turn) => {
      if (turn.message !== 'a') return reply(turn.message)
      await opened
      throw new Error('broken')
    })
    const { engine, start, document, clock } = harness({ flows: [flow], busy, onTurnError: 'rollback' })
    const session = await start('Talk')
    const events = recordEvents(engine)
    const first = engine.execute({ flowName: 'Talk', userMessage: 'a', sessionId: session })
    await clock.settle()
    open()
    for (let moment = 0; moment < moments; moment++) await undefined
    const second = engine.execute({ flowName: 'Talk', userMessage: 'b', sessionId: session })
    const outcome = outcomeOf(await first)
    expect(outcomeOf(await second)).toBe('ok')
    const names = events.map(([name]) => name)
    expect(names.includes('turn:superseded')).toBe(outcome === 'TURN_SUPERSEDED')
    expect((await document(session)).error).toEqual(outcome === 'TURN_SUPERSEDED' ? [] : ['broken'])
    outcomes.add(outcome)
  }
  expect([...outcomes].sort()).toEqual(['FLOW_ERROR', 'TURN_SUPERSEDED'])
})
