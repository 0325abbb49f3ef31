/**
 * The events that are for those who run an application: the store's operations, waits, refusals,
 * and where a turn begins.
 */
import { afterEach, expect, test } from 'vitest'
import { expectNothingLeft, flowOf, gate, type Harness, harness } from '../../../testing/contract/engine-harness.js'
import { type EngineEventMap, reply } from '../../index.js'

afterEach(expectNothingLeft)

const at = Date.UTC(2026, 0, 1)

/** Makes IDs that count up. */
function counted(): (kind: string) => string {
  const counts = new Map<string, number>()
  return (kind) => {
    counts.set(kind, (counts.get(kind) ?? 0) + 1)
    return `${kind}-${counts.get(kind)}`
  }
}

type Recorded = [keyof EngineEventMap, unknown]

/** Records only these events. */
function record({ engine }: Harness, ...names: (keyof EngineEventMap)[]): Recorded[] {
  const events: Recorded[] = []
  for (const name of names)
    engine.on(name, (payload: EngineEventMap[keyof EngineEventMap]) => events.push([name, payload]))
  return events
}

test('a first turn reports the ID of its session before it is stored, a later one the step in which it goes on', async () => {
  const made = harness({ generateId: counted(), flows: [flowOf('Talk')] })
  const events = record(made, 'session:started', 'session:created', 'step:resume', 'step:enter')
  const sessionId = await made.start('Talk')
  await made.engine.run({ flowName: 'Talk', userMessage: 'again', sessionId })
  const of = { sessionId, flowName: 'Talk', at }
  expect(events).toEqual([
    ['session:started', { ...of, turnId: 'turn-1' }],
    ['step:enter', { ...of, turnId: 'turn-1', step: 'Only' }],
    ['session:created', { ...of, turnId: 'turn-1' }],
    ['step:resume', { ...of, turnId: 'turn-2', step: 'Only' }],
  ])
})

test('each operation of the store is reported, with its turn and how long it took', async () => {
  const made = harness({ generateId: counted(), flows: [flowOf('Talk')] })
  const events = record(made, 'store:end')
  const sessionId = await made.start('Talk')
  made.store.delayNext('load', 30)
  const running = made.engine.run({ flowName: 'Talk', userMessage: 'again', sessionId })
  await made.clock.advance(30)
  await running
  await made.engine.getSession(sessionId)
  await made.engine.deleteSession(sessionId)
  const of = { sessionId, success: true, durationMs: 0, at: at + 30 }
  expect(events.map(([, payload]) => payload)).toEqual([
    { ...of, operation: 'create', turnId: 'turn-1', at },
    { ...of, operation: 'load', turnId: 'turn-2', durationMs: 30 },
    { ...of, operation: 'save', turnId: 'turn-2' },
    { ...of, operation: 'load' },
    { ...of, operation: 'load' },
    { ...of, operation: 'delete' },
  ])
})

test('an operation that fails is reported with its code, and a listener that throws changes nothing', async () => {
  const made = harness({ generateId: counted(), flows: [flowOf('Talk')], onListenerError: () => undefined })
  const events = record(made, 'store:end')
  made.engine.on('store:end', () => {
    throw new Error('The listener broke.')
  })
  const sessionId = await made.start('Talk')
  made.store.failNext('load')
  await made.engine.run({ flowName: 'Talk', userMessage: 'again', sessionId })
  expect(events[1]).toEqual([
    'store:end',
    { sessionId, operation: 'load', turnId: 'turn-2', durationMs: 0, success: false, code: 'SESSION_STORE_ERROR', at },
  ])
})

test('a turn that waited reports how long when it starts; one that did not wait reports nothing of it', async () => {
  const hold = gate()
  const first = flowOf('Talk', async (turn) => {
    if (turn.message === 'hold') await hold.opened
    return reply('Yes.')
  })
  const made = harness({ generateId: counted(), flows: [first] })
  const sessionId = await made.start('Talk')
  const events = record(made, 'turn:queued', 'turn:start')
  const one = made.engine.run({ flowName: 'Talk', userMessage: 'hold', sessionId })
  const two = made.engine.run({ flowName: 'Talk', userMessage: 'next', sessionId })
  await made.clock.advance(70)
  hold.open()
  await Promise.all([one, two])
  const of = { sessionId, flowName: 'Talk' }
  expect(events).toEqual([
    ['turn:start', { ...of, turnId: 'turn-2', at }],
    ['turn:queued', { ...of, turnId: 'turn-3', at, queued: 0 }],
    ['turn:start', { ...of, turnId: 'turn-3', at: at + 70, waitedMs: 70 }],
  ])
})

test('a turn that stops waiting, or is refused, is reported with its code and has no other end', async () => {
  const hold = gate()
  const slow = flowOf('Talk', async (turn) => {
    if (turn.message === 'hold') await hold.opened
    return reply('Yes.')
  })
  const made = harness({ generateId: counted(), flows: [slow], limits: { maxQueuedTurnsPerSession: 1 } })
  const sessionId = await made.start('Talk')
  const events = record(made, 'turn:refused', 'turn:end')
  const one = made.engine.run({ flowName: 'Talk', userMessage: 'hold', sessionId })
  const controller = new AbortController()
  const two = made.engine.run({ flowName: 'Talk', userMessage: 'b', sessionId, signal: controller.signal })
  await made.engine.run({ flowName: 'Talk', userMessage: 'c', sessionId })
  await made.clock.advance(40)
  controller.abort()
  await two
  const of = { sessionId, flowName: 'Talk' }
  expect(events).toEqual([
    ['turn:refused', { ...of, turnId: 'turn-4', at, code: 'LIMIT_EXCEEDED', waitedMs: 0 }],
    ['turn:refused', { ...of, turnId: 'turn-3', at: at + 40, code: 'TURN_ABORTED', waitedMs: 40 }],
  ])
  hold.open()
  await one
  expect(events).toHaveLength(3)
})
