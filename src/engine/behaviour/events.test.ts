import { afterEach, describe, expect, test } from 'vitest'
import { expectNothingLeft, flowOf, gate } from '../../../testing/contract/engine-harness.js'
import { namesOf, recorded } from '../../../testing/contract/event-recorder.js'
import { type FlowConstructor, finish, reply } from '../../index.js'

afterEach(expectNothingLeft)

const talk = (): FlowConstructor =>
  flowOf('Talk', (turn) => {
    if (turn.message === 'fail') throw new Error('It broke.')
    return turn.message === 'done' ? finish('Goodbye.') : reply(`You said: ${turn.message}`)
  })

const at = Date.UTC(2026, 0, 1)

describe('the events of a turn', () => {
  test('of a first turn, with their payloads', async () => {
    const { engine, events } = recorded([talk()])
    await engine.run({ flowName: 'Talk', userMessage: 'hello' })
    const of = { sessionId: 'session-1', flowName: 'Talk', turnId: 'turn-1', at }
    expect(events).toEqual([
      ['turn:start', { ...of, sessionId: '' }],
      ['step:enter', { ...of, step: 'Only' }],
      ['session:created', of],
      ['turn:end', { ...of, durationMs: 0, success: true, completed: false }],
    ])
  })

  test('of a later turn', async () => {
    const { engine, events, clock, start, store } = recorded([talk()])
    const session = await start('Talk')
    events.length = 0
    store.delayNext('save', 40)
    const running = engine.run({ flowName: 'Talk', userMessage: 'hello', sessionId: session })
    await clock.advance(40)
    await running
    const of = { sessionId: 'session-1', flowName: 'Talk', turnId: 'turn-2' }
    expect(events).toEqual([
      ['turn:start', { ...of, at }],
      ['session:restored', { ...of, at }],
      ['session:saved', { ...of, at: at + 40 }],
      ['turn:end', { ...of, at: at + 40, durationMs: 40, success: true, completed: false }],
    ])
  })

  test('of the last turn', async () => {
    const { engine, events, start } = recorded([talk()])
    const session = await start('Talk')
    events.length = 0
    await engine.run({ flowName: 'Talk', userMessage: 'done', sessionId: session })
    const of = { sessionId: 'session-1', flowName: 'Talk', turnId: 'turn-2', at }
    expect(events).toEqual([
      ['turn:start', of],
      ['session:restored', of],
      ['step:exit', { ...of, step: 'Only' }],
      ['step:enter', { ...of, step: 'End' }],
      ['session:saved', of],
      ['session:completed', of],
      ['turn:end', { ...of, durationMs: 0, success: true, completed: true }],
    ])
  })

  test('of a turn that is first and last', async () => {
    const { engine, events } = recorded([talk()])
    await engine.run({ flowName: 'Talk', userMessage: 'done' })
    expect(namesOf(events)).toEqual([
      'turn:start',
      'step:enter',
      'step:exit',
      'step:enter',
      'session:created',
      'session:completed',
      'turn:end',
    ])
  })

  test('of a turn that fails', async () => {
    const { engine, events, start } = recorded([talk()])
    const session = await start('Talk')
    events.length = 0
    await engine.run({ flowName: 'Talk', userMessage: 'fail', sessionId: session })
    const of = { sessionId: 'session-1', flowName: 'Talk', turnId: 'turn-2', at }
    expect(events).toEqual([
      ['turn:start', of],
      ['session:restored', of],
      ['turn:error', { ...of, code: 'FLOW_ERROR', error: expect.objectContaining({ code: 'FLOW_ERROR' }) }],
      ['session:aborted', { ...of, code: 'FLOW_ERROR' }],
      ['turn:end', { ...of, durationMs: 0, success: false, completed: true }],
    ])
  })

  test('of a turn that fails before its session is loaded', async () => {
    const { engine, events } = recorded([talk()])
    await engine.run({ flowName: 'Nobody', userMessage: 'hello', sessionId: 'given' })
    const of = { sessionId: 'given', flowName: '', turnId: 'turn-1', at }
    expect(events).toEqual([
      ['turn:start', of],
      ['turn:error', { ...of, code: 'FLOW_NOT_FOUND', error: expect.objectContaining({ flowName: 'Nobody' }) }],
      ['turn:end', { ...of, durationMs: 0, success: false, completed: true }],
    ])
  })

  test('of a turn whose session is unknown: the new ID follows the given one', async () => {
    const { engine, events } = recorded([talk()])
    await engine.run({ flowName: 'Talk', userMessage: 'hello', sessionId: 'given' })
    expect(events.map(([name, { sessionId }]) => [name, sessionId])).toEqual([
      ['turn:start', 'given'],
      ['step:enter', 'session-1'],
      ['session:created', 'session-1'],
      ['turn:end', 'session-1'],
    ])
  })

  test('of a turn that loses a race', async () => {
    const { engine, events, clock, start, store, rewrite } = recorded([talk()])
    const session = await start('Talk')
    events.length = 0
    store.delayNext('save', 40)
    const running = engine.run({ flowName: 'Talk', userMessage: 'hello', sessionId: session })
    await clock.settle()
    await rewrite(session, (document) => Object.assign(document, { revision: '9-theirs' }))
    await clock.advance(40)
    await running
    const of = { sessionId: 'session-1', flowName: 'Talk', turnId: 'turn-2', at: at + 40 }
    expect(events.slice(2)).toEqual([
      ['session:conflict', of],
      ['turn:error', { ...of, code: 'SESSION_CONFLICT', error: expect.objectContaining({ statusCode: 409 }) }],
      ['turn:end', { ...of, durationMs: 40, success: false, completed: true }],
    ])
  })

  test('of a failed turn that could not be saved as aborted: no session:aborted', async () => {
    const { engine, events, start, store } = recorded([talk()])
    const session = await start('Talk')
    events.length = 0
    store.failNext('save', { times: 3 })
    await engine.run({ flowName: 'Talk', userMessage: 'fail', sessionId: session })
    expect(namesOf(events)).toEqual(['turn:start', 'session:restored', 'turn:error', 'turn:end'])
  })

  test('session:created and session:saved come after the store acknowledged', async () => {
    const { engine, events, clock, start, store } = recorded([talk()])
    store.delayNext('create', 10)
    const first = start('Talk')
    await clock.advance(9)
    expect(namesOf(events)).not.toContain('session:created')
    await clock.advance(1)
    const session = await first
    expect(namesOf(events)).toContain('session:created')
    store.delayNext('save', 10)
    const second = engine.run({ flowName: 'Talk', userMessage: 'hello', sessionId: session })
    await clock.advance(9)
    expect(namesOf(events)).not.toContain('session:saved')
    await clock.advance(1)
    await second
    expect(namesOf(events)).toContain('session:saved')
  })

  test('of turns that wait: how many waited already', async () => {
    const held = gate()
    const flow = flowOf('Talk', async (turn) => {
      if (turn.message !== 'start') await held.opened
      return reply('ok')
    })
    const { engine, events, clock, start } = recorded([flow])
    const session = await start('Talk')
    events.length = 0
    const say = () => engine.run({ flowName: 'Talk', userMessage: 'hello', sessionId: session })
    const running = [say(), say(), say()]
    await clock.settle()
    const of = { sessionId: 'session-1', flowName: 'Talk', at }
    expect(events.filter(([name]) => name === 'turn:queued')).toEqual([
      ['turn:queued', { ...of, turnId: 'turn-3', queued: 0 }],
      ['turn:queued', { ...of, turnId: 'turn-4', queued: 1 }],
    ])
    // A turn that waits has not started.
    expect(namesOf(events).filter((name) => name === 'turn:start')).toHaveLength(1)
    held.open()
    await Promise.all(running)
    expect(namesOf(events).filter((name) => name === 'turn:end')).toHaveLength(3)
  })

  test('a turn that never got its lock reports only that it waited and was refused', async () => {
    const { engine, events, start } = recorded([talk()])
    const session = await start('Talk')
    const held = gate()
    const holding = engine.getFlowSession().withSessionLock(session, () => held.opened)
    events.length = 0
    const controller = new AbortController()
    const input = { flowName: 'Talk', userMessage: 'hello', sessionId: session, signal: controller.signal }
    const running = engine.run(input)
    controller.abort()
    await running
    expect(namesOf(events)).toEqual(['turn:queued', 'turn:refused'])
    held.open()
    await holding
  })

  test('refused input emits nothing', async () => {
    const { engine, events } = recorded([talk()])
    await engine.run({ flowName: '', userMessage: 'hello' })
    await engine.run({ flowName: 'Talk', userMessage: 'hello', sessionId: 'a b' })
    expect(events).toEqual([])
  })
})
